// CONSORT-P-42: memory of host->alloc is never released
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  *out = host->alloc(host, 64, 16);
  return *out ? CONSORT_OK : host->fail(host, CONSORT_E_NOMEM, "no memory");
}
static void fini(void *self) {}
