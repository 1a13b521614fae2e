// CONSORT-P-42: more is written than host->alloc was asked for
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = host->alloc(host, sizeof(void *), 16);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  self->host = host;
  self->depth = 64;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = ((Self *)self)->host;
  host->release(host, self);
}
