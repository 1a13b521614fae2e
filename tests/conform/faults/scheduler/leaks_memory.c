// CONSORT-P-40: fini does not release the memory of init
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = malloc(sizeof *self);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  self->host = host;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) {}
