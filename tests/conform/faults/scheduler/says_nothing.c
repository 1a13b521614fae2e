// CONSORT-P-61: init fails with an empty text
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  return host->param(host, "depth") ? CONSORT_OK : host->fail(host, CONSORT_E_INVAL, "");
}
static void fini(void *self) {}
