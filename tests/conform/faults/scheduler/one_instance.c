// CONSORT-P-41: a second instance is refused while the first lives
#define OWN_LIFE
#include "body.h"

static int lives;
static consort_status init(const consort_host *host, void **out) {
  if (lives) return host->fail(host, CONSORT_E_BUSY, "there is one already");
  lives = 1;
  return CONSORT_OK;
}
static void fini(void *self) { lives = 0; }
