/* acquire.c — the wait for a hold. consort_acquire() runs tasks while it waits, on the thread that asks: a body that waits for this thread
 * would never end. So a thread outside of bodies asks by consort_acquire_later() and sleeps, looking at signals if it is the main one. */
#include "core.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

typedef struct Request { /* shared by the thread that waits and the callback; the last one frees it */
  pthread_mutex_t mutex;
  pthread_cond_t granted;
  consort_runtime *rt;
  consort_hold hold;
  consort_status status; /* AGAIN: not granted yet */
  bool abandoned;        /* no thread waits: the callback releases the hold */
  char why[1024];
} Request;

static void free_request(Request *r) {
  pthread_cond_destroy(&r->granted);
  pthread_mutex_destroy(&r->mutex);
  free(r);
}

static void on_grant(void *arg, consort_status status, const consort_hold *hold) {
  Request *r = arg;
  pthread_mutex_lock(&r->mutex);
  const bool abandoned = r->abandoned;
  r->status = status < 0 ? status : CONSORT_OK;
  if (status >= 0) r->hold = *hold;
  else snprintf(r->why, sizeof r->why, "%s", consort_error());
  pthread_cond_signal(&r->granted);
  pthread_mutex_unlock(&r->mutex);
  if (!abandoned) return;
  if (status >= 0) consort_release(r->rt, r->hold);
  free_request(r);
}

static struct timespec after(int64_t ns) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += ns / 1000000000, t.tv_nsec += ns % 1000000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

/* Sleeps until the grant or the time. Without the GIL. Returns whether it was granted, or refused. */
static bool sleep_for(Request *r, int64_t ns) {
  const struct timespec end = after(ns < 0 ? 0 : ns);
  int s = 0;
  pthread_mutex_lock(&r->mutex);
  while (r->status == CONSORT_AGAIN && s != ETIMEDOUT)
    s = ns < 0 ? pthread_cond_wait(&r->granted, &r->mutex) : pthread_cond_timedwait(&r->granted, &r->mutex, &end);
  const bool over = r->status != CONSORT_AGAIN;
  pthread_mutex_unlock(&r->mutex);
  return over;
}

static void abandon(Request *r) {
  pthread_mutex_lock(&r->mutex);
  r->abandoned = r->status == CONSORT_AGAIN;
  const bool mine = !r->abandoned;
  pthread_mutex_unlock(&r->mutex);
  if (!mine) return; /* the callback frees it */
  if (r->status >= 0) consort_release(r->rt, r->hold);
  free_request(r);
}

static Request *new_request(consort_runtime *rt) {
  Request *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&r->mutex, NULL);
  pthread_cond_init(&r->granted, &attributes);
  pthread_condattr_destroy(&attributes);
  r->rt = rt, r->status = CONSORT_AGAIN;
  return r;
}

static consort_status wait_for_grant(Request *r, int64_t ns, consort_hold *hold, char *why, size_t size) {
  const bool slices = on_main_thread();
  for (;;) {
    const int64_t now = next_slice(ns, slices);
    const Unlocked u = unlock();
    const bool over = sleep_for(r, now);
    lock(u);
    const bool interrupted = PyErr_CheckSignals() < 0;
    if (over && !interrupted) break;
    if (!interrupted && now != ns) {
      if (ns > 0) ns -= now;
      continue;
    }
    const Unlocked v = unlock();
    abandon(r);
    lock(v);
    snprintf(why, size, "the datum is still used when the time is over");
    return interrupted ? CONSORT_AGAIN : CONSORT_E_TIMEOUT;
  }
  const consort_status s = r->status;
  *hold = r->hold;
  snprintf(why, size, "%s", r->why);
  free_request(r);
  return s;
}

consort_status acquire(Data *d, uint32_t mode, int64_t ns, consort_hold *hold, char *why, size_t size) {
  consort_runtime *rt = d->runtime->rt;
  const bool by_runtime = bodies_on_stack || d->runtime->manual; /* it steps workers, and knows what the body may wait for */
  Request *r = by_runtime ? NULL : new_request(rt);
  if (!by_runtime && !r) return PyErr_NoMemory(), CONSORT_AGAIN;
  const Unlocked u = unlock();
  const consort_status s = r ? consort_acquire_later(rt, d->id, mode, on_grant, r) : consort_acquire(rt, d->id, mode, ns, hold);
  if (s < 0) snprintf(why, size, "%s", consort_error());
  lock(u);
  if (r && s < 0) free_request(r);
  return r && s >= 0 ? wait_for_grant(r, ns, hold, why, size) : s;
}
