// CONSORT-P-62: init does not look whether malloc gave something
#define OWN_LIFE
#include "body.h"

static consort_status init(const consort_host *host, void **out) {
  Self *self = malloc(sizeof *self);
  self->host = host;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }
