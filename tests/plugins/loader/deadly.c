/* A driver that does not let its host live: where it ends the process is chosen when it is built. */
#include <consort/driver.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef AFTER_MS                                    /* a thread that the constructor starts */
#include <pthread.h>
#include <time.h>
static void *end_later(void *unused) {
  const struct timespec t = {0, AFTER_MS * 1000000L};
  nanosleep(&t, NULL);                             // nap: the fault that tests look for
  return abort(), unused;
}
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, end_later, NULL) == 0) pthread_detach(thread);
}
#endif
#ifdef TIMER_MS                                    /* a signal that nobody handles */
#include <sys/time.h>
__attribute__((constructor)) static void begin(void) {
  const struct itimerval t = {{0, 0}, {0, TIMER_MS * 1000}};
  setitimer(ITIMER_REAL, &t, NULL);
}
#endif
#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void begin(void) { IN_CONSTRUCTOR; }
#endif
#ifdef IN_DESTRUCTOR
__attribute__((destructor)) static void end(void) { IN_DESTRUCTOR; }
#endif

static int me;
static consort_status init(const consort_host *host, void **self) {
  (void)host;
#ifdef IN_INIT
  IN_INIT;
#endif
  return *self = &me, CONSORT_OK;
}
static uint32_t count(void *self) { return (void)self, 0; }

static const consort_driver_ops ops = {.size = sizeof ops, .count = count};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_DRIVER, .abi_major = CONSORT_DRIVER_MAJOR,
                                      .abi_minor = CONSORT_DRIVER_MINOR, .name = NAME, .version = "0.1.0", .ops = &ops,
                                      .summary = "\033[31mred\n\342\200\256and backwards", .init = init};
CONSORT_MODULE(deadly, DRIVER, 0, NAME, "0.1.0", plugin);
