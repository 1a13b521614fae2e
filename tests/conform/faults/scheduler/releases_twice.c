// CONSORT-P-42: fini releases a block twice
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = host->alloc(host, sizeof *self, 16);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  self->host = host;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = ((Self *)self)->host;
  host->release(host, self);
  host->release(host, self);
}
