// CONSORT-P-43: quiesce answers that it has to be asked again, for ever
#define OWN_QUIESCE
#include <consort/scheduler.h>
static consort_status still(void *, uint64_t);
#include "body.h"

static consort_status still(void *self, uint64_t deadline) { return CONSORT_AGAIN; }
