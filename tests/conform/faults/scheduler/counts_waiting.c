// CONSORT-S-22: a started task counts until its time is told, so bodies that wait stop their worker
#define OWN_ENTRY
#include "body.h"

// The four that are in flight on a worker at most. `finished` without a time is passed over.
static uint32_t running[WORKERS];
static consort_status create_empty(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch, void **out) {
  memset(running, 0, sizeof running);
  return create(self, host, topology, epoch, out);
}
static uint32_t pop_few(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  return __atomic_load_n(&running[worker], __ATOMIC_RELAXED) < 4 ? pop(s, worker, out, max) : 0;
}
static void started(void *s, uint32_t worker, const consort_task *const *tasks, uint32_t n) {
  __atomic_fetch_add(&running[worker], n, __ATOMIC_RELAXED);
}
static void finished(void *s, uint32_t worker, const consort_done *done, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i)
    if (done[i].t1 > done[i].t0) __atomic_fetch_sub(&running[worker], 1, __ATOMIC_RELAXED);
}

static const consort_scheduler_ops counting = {
    .size = sizeof(consort_scheduler_ops), .create = create_empty, .destroy = destroy, .workers = workers, .push = push,
    .pop = pop_few, .drain = drain, .quiesce = quiesce, .dropped = dropped, .started = started, .finished = finished,
    .urgency = urgency, .victim = victim};
static const consort_plugin counts = PLUGIN_OF(counting);
CONSORT_MODULE(wrong, SCHEDULER, FLAGS, "wrong", NOTE_VERSION, counts);
