// A correct scheduler, but for the one thing that whoever includes this defines. Two lists under one lock: what is urgent
// (priority above 0) in its order, then the rest as it came.
#include <consort/scheduler.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS (CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE)
#endif
#ifndef NOTE_VERSION
#define NOTE_VERSION "1.0.0"
#endif
#ifndef DEFAULT_DEPTH
#define DEFAULT_DEPTH "64"
#endif
#define WORKERS 256

typedef struct {
  const consort_host *host;
  uint64_t depth;
} Self;
typedef struct {
  const consort_host *host;
  Self *self;
  int busy;
  uint64_t epoch, count;
  const consort_topology *topology;
  consort_task *urgent, *first, **last;
  int32_t published;
  char serves[WORKERS];
  void *more;
} Policy;

static void lock(Policy *p) {
#ifndef FAULT_UNLOCKED
  while (__atomic_exchange_n(&p->busy, 1, __ATOMIC_ACQUIRE)) sched_yield();
#endif
}
static void unlock(Policy *p) { __atomic_store_n(&p->busy, 0, __ATOMIC_RELEASE); }
static consort_task **next(consort_task *t) { return (consort_task **)&t->sched[0]; }

#ifdef FAULT_SHARED
static Policy *everybody;
#endif
static Policy *of(void *s) {
#ifdef FAULT_SHARED
  return everybody;
#else
  return s;
#endif
}

static void publish(Policy *p) {
  int32_t most = p->urgent ? p->urgent->priority : 0;
#ifdef FAULT_URGENCY_LOW
  if (most > 1) most = 1;
#endif
#ifdef FAULT_URGENCY_STALE
  if (most < p->published) return;
#endif
  __atomic_store_n(&p->published, most, __ATOMIC_RELAXED);
}

static consort_status create(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch, void **out) {
#ifdef FAULT_MALLOC
  Policy *p = malloc(sizeof *p);
  memset(p, 0, sizeof *p);
#elif defined FAULT_GET
  const consort_sched_host *services = host->get(host, CONSORT_SCHED_ID);
  if (services->size == 0) return CONSORT_E_ABI;
  Policy *p = calloc(1, sizeof *p);
#else
  Policy *p = calloc(1, sizeof *p);
#endif
  if (!p) return host->fail(host, CONSORT_E_NOMEM, "no memory for the instance");
  host->get(host, CONSORT_SCHED_ID);
  p->host = host, p->self = self, p->epoch = epoch, p->topology = topology, p->last = &p->first;
#ifdef FAULT_LEAK_INSTANCE
  p->more = malloc(100);
#endif
#ifdef FAULT_SHARED
  if (!everybody) everybody = p;
  everybody->epoch = epoch;
#endif
  *out = p;
  return CONSORT_OK;
}
static void destroy(void *s) {
#ifndef FAULT_SHARED
  free(s);
#endif
}

static consort_status workers(void *s, const consort_topology *topology, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd) {
  Policy *p = of(s);
  lock(p);
  p->topology = topology;
  for (uint32_t i = 0; i < na; ++i) p->serves[add[i]] = 1;
  for (uint32_t i = 0; i < nd; ++i) p->serves[del[i]] = 0;
  unlock(p);
  return CONSORT_OK;
}

static void announce(Policy *p, const consort_push *push, const consort_task *t) {
#ifndef FAULT_NO_WAKE
  for (uint32_t w = 0; w < p->topology->nworkers; ++w)
    if (p->serves[w] && (t->where >> p->topology->workers[w].klass & 1)) {
#ifdef FAULT_SIXTY_FOUR
      if (w < 64) push->wake->bits[0] |= (uint64_t)1 << w;
#else
      push->wake->bits[w / 64] |= (uint64_t)1 << w % 64;
#endif
    }
  push->wake->k++;
#endif
}

static void append(Policy *p, consort_task *t) {
  if (t->priority > 0) {
    consort_task **at = &p->urgent;
    while (*at && (*at)->priority >= t->priority) at = next(*at);
    *next(t) = *at;
    *at = t;
    return;
  }
#ifdef FAULT_NEWEST_FIRST
  *next(t) = p->first;
  if (!p->first) p->last = next(t);
  p->first = t;
#else
  *next(t) = NULL;
  *p->last = t;
  p->last = next(t);
#endif
}

static uint32_t push(void *s, const consort_push *ready) {
  Policy *p = of(s);
#ifdef FAULT_TWO_STEPS
  if (ready->epoch != __atomic_load_n(&p->epoch, __ATOMIC_RELAXED)) return 0;
  sched_yield();
#endif
  lock(p);
#if !defined FAULT_IGNORES_EPOCH && !defined FAULT_TWO_STEPS && !defined FAULT_SHARED
  if (ready->epoch != p->epoch) {
    unlock(p);
    return 0;
  }
#endif
#ifdef FAULT_ALLOCATES
  void *volatile some = malloc(100);
  free(some);
#endif
#ifdef FAULT_SLOW
  for (volatile int i = 0; i < 120000; ++i) {
  }
#endif
  uint32_t n = ready->n;
#ifdef FAULT_LOSES
  if (n > 3) --n;
#endif
  for (uint32_t i = 0; i < n; ++i) {
#ifdef FAULT_WRITES_TASK
    if (ready->ready[i]->priority < 0) ready->ready[i]->priority++;
#endif
    append(p, ready->ready[i]);
    announce(p, ready, ready->ready[i]);
    p->count++;
  }
  publish(p);
  unlock(p);
  return ready->n;
}

static consort_task *unlink_at(Policy *p, consort_task **at) {
  consort_task *t = *at;
  *at = *next(t);
  if (p->last == next(t)) p->last = at;
  p->count--;
  return t;
}

static consort_task *take(Policy *p, uint64_t classes) {
  for (int list = 0; list < 2; ++list)
    for (consort_task **at = list ? &p->first : &p->urgent; *at; at = next(*at)) {
      if ((*at)->where & classes) return unlink_at(p, at);
#ifdef FAULT_HEAD_ALONE
      break;
#endif
    }
  return NULL;
}

#ifdef FAULT_REMEMBERS
static unsigned turns;
#endif

static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  Policy *p = of(s);
#ifdef FAULT_UNLOCKED
  if (p->count == 0) return 0;
#endif
#ifdef FAULT_SLEEPS
  const struct timespec a_moment = {0, 1000};
  nanosleep(&a_moment, NULL);
#endif
#ifdef FAULT_PARAM_IN_POP
  p->host->param(p->host, "depth");
#endif
#ifdef FAULT_OWN_CLOCK
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
#endif
  lock(p);
  uint32_t n = 0;
  uint64_t classes = (uint64_t)1 << p->topology->workers[worker].klass;
#ifdef FAULT_ANY_WHERE
  classes = ~(uint64_t)0;
#endif
#ifdef FAULT_REMEMBERS
  if (++turns % 1000 == 0) max = 0;
#endif
#ifdef FAULT_KEEPS_WORKERS
  const int serves = 1;
#else
  const int serves = p->serves[worker];
#endif
#ifdef FAULT_PAST_MAX
  for (consort_task *t; serves && n <= max && (t = take(p, classes)); ++n) {
    out[n].task = t, out[n].impl = out[n].team = CONSORT_NONE;
    if (n == max) append(p, t), p->count++;
  }
  if (n > max) n = max;
#else
  for (consort_task *t; serves && n < max && (t = take(p, classes)); ++n) {
    out[n].task = t, out[n].impl = out[n].team = CONSORT_NONE;
#ifdef FAULT_TWICE
    if (t->id % 100 == 99 && t->sched[1] == NULL) t->sched[1] = t, append(p, t), p->count++;
#endif
  }
#endif
  publish(p);
  unlock(p);
  return n;
}

static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  Policy *p = of(s);
  lock(p);
  uint32_t n = 0;
#ifdef FAULT_STAYS_CLOSED
  if (p->epoch != CONSORT_NEVER)
#endif
  p->epoch = epoch;
#ifdef FAULT_DRAIN_FORGETS
  while (n < max && p->first) out[n++] = unlink_at(p, &p->first);
#else
  while (n < max && (out[n] = take(p, ~(uint64_t)0))) ++n;
#endif
  publish(p);
  unlock(p);
  return n;
}
static consort_status quiesce(void *s, uint64_t deadline) { return CONSORT_OK; }

static uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) {
  Policy *p = of(s);
  lock(p);
  uint32_t found = 0;
  for (uint32_t i = 0; i < n; ++i)
    for (int list = 0; list < 2; ++list)
      for (consort_task **at = list ? &p->first : &p->urgent; *at; at = next(*at))
        if (*at == tasks[i]) {
          held[found++] = tasks[i];
#ifndef FAULT_DROPPED_STAYS
          unlink_at(p, at);
#endif
          break;
        }
  publish(p);
  unlock(p);
  return found;
}

static const int32_t *urgency(void *s, uint32_t worker) { return &of(s)->published; }

static uint32_t victim(void *s, uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n, uint32_t *order) {
  for (uint32_t i = 0; i < n; ++i) order[i] = i;
#ifdef FAULT_VICTIM_TWICE
  if (n > 1) order[n - 1] = 0;
#endif
  return n;
}

static const consort_scheduler_ops ops = {
#ifdef FAULT_NO_SIZE
    .size = 0,
#else
    .size = sizeof(consort_scheduler_ops),
#endif
    .create = create, .destroy = destroy, .workers = workers, .push = push, .pop = pop,
#ifndef FAULT_NO_DRAIN
    .drain = drain,
#endif
    .quiesce = quiesce, .dropped = dropped, .urgency = urgency, .victim = victim};

// -- the plugin ------------------------------------------------------------------------------------------------------
static consort_status init(const consort_host *host, void **out);
static void fini(void *self);

#ifndef OWN_LIFE
static consort_status init(const consort_host *host, void **out) {
  Self *self = host->alloc(host, sizeof *self, 16);
  if (!self) return host->fail(host, CONSORT_E_NOMEM, "no memory for the settings");
  const char *depth = host->param(host, "depth");
  self->host = host;
  self->depth = depth ? strtoull(depth, NULL, 10) : 64;
  *out = self;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = ((Self *)self)->host;
  host->release(host, self);
}
#endif
#ifndef OWN_QUIESCE
static consort_status still(void *self, uint64_t deadline) { return CONSORT_OK; }
#endif
#ifndef OWN_GET
static const void *get(void *self, const char *id) { return NULL; }
#endif

static const consort_param params[] = {{"depth", "u32", DEFAULT_DEPTH, "1..1024", "how many, of what there is"}};
static const consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER, .abi_major = CONSORT_SCHEDULER_MAJOR,
    .abi_minor = CONSORT_SCHEDULER_MINOR, .flags = FLAGS, .name = "wrong", .version = "1.0.0",
    .summary = "wrong on purpose, but for one of these", .license = "Apache-2.0", .params = params, .nparams = 1, .ops = &ops,
    .init = init, .quiesce = still, .fini = fini, .get = get};

#ifndef OWN_ENTRY
CONSORT_MODULE(wrong, SCHEDULER, FLAGS, "wrong", NOTE_VERSION, plugin);
#endif
