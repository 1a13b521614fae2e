// CONSORT-P-21: loading the file starts a thread
#include "body.h"

static void *wait_for_ever(void *nothing) {
  for (;;) pause();
}
__attribute__((constructor)) static void start_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_ever, NULL);
}
