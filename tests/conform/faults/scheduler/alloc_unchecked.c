// CONSORT-P-60: init does not look whether host->alloc gave something
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = host->alloc(host, sizeof *self, 16);
  self->host = host;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = ((Self *)self)->host;
  host->release(host, self);
}
