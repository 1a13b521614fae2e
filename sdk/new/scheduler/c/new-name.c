/* new-name: a scheduler. Tasks start in the order in which they became ready, on the first worker that can run them.
 *
 * One list under one lock. push comes from any thread, pop from the thread that holds the worker; neither
 * allocates. */
#include <consort/scheduler.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
  uint32_t most;
} settings; /* read once for each runtime, constant after */

typedef struct instance {
  const consort_host *host;
  uint32_t most;
  atomic_uint inside; /* calls of push, pop, dropped in progress: for quiesce */
  atomic_flag busy;   /* the lock; guards all below */
  uint64_t epoch;
  const consort_topology *topology;
  uint32_t nserves, count;    /* room in serves; workers that serve */
  unsigned char *serves;      /* by worker */
  int chosen;                 /* workers() has named some; until then all of the topology serve */
  consort_task *first, *last; /* linked by sched[0], which is ours while a task waits */
  uint64_t waiting;
} instance;

/* Counts itself as a visitor, then takes the lock and reads the epoch. The closing thread stores the epoch, then reads
 * the count of visitors: both sequentially consistent, so one of the two sees the other. */
static void take_lock(instance *s) {
  for (uint32_t spins = 1; atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire); ++spins)
    if (spins % 256 == 0) sched_yield(); /* its holder may have lost its core */
}
static void give_lock(instance *s) { atomic_flag_clear_explicit(&s->busy, memory_order_release); }
static void enter(instance *s) {
  atomic_fetch_add(&s->inside, 1);
  take_lock(s);
}
static void leave(instance *s) {
  give_lock(s);
  atomic_fetch_sub(&s->inside, 1);
}

static consort_task *next(const consort_task *t) { return t->sched[0]; }
static void append(instance *s, consort_task *t) {
  t->sched[0] = NULL;
  if (s->first)
    s->last->sched[0] = t;
  else
    s->first = t;
  s->last = t;
  s->waiting++;
}
static void unlink_task(instance *s, consort_task *t, consort_task *before) {
  if (before)
    before->sched[0] = t->sched[0];
  else
    s->first = next(t);
  if (s->last == t) s->last = before;
  s->waiting--;
}
/* The earliest that one of these unit classes can run. */
static consort_task *take(instance *s, uint64_t classes) {
  for (consort_task *before = NULL, *t = s->first; t; before = t, t = next(t))
    if (t->where & classes) {
      unlink_task(s, t, before);
      return t;
    }
  return NULL;
}
static uint64_t class_of(const instance *s, uint32_t worker) {
  return UINT64_C(1) << (s->topology->workers[worker].klass & 63);
}

static consort_status make(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                           void **out) {
  instance *s = calloc(1, sizeof *s);
  if (!s || !(s->serves = malloc(topology->nworkers + 1))) {
    free(s);
    return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory for the instance");
  }
  s->host = host;
  s->most = ((const settings *)self)->most;
  atomic_init(&s->inside, 0);
  atomic_flag_clear(&s->busy);
  s->epoch = epoch;
  s->topology = topology;
  s->nserves = s->count = topology->nworkers;
  memset(s->serves, 1, topology->nworkers);
  *out = s;
  return CONSORT_OK;
}
static void destroy(void *p) {
  instance *s = p;
  free(s->serves);
  free(s);
}

/* The first call that adds some of those at the start says which ones serve. */
static consort_status workers(void *p, const consort_topology *topology, const uint32_t *add, uint32_t na,
                              const uint32_t *del, uint32_t nd) {
  instance *s = p;
  for (uint32_t i = 0; i < na; i++)
    if (add[i] >= topology->nworkers)
      return s->host->fail(s->host, CONSORT_E_INVAL,
                           "new-name: a worker was added that is not in the topology; pass the newer snapshot");
  const uint32_t n = topology->nworkers > s->nserves ? topology->nworkers : s->nserves;
  unsigned char *serves = calloc(n + 1, 1), *old = s->serves;
  if (!serves) return s->host->fail(s->host, CONSORT_E_NOMEM, "new-name: out of memory for the workers");
  if (s->chosen || na == 0 || add[0] >= s->nserves) memcpy(serves, old, s->nserves);
  for (uint32_t i = 0; i < na; i++) serves[add[i]] = 1;
  for (uint32_t i = 0; i < nd; i++)
    if (del[i] < n) serves[del[i]] = 0;
  take_lock(s);
  s->serves = serves;
  s->nserves = n;
  s->chosen = 1;
  s->count = 0;
  for (uint32_t w = 0; w < n; w++) s->count += serves[w];
  s->topology = topology; /* the old one goes when this returns */
  give_lock(s);
  free(old);
  return CONSORT_OK;
}

static uint32_t push(void *p, const consort_push *ready) {
  instance *s = p;
  enter(s);
  const uint32_t n = ready->epoch == s->epoch ? ready->n : 0; /* drained meanwhile: the kernel gives them to the heir */
  for (uint32_t i = 0; i < n; i++) {
    consort_task *t = ready->ready[i];
    append(s, t);
    for (uint32_t w = 0; w < s->topology->nworkers; w++) /* all that could run it, except the pushing worker, which pops anyway ... */
      if (s->serves[w] && w != ready->from && w / 64 < ready->wake->nwords && (t->where & class_of(s, w)))
        ready->wake->bits[w / 64] |= UINT64_C(1) << w % 64;
    ready->wake->k++; /* ... and one of them is enough */
  }
  leave(s);
  return n;
}

static uint32_t pop(void *p, uint32_t worker, consort_pick *out, uint32_t max) {
  instance *s = p;
  uint32_t n = 0;
  enter(s);
  if (worker < s->nserves && s->serves[worker] && worker < s->topology->nworkers) {
    /* No other worker starts what is taken here, so a worker takes its share of the waiting tasks. */
    const uint64_t share = (s->waiting + s->count - 1) / s->count;
    while (n < max && n < s->most && n < share) {
      consort_task *t = take(s, class_of(s, worker));
      if (!t) break;
      out[n++] = (consort_pick){t, CONSORT_NONE, CONSORT_NONE}; /* the kernel chooses the implementation; no team */
    }
  }
  leave(s);
  return n;
}

static uint32_t drain(void *p, uint64_t epoch, consort_task **out, uint32_t max) {
  instance *s = p;
  uint32_t n = 0;
  take_lock(s);
  s->epoch = epoch;
  while (n < max && s->first) out[n++] = take(s, ~UINT64_C(0));
  give_lock(s);
  return n;
}

static consort_status quiesce(void *p, uint64_t deadline_ns) {
  instance *s = p;
  while (atomic_load(&s->inside)) {
    if (deadline_ns != CONSORT_NEVER && s->host->now(s->host) >= deadline_ns) return CONSORT_E_TIMEOUT;
    sched_yield();
  }
  return CONSORT_OK;
}

/* Cancelled: what waits here is handed back. Any task may be asked about, also one that never came here. */
static uint32_t dropped(void *p, consort_task *const *tasks, uint32_t n, consort_task **held) {
  instance *s = p;
  uint32_t nheld = 0;
  enter(s);
  for (uint32_t i = 0; i < n; i++)
    for (consort_task *before = NULL, *t = s->first; t; before = t, t = next(t))
      if (t == tasks[i]) {
        unlink_task(s, t, before);
        held[nheld++] = t;
        break;
      }
  leave(s);
  return nheld;
}

static consort_status init(const consort_host *host, void **self) {
  settings *s = malloc(sizeof *s);
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "new-name: out of memory for the settings");
  const char *batch = host->param(host, "batch");
  s->most = batch ? (uint32_t)strtoul(batch, NULL, 10) : 4;
  *self = s;
  return CONSORT_OK;
}
static void fini(void *self) { free(self); }

static const consort_param params[] = {{"batch", "u32", "4", "1..64", "most tasks that a worker takes at a time"}};

static const consort_scheduler_ops ops = {.size = sizeof ops,
                                          .flags = CONSORT_SF_NO_BYPASS,
                                          .create = make,
                                          .destroy = destroy,
                                          .workers = workers,
                                          .push = push,
                                          .pop = pop,
                                          .drain = drain,
                                          .quiesce = quiesce,
                                          .dropped = dropped};

/* SWAPPABLE: another scheduler can take over while tasks run. VIRTUAL: no thread, no sleep, no clock of its own. */
#define FLAGS (CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL)
static const consort_plugin plugin = {.size = sizeof plugin,
                                      .kind = CONSORT_KIND_SCHEDULER,
                                      .abi_major = CONSORT_SCHEDULER_MAJOR,
                                      .abi_minor = CONSORT_SCHEDULER_MINOR,
                                      .flags = FLAGS,
                                      .name = "new-name",
                                      .version = "0.1.0",
                                      .summary = "first come, first served",
                                      .license = "Apache-2.0",
                                      .params = params,
                                      .nparams = sizeof params / sizeof *params,
                                      .ops = &ops,
                                      .init = init,
                                      .fini = fini};

CONSORT_MODULE(new_name, SCHEDULER, FLAGS, "new-name", "0.1.0", plugin);
