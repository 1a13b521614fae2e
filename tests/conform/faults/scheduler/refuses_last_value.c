// CONSORT-P-44: the last value of the declared range is refused without a word
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  const char *depth = host->param(host, "depth");
  return depth && strtoull(depth, NULL, 10) >= 1024 ? CONSORT_E_INVAL : CONSORT_OK;
}
static void fini(void *self) {}
