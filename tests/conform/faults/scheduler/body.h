// A correct scheduler, but for the one fault that the including file defines. Two lists under one lock: urgent tasks
// (priority above 0) in the order of priorities, then the others in the order of arrival.
#include <consort/scheduler.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
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
  int busy, inside; // inside: calls of push, pop, dropped in progress, for quiesce
  uint64_t epoch, count, outside; // outside: pushes of outsiders
  void *kept;                     // list of the memory that a fault keeps
  const consort_topology *topology, *first_topology;
  consort_task *urgent, *first, **last;
  int32_t published;
  char serves[WORKERS], gone[WORKERS], *serving;
  void *more;
} Policy;
#ifdef FAULT_SHARED_WORKERS
static char serving_of_all[WORKERS];
#endif

static void lock(Policy *p) {
#ifndef FAULT_UNLOCKED
  while (__atomic_exchange_n(&p->busy, 1, __ATOMIC_ACQUIRE)) sched_yield();
#endif
}
static void unlock(Policy *p) { __atomic_store_n(&p->busy, 0, __ATOMIC_RELEASE); }
// A visitor shows itself, then takes the lock and reads the epoch; quiesce comes after the epoch was stored.
static void enter(Policy *p) { __atomic_fetch_add(&p->inside, 1, __ATOMIC_SEQ_CST); }
static void leave(Policy *p) { __atomic_fetch_sub(&p->inside, 1, __ATOMIC_SEQ_CST); }
static consort_task **next(consort_task *t) { return (consort_task **)&t->sched[0]; }

#ifdef FAULT_SHARED
static Policy *shared_policy;
#endif
static Policy *of(void *s) {
#ifdef FAULT_SHARED
  return shared_policy;
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
  p->host = host, p->self = self, p->epoch = epoch, p->topology = p->first_topology = topology, p->last = &p->first;
#if defined FAULT_LEAK_INSTANCE || defined FAULT_LEAKS_AFTER_100
  p->more = malloc(100);
#endif
#ifdef FAULT_LEAKS_MAPPING
  mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
#ifdef FAULT_LEAKS_MIB
  p->more = malloc(1 << 20);
#endif
#ifdef FAULT_LEAKS_64K
  p->more = malloc(65536);
#endif
#ifdef FAULT_CREATE_LOSES
  void *first = p, *volatile second = malloc(64);
  if (!second) return host->fail(host, CONSORT_E_NOMEM, "no memory for the queues");
  free(second);
#endif
#ifdef FAULT_SHARED_WORKERS
  p->serving = serving_of_all;
#else
  p->serving = p->serves;
#endif
#ifdef FAULT_SHARED
  if (!shared_policy) shared_policy = p;
  shared_policy->epoch = epoch;
#endif
  *out = p;
  return CONSORT_OK;
}
static void destroy(void *s) {
#ifdef FAULT_GROWS  // kept memory is freed here: no leak, but it grows while the instance lives
  for (void **k = ((Policy *)s)->kept; k;) {
    void **next = *k;
    free(k);
    k = next;
  }
#endif
#ifdef FAULT_LEAKS_AFTER_100
  if (((Policy *)s)->outside <= 100) free(((Policy *)s)->more);
#endif
#ifdef FAULT_LEAKS_SEVENTH
  static unsigned lives;
  if (++lives % 7 == 0) return;
#endif
#ifndef FAULT_SHARED
  free(s);
#endif
}

static consort_status workers(void *s, const consort_topology *topology, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd) {
  Policy *p = of(s);
#ifdef FAULT_WORKERS_MALLOC
  uint32_t *some = malloc((na + 1) * sizeof *some);
  some[na] = 0;
  free(some);
#endif
  lock(p);
#ifndef FAULT_OLD_TOPOLOGY
  p->topology = topology;
#endif
#ifdef FAULT_GONE_FOR_EVER
  for (uint32_t i = 0; i < na; ++i) p->serving[add[i]] = !p->gone[add[i]];
#else
  for (uint32_t i = 0; i < na; ++i) p->serving[add[i]] = 1;
#endif
  for (uint32_t i = 0; i < nd; ++i) p->serving[del[i]] = 0, p->gone[del[i]] = 1;
  unlock(p);
  return CONSORT_OK;
}

static void announce(Policy *p, const consort_push *push, const consort_task *t) {
#ifdef FAULT_OLD_TOPOLOGY_IN_PUSH
  if (p->first_topology->workers[0].klass > 63) return;
#endif
#ifndef FAULT_NO_WAKE
  for (uint32_t w = 0; w < p->topology->nworkers; ++w)
    if (p->serving[w] && (t->where >> p->topology->workers[w].klass & 1)) {
#ifdef FAULT_SIXTY_FOUR
      if (w < 64) push->wake->bits[0] |= (uint64_t)1 << w;
#elif defined FAULT_HUNDRED_TWENTY_EIGHT
      if (w < 128) push->wake->bits[w / 64] |= (uint64_t)1 << w % 64;
#else
      push->wake->bits[w / 64] |= (uint64_t)1 << w % 64;
#endif
    }
#ifdef FAULT_WAKES_BEYOND
  push->wake->bits[p->topology->nworkers / 64] |= (uint64_t)1 << p->topology->nworkers % 64;
#endif
#ifdef FAULT_WAKES_NONE_OF_K
  push->wake->k = 0;
#else
  push->wake->k++;
#endif
#endif
}

static uint64_t classes_served(const Policy *p) {
  uint64_t all = 0;
  for (uint32_t w = 0; w < p->topology->nworkers; ++w)
    if (p->serving[w]) all |= (uint64_t)1 << p->topology->workers[w].klass;
  return all;
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
#ifndef FAULT_PUSH_UNVISITED
  enter(p);
#endif
#ifdef FAULT_ALLOCATES_64TH
  static unsigned pushes;
  if (++pushes % 64 == 0) free(*(void *volatile *)&(void *){malloc(100)});
#endif
#ifdef FAULT_LEAKS_64TH
  static unsigned pushes;
  if (++pushes % 64 == 0) *(void *volatile *)&(void *){malloc(100)};
#endif
#ifdef FAULT_GET_IN_FIRST_PUSH
  if (p->count == 0) p->host->get(p->host, CONSORT_SCHED_ID);
#endif
#ifdef FAULT_SLEEPS_IN_LARGE
  if (ready->n > 64) usleep(1);
#endif
#ifdef FAULT_SLEEPS_WHEN_CLOSED
  if (ready->epoch != p->epoch) usleep(1);
#endif
#if defined FAULT_TWO_STEPS || defined FAULT_EPOCH_EARLY
  if (ready->epoch != __atomic_load_n(&p->epoch, __ATOMIC_RELAXED)) {
    leave(p);
    return 0;
  }
#ifdef FAULT_TWO_STEPS
  sched_yield();
#endif
#endif
  lock(p);
#ifdef FAULT_EPOCH_LOW_WORD
  if ((uint32_t)ready->epoch != (uint32_t)p->epoch) {
#else
  if (ready->epoch != p->epoch) {
#endif
#if !defined FAULT_IGNORES_EPOCH && !defined FAULT_TWO_STEPS && !defined FAULT_SHARED && !defined FAULT_EPOCH_EARLY
    unlock(p);
#ifndef FAULT_STAYS_INSIDE
    leave(p);
#endif
    return 0;
#endif
  }
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
#ifdef FAULT_LOSES_IN_LARGE
  if (n > 1000) --n;
#endif
#ifdef FAULT_SORTS_BATCH // in the caller's own array
  if (n > 1 && ready->ready[0]->priority < ready->ready[1]->priority) {
    consort_task **list = (consort_task **)ready->ready, *first = list[0];
    list[0] = list[1], list[1] = first;
  }
#endif
  if (ready->from == CONSORT_NONE) p->outside++;
#ifdef FAULT_GROWS
  void **k = malloc(48);
  if (k) *k = p->kept, p->kept = k;
#endif
  for (uint32_t i = 0; i < n; ++i) {
#ifdef FAULT_UNRUNNABLE_DROPPED
    if (p->count >= 32 && !(ready->ready[i]->where & classes_served(p))) continue;
#endif
#ifdef FAULT_RETRIED_LOST
    if (ready->flags == CONSORT_PUSH_RETRIED && ready->n == 1 && ready->ready[i]->priority > 0 && ready->from != CONSORT_NONE) continue;
#endif
#ifdef FAULT_WRITES_TASK
    if (ready->ready[i]->priority < 0) ready->ready[i]->priority++;
#endif
#ifdef FAULT_WAKES_WHEN_EMPTY
    if (p->count == 0)
#endif
#ifdef FAULT_PUSHER_COMES
    if (ready->from == CONSORT_NONE || i > 0)  // the pushing worker takes the first task without a wake
#endif
      announce(p, ready, ready->ready[i]);
#ifdef FAULT_OUTSIDERS_LAST
    ready->ready[i]->sched[1] = ready->from == CONSORT_NONE ? p : NULL;
#endif
    append(p, ready->ready[i]);
    p->count++;
  }
#ifdef FAULT_WAKES_ONE_OF_BATCH
  if (ready->wake->k > 1) ready->wake->k = 1;
#endif
  publish(p);
  unlock(p);
#ifndef FAULT_PUSH_UNVISITED
  leave(p);
#endif
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
#ifdef FAULT_OUTSIDERS_LAST
  for (consort_task **at = &p->first; *at; at = next(*at))
    if (!(*at)->sched[1] && (*at)->where & classes) return unlink_at(p, at);
#endif
#ifdef FAULT_BY_ADDRESS
  consort_task **second = p->first ? next(p->first) : &p->first;
  if (!p->urgent && *second && (*second)->where & classes && ((uintptr_t)*second >> 6 ^ (uintptr_t)*second >> 9 ^ (uintptr_t)*second >> 13) & 1)
    return unlink_at(p, second);
#endif
  for (int list = 0; list < 2; ++list)
    for (consort_task **at = list ? &p->first : &p->urgent; *at; at = next(*at)) {
#ifdef FAULT_LOW_CLASSES
      if ((uint32_t)(*at)->where & (uint32_t)classes) return unlink_at(p, at);
      continue;
#endif
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
#ifdef FAULT_SLEEPS_RARELY
  static unsigned pops;
  if (++pops % 256 == 0) usleep(1);
#endif
#ifdef FAULT_POP_ALLOCATES
  if (max > 1) free(*(void *volatile *)&(void *){malloc(max * sizeof *out)});
#endif
#ifdef FAULT_POP_READS_WORKERS_EARLY
  const int served_before = p->serving[worker];
#endif
#ifndef FAULT_POP_UNVISITED
  enter(p);
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
#ifdef FAULT_EIGHT_CLASSES
  uint64_t classes = (uint64_t)1 << p->topology->workers[worker].klass % 8;
#else
  uint64_t classes = (uint64_t)1 << p->topology->workers[worker].klass;
#endif
#ifdef FAULT_ZERO_IS_ONE
  if (max == 0) max = 1;
#endif
#ifdef FAULT_NAMES_IMPL
  out[0].impl = 3;
#endif
#ifdef FAULT_ANY_WHERE
  classes = ~(uint64_t)0;
#endif
#ifdef FAULT_REMEMBERS
  if (++turns % 1000 == 0) max = 0;
#endif
#ifdef FAULT_KEEPS_WORKERS
  const int serves = 1;
#elif defined FAULT_POP_READS_WORKERS_EARLY
  const int serves = served_before;
#else
  const int serves = p->serving[worker];
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
#ifdef FAULT_WRITES_LATER // of the task that came out before
  if (n) {
    consort_task *last = p->more;
    if (last) last->sched[0] = NULL;
    p->more = out[n - 1].task;
  }
#endif
  publish(p);
  unlock(p);
#ifdef FAULT_URGENCY_LATE
  if (n && out[0].task->priority > 0) __atomic_store_n(&p->published, out[0].task->priority, __ATOMIC_RELAXED);
#endif
#ifndef FAULT_POP_UNVISITED
  leave(p);
#endif
  return n;
}

static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  Policy *p = of(s);
#ifdef FAULT_EPOCH_LAST // it is set when all is out, in a step of its own
  lock(p);
  uint32_t out_so_far = 0;
  while (out_so_far < max && (out[out_so_far] = take(p, ~(uint64_t)0))) ++out_so_far;
  publish(p);
  unlock(p);
  if (out_so_far == 0) __atomic_store_n(&p->epoch, epoch, __ATOMIC_RELAXED);
  return out_so_far;
#endif
  lock(p);
  uint32_t n = 0;
#ifdef FAULT_STAYS_CLOSED
  if (p->epoch != CONSORT_NEVER)
#endif
#ifdef FAULT_LOSES_WORKERS
  if (epoch == CONSORT_NEVER) memset(p->serving, 0, WORKERS);
#endif
#ifdef FAULT_DRAIN_PAUSES
  if (p->epoch == epoch && !p->urgent && p->first && !p->more) {
    p->more = p;
    publish(p);
    unlock(p);
    return 0;
  }
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
static consort_status quiesce(void *s, uint64_t deadline) {
  Policy *p = of(s);
#ifdef FAULT_QUIESCE_AT_ONCE
  return CONSORT_OK;
#endif
  while (__atomic_load_n(&p->inside, __ATOMIC_SEQ_CST)) {
#ifdef FAULT_QUIESCE_GIVES_UP
    if (deadline != CONSORT_NEVER) return CONSORT_OK;
#elif !defined FAULT_QUIESCE_FOR_EVER
    if (deadline != CONSORT_NEVER && p->host->now(p->host) >= deadline) return CONSORT_E_TIMEOUT;
#endif
    sched_yield();
  }
  return CONSORT_OK;
}

static uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) {
  Policy *p = of(s);
#ifndef FAULT_DROPPED_UNVISITED
  enter(p);
#endif
  lock(p);
  uint32_t found = 0;
#ifdef FAULT_DROPPED_WRITES
  for (uint32_t i = 0; i < n; ++i) tasks[i]->sched[1] = p;
#endif
  for (uint32_t i = 0; i < n; ++i)
    for (int list = 0; list < 2; ++list)
      for (consort_task **at = list ? &p->first : &p->urgent; *at; at = next(*at))
        if (*at == tasks[i]) {
#ifdef FAULT_DROPPED_64
          if (found == 64) --found;
#endif
          held[found++] = tasks[i];
#ifndef FAULT_DROPPED_STAYS
          unlink_at(p, at);
#endif
          break;
        }
  publish(p);
  unlock(p);
#ifndef FAULT_DROPPED_UNVISITED
  leave(p);
#endif
  return found;
}

static const int32_t *urgency(void *s, uint32_t worker) {
#ifdef FAULT_URGENCY_OF_ONE
  static const int32_t none = INT32_MIN;
  return worker == 0 ? &of(s)->published : &none;
#endif
  return &of(s)->published;
}

static uint32_t victim(void *s, uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n, uint32_t *order) {
  for (uint32_t i = 0; i < n; ++i) order[i] = i;
#ifdef FAULT_VICTIM_TWICE
  if (n > 1) order[n - 1] = 0;
#endif
#ifdef FAULT_VICTIM_OF_NONE
  if (n == 0) return order[0] = 0, 1;
#endif
#ifdef FAULT_VICTIM_BY_NAME // the datum's number, not the index
  for (uint32_t i = 0; i < n; ++i) order[i] = (uint32_t)replicas[i].data;
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
#define PLUGIN_OF(table) { \
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER, .abi_major = CONSORT_SCHEDULER_MAJOR, \
    .abi_minor = CONSORT_SCHEDULER_MINOR, .flags = FLAGS, .name = "wrong", .version = "1.0.0", \
    .summary = "wrong on purpose, but for one of these", .license = "Apache-2.0", .params = params, .nparams = 1, \
    .ops = &(table), .init = init, .quiesce = still, .fini = fini, .get = get}
static const consort_plugin plugin = PLUGIN_OF(ops);

#ifndef OWN_ENTRY
CONSORT_MODULE(wrong, SCHEDULER, FLAGS, "wrong", NOTE_VERSION, plugin);
#endif
