// CONSORT-P-62: init loses its first block where the second is refused
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  void *volatile first = malloc(100), *volatile second = malloc(100);
  if (!first || !second) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  free(second);
  *out = first;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }
