// CONSORT-P-41: instances share their settings, and the first fini releases them
#define OWN_LIFE
#include "body.h"

static Self *only;
static consort_status init(const consort_host *host, void **out) {
  if (!only) only = calloc(1, sizeof *only);
  *out = only;
  return only ? CONSORT_OK : host->fail(host, CONSORT_E_NOMEM, "no memory");
}
static void fini(void *self) {
  if (only->depth != 0) abort();
  only->depth = 1;
}
