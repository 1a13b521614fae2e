// CONSORT-P-40: fini forgets pages that init mapped
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  *out = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return CONSORT_OK;
}
static void fini(void *self) {}
