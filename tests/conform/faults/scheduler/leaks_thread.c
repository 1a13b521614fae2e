// CONSORT-P-40: fini forgets the thread that init has started
#define OWN_LIFE
#include "body.h"

static void *wait_for_ever(void *nothing) {
  for (;;) pause();
}
static consort_status init(const consort_host *host, void **out) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_ever, NULL);
  return CONSORT_OK;
}
static void fini(void *self) {}
