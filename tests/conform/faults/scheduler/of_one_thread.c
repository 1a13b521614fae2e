// CONSORT-P-50: the state of init is kept per thread, and fini may run on another thread
#define OWN_LIFE
#include "body.h"

static _Thread_local Self *mine;
static consort_status init(const consort_host *host, void **out) {
  mine = calloc(1, sizeof *mine);
  return mine ? CONSORT_OK : host->fail(host, CONSORT_E_NOMEM, "no memory");
}
static void fini(void *self) {
  if (!mine) abort();
  free(mine);
}
