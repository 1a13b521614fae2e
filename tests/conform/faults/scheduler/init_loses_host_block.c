// CONSORT-P-60: init loses its first block of host->alloc where the second is refused
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  void *first = host->alloc(host, 100, 16), *second = host->alloc(host, 100, 16);
  if (!first || !second) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  host->release(host, second);
  ((void **)first)[0] = (void *)host;
  *out = first;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = *(void **)self;
  host->release(host, self);
}
