// CONSORT-P-50: init takes a lock that fini gives back
#define _GNU_SOURCE
#define OWN_LIFE
#include "body.h"

static pthread_mutex_t of_all = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static consort_status init(const consort_host *host, void **out) {
  pthread_mutex_lock(&of_all);
  return CONSORT_OK;
}
static void fini(void *self) {
  if (pthread_mutex_unlock(&of_all) != 0) abort();
}
