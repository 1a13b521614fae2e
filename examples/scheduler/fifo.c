/* fifo.c — a scheduler in a hundred lines: one list of ready tasks, the first in is the first out.
 *
 * A policy only says where ready tasks wait. It never sleeps, wakes or runs anything: the kernel does. Any thread may
 * push; a worker's own thread pops; both take the spin lock for a few stores. Nothing is allocated after create(): the
 * link from task to task lies in the task itself, in sched[], which is the policy's for as long as the task waits. */
#include <consort/scheduler.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct fifo {
  atomic_flag lock;
  atomic_uint inside;               /* calls of push and pop in progress; pairs with quiesce() */
  const consort_host *host;
  const consort_topology *topology; /* the workers, their classes */
  uint64_t epoch;                   /* of this instance; changed by drain(): from then on pushes go to the heir */
  consort_task *first, *last;
};

static consort_task *next_of(const consort_task *task) { return task->sched[0]; }

static void enter(struct fifo *f) {
  atomic_fetch_add(&f->inside, 1);
  while (atomic_flag_test_and_set_explicit(&f->lock, memory_order_acquire)) sched_yield(); /* pairs with leave() */
}
static void leave(struct fifo *f) {
  atomic_flag_clear_explicit(&f->lock, memory_order_release);
  atomic_fetch_sub(&f->inside, 1);
}

/* One instance per runtime that asks for this policy. */
static consort_status create(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                             void **out) {
  (void)self;
  struct fifo *f = calloc(1, sizeof *f);
  if (!f) return host->fail(host, CONSORT_E_NOMEM, "fifo: out of memory");
  atomic_flag_clear(&f->lock);
  f->host = host;
  f->topology = topology;
  f->epoch = epoch;
  *out = f;
  return CONSORT_OK;
}
static void destroy(void *s) { free(s); }

/* Workers came or went. Only the topology is updated: the list belongs to all workers. */
static consort_status workers(void *s, const consort_topology *topology, const uint32_t *add, uint32_t nadd,
                              const uint32_t *del, uint32_t ndel) {
  (void)add, (void)nadd, (void)del, (void)ndel;
  struct fifo *f = s;
  enter(f);
  f->topology = topology;
  leave(f);
  return CONSORT_OK;
}

/* These tasks became ready. Queues all of them, and returns the sleeping workers to wake: all that can run one. */
static uint32_t push(void *s, const consort_push *p) {
  struct fifo *f = s;
  enter(f);
  const uint32_t taken = p->epoch == f->epoch ? p->n : 0;
  for (uint32_t i = 0; i < taken; i++) {
    consort_task *task = p->ready[i];
    task->sched[0] = NULL;
    if (f->first) f->last->sched[0] = task;
    else f->first = task;
    f->last = task;
    for (uint32_t w = 0; w < f->topology->nworkers; w++)
      if (task->where >> f->topology->workers[w].klass & 1) p->wake->bits[w / 64] |= UINT64_C(1) << w % 64;
    p->wake->k++; /* one worker for each task is enough */
  }
  leave(f);
  return taken;
}

/* Unlinks and answers the earliest task of these classes; NULL: none. */
static consort_task *take(struct fifo *f, uint64_t classes) {
  consort_task *before = NULL, *task = f->first;
  while (task && !(task->where & classes)) before = task, task = next_of(task);
  if (!task) return NULL;
  if (before) before->sched[0] = next_of(task);
  else f->first = next_of(task);
  if (f->last == task) f->last = before;
  return task;
}

/* One at a time, so that no worker hoards what another could start. Which implementation: the kernel's choice. */
static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  struct fifo *f = s;
  (void)max; /* at least 1 */
  enter(f);
  consort_task *task = take(f, UINT64_C(1) << f->topology->workers[worker].klass);
  leave(f);
  if (!task) return 0;
  *out = (consort_pick){task, CONSORT_NONE, CONSORT_NONE};
  return 1;
}

/* Another policy takes over: gives back what waits here, and refuses what still comes. */
static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  struct fifo *f = s;
  uint32_t n = 0;
  enter(f);
  f->epoch = epoch;
  while (n < max && (out[n] = take(f, UINT64_MAX))) n++;
  leave(f);
  return n;
}
static consort_status quiesce(void *s, uint64_t deadline_ns) {
  struct fifo *f = s;
  while (atomic_load(&f->inside)) { /* pairs with enter() and leave() */
    if (deadline_ns != CONSORT_NEVER && f->host->now(f->host) >= deadline_ns) return CONSORT_E_TIMEOUT;
    sched_yield();
  }
  return CONSORT_OK;
}

/* NO_BYPASS: a task that another one released goes through the list like all others. */
static const consort_scheduler_ops ops = {.size = sizeof ops, .flags = CONSORT_SF_NO_BYPASS, .create = create,
                                          .destroy = destroy, .workers = workers, .push = push, .pop = pop,
                                          .drain = drain, .quiesce = quiesce};
#define FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_SCHEDULER, .flags = FLAGS,
                                      .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
                                      .name = "fifo", .version = "1.0.0", .summary = "first in, first out",
                                      .license = "Apache-2.0", .ops = &ops};
CONSORT_MODULE(fifo, SCHEDULER, FLAGS, "fifo", "1.0.0", plugin);
