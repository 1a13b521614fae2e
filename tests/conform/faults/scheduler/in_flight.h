// The tasks in flight of each worker: popped, and neither finished nor pushed again. For faults in how they are counted.
#define OWN_ENTRY
#include "body.h"

#define IDS 65536
typedef struct {
  uint32_t of[WORKERS];
  uint16_t popper[IDS]; // of the task with this id: 1 + worker
} InFlight;
static InFlight *flights(Policy *p) { return p->more; }

static void forget(Policy *p, uint64_t id) {
  uint16_t *popper = &flights(p)->popper[id % IDS];
  if (*popper) flights(p)->of[*popper - 1]--;
  *popper = 0;
}
static void remember(Policy *p, uint32_t worker, const consort_task *t) {
  forget(p, t->id);
  flights(p)->popper[t->id % IDS] = (uint16_t)(worker + 1);
  flights(p)->of[worker]++;
}

static consort_status create_counting(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch, void **out) {
  void *more = calloc(1, sizeof(InFlight));
  if (!more) return host->fail(host, CONSORT_E_NOMEM, "no memory for the counts");
  const consort_status s = create(self, host, topology, epoch, out);
  if (s < 0) return free(more), s;
  ((Policy *)*out)->more = more;
  return s;
}
static void destroy_counting(void *s) {
  free(((Policy *)s)->more);
  destroy(s);
}
// Wakes all, since only the pop decides.
static uint32_t push_counting(void *s, const consort_push *ready) {
  Policy *p = s;
  lock(p);
  for (uint32_t i = 0; ready->flags & CONSORT_PUSH_RETRIED && i < ready->n; ++i) forget(p, ready->ready[i]->id);
  unlock(p);
  const uint32_t n = push(s, ready);
  if (n) ready->wake->k += p->topology->nworkers;
  return n;
}
static void finished(void *s, uint32_t worker, const consort_done *done, uint32_t n) {
  lock(s);
  for (uint32_t k = 0; k < n; ++k) forget(s, done[k].cookie);
  unlock(s);
}

static int leaves(Policy *p, uint32_t worker, const consort_task *t); // of the including file

static uint32_t pop_counting(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  Policy *p = s;
  uint32_t n = 0;
  enter(p);
  lock(p);
  const uint64_t mine = (uint64_t)1 << p->topology->workers[worker].klass;
  for (int list = 0; list < 2 && p->serving[worker]; ++list)
    for (consort_task **at = list ? &p->first : &p->urgent; *at && n < max;) {
      if (!((*at)->where & mine) || leaves(p, worker, *at)) {
        at = next(*at);
        continue;
      }
      out[n].task = unlink_at(p, at), out[n].impl = out[n].team = CONSORT_NONE;
      remember(p, worker, out[n++].task);
    }
  publish(p);
  unlock(p);
  leave(p);
  return n;
}

static const consort_scheduler_ops counting = {
    .size = sizeof(consort_scheduler_ops), .create = create_counting, .destroy = destroy_counting, .workers = workers,
    .push = push_counting, .pop = pop_counting, .drain = drain, .quiesce = quiesce, .dropped = dropped, .finished = finished,
    .urgency = urgency, .victim = victim};
static const consort_plugin counts = PLUGIN_OF(counting);
CONSORT_MODULE(wrong, SCHEDULER, FLAGS, "wrong", NOTE_VERSION, counts);
