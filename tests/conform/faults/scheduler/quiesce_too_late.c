// CONSORT-P-43: quiesce looks at its deadline before it looks whether all is quiet
#define OWN_QUIESCE
#include <consort/scheduler.h>
static consort_status still(void *, uint64_t);
#include "body.h"

static consort_status still(void *self, uint64_t deadline) {
  const consort_host *host = ((Self *)self)->host;
  return host->now(host) > deadline ? CONSORT_E_TIMEOUT : CONSORT_OK;
}
