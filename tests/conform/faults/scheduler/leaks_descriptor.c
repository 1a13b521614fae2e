// CONSORT-P-40: fini forgets to close a file
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) { return *out = (void *)(intptr_t)dup(0), CONSORT_OK; }
static void fini(void *self) {}
