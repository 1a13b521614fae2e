/* consort/scheduler.h — a policy holds ready tasks. Calls are batched and allocation-free; the kernel owns
 * sleeping and waking, so a policy never touches a kernel lock.
 * After pop the kernel acquires, in this order and never backwards: commute tokens and
 * reduction copies (all at once) → reservations in every space → staging → launch. If the
 * first fails, the task waits at its datum and is pushed again (PUSH_RETRIED): a task is
 * popped exactly once per push. Tasks bound to a worker never reach a policy. */
#ifndef CONSORT_SCHEDULER_H
#define CONSORT_SCHEDULER_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_SCHEDULER_MAJOR 0
#define CONSORT_SCHEDULER_MINOR 1

/* Properties of a datum that a policy reads without a call. Valid while an unfinished task names it; bytes may
 * change between tasks (dynamic layouts), but not while a task that uses it is queued. */
typedef struct consort_datum { uint64_t id, bytes; } consort_datum; /* bytes: exact */
CONSORT_FROZEN(consort_datum, 16);
typedef struct consort_access { const consort_datum *datum; uint32_t mode, reserved; } consort_access; /* mode: CONSORT_M_* */
CONSORT_FROZEN(consort_access, 16);
enum { /* consort_task.flags */
  CONSORT_TK_TEAM = 1 << 0,        /* runs on team_min..team_max workers of one team */
  CONSORT_TK_SPMD = 1 << 1,        /* every member enters (gang); else one enters and owns the team's cores */
  CONSORT_TK_INTERNAL = 1 << 2     /* submitted by the kernel: init, combine, partition, conversion */
};
/* One cache line, readable without a call; the kernel's private task state follows it.
 * While the task is queued, only sched[] changes. */
typedef struct consort_task {
  void *sched[2];            /* scheduler-owned while queued: intrusive link, key … */
  uint64_t id;
  uint64_t where;            /* bit c = unit class c has an implementation */
  uint64_t footprint;        /* size class */
  uint32_t codelet;          /* dense: row of the perf model */
  int32_t priority;
  uint16_t naccess, flags;
  uint16_t team_min, team_max; /* 1, 1 = ordinary */
  const consort_access *access;
} consort_task;
CONSORT_FROZEN(consort_task, 64);

typedef struct consort_worker { uint32_t id, klass, space, node; uint32_t depth; int32_t numa; } consort_worker;
CONSORT_FROZEN(consort_worker, 24);
/* A team is a virtual worker: its id follows those of the workers and is accepted wherever a worker id is. */
typedef struct consort_team { uint32_t id, klass, space, nmembers; const uint32_t *members; } consort_team;
CONSORT_FROZEN(consort_team, 24);
typedef struct consort_hop { uint64_t bytes_per_s; uint32_t latency_ns, flags; } consort_hop; /* flags 0: no path */
CONSORT_FROZEN(consort_hop, 16);
/* Immutable snapshot, replaced as a whole on hot-plug (generation++). */
typedef struct consort_topology {
  uint32_t size, generation, nworkers, nspaces, nclasses, nteams;
  const consort_worker *workers;
  const consort_hop *hops;        /* [src * nspaces + dst], routed */
  const consort_team *teams;
  const char *const *classes;     /* names, by bit of `where` */
} consort_topology;

typedef struct consort_room { uint64_t capacity, reserved, evictable; } consort_room; /* of a space, bytes */
CONSORT_FROZEN(consort_room, 24);
#define CONSORT_SCHED_ID "consort.sched/1"
/* host->get(host, CONSORT_SCHED_ID) — all batched: nt tasks * nw workers (or teams), task-major.
 * impl: of the codelet; CONSORT_NONE = the best eligible one. Estimates come from the models; in simulation the charged times differ. */
typedef struct consort_sched_host {
  uint32_t size, reserved;
  const consort_topology *(*topology)(const consort_host *);                                         /* [any] valid until the policy's next workers() returns */
  /* [any] bit i = implementation i can, now; 0 = none */
  void (*can_execute)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint64_t *out);
  void (*expected_ns)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint32_t impl, float *out); /* [any] NaN = uncalibrated */
  void (*energy_uj)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint32_t impl, float *out); /* [any] */
  /* [any] missing bytes over routed links, each with its present share of its bus, + the queued traffic of the link */
  void (*transfer_ns)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, float *out);
  void (*resident)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out); /* [any] exact bytes */
  void (*load_ns)(const consort_host *, const uint32_t *workers, uint32_t nw, float *out);            /* [any] work already popped, not finished; without bodies that wait */
  void (*room)(const consort_host *, const uint32_t *spaces, uint32_t ns, consort_room *out);         /* [any] */
  /* [any] edges known so far; returns the count, which may exceed max; valid while the task is unfinished */
  uint32_t (*successors)(const consort_host *, const consort_task *, const consort_task **out, uint32_t max);
  /* [any] a hint that may be dropped, never a reservation. The first call turns on location records of new tasks' data; space CONSORT_NONE
   * turns them on and prefetches nothing */
  void (*prefetch)(const consort_host *, const consort_task *, uint32_t space, int32_t priority);
  void (*unneeded)(const consort_host *, uint64_t data, uint32_t space);                              /* [any] eviction hint */
  /* [any] for traces: the decided worker, expected run time (NaN: unknown) and expected end (0: unknown) */
  void (*decided)(const consort_host *, const consort_task *, uint32_t worker, float run_ns, uint64_t end_ns);
  const char *(*codelet_name)(const consort_host *, const consort_task *);                            /* [any] valid until the runtime stops; NULL: no name */
  /* [any] bit i: access i reads contents that are neither valid nor in transfer there; first 64 accesses */
  void (*lacking)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out);
  /* [worker] called in pop for a returned task: minimum length of the critical path from it, itself included. Copies that wait for a link
   * are ordered by request time minus this rank */
  void (*ranked)(const consort_host *, const consort_task *, float ns);
} consort_sched_host;

/* Workers that a push may have fed: the kernel wakes up to k of these that sleep. bits arrive cleared. */
typedef struct consort_wake { uint32_t nwords, k; uint64_t *bits; } consort_wake;
CONSORT_FROZEN(consort_wake, 16);
/* Adds one task to run, with worker `id` as a candidate. */
static inline void consort_wake_worker(consort_wake *w, uint32_t id) {
  w->bits[id >> 6] |= UINT64_C(1) << (id & 63);
  w->k++;
}

enum { CONSORT_PUSH_NEW = 1 << 0, CONSORT_PUSH_RETRIED = 1 << 1 }; /* first time ready | popped or drained before; both: a mixed batch */
typedef struct consort_push {
  uint64_t epoch;                 /* epoch of the instance, as the pusher read it */
  uint32_t from, flags;           /* worker whose task released these; CONSORT_NONE: another thread */
  consort_task *const *ready;
  uint32_t n, reserved;
  consort_wake *wake;
} consort_push;
CONSORT_FROZEN(consort_push, 40);

typedef struct consort_pick { consort_task *task; uint32_t impl, team; } consort_pick; /* CONSORT_NONE: kernel picks the implementation; no team */
CONSORT_FROZEN(consort_pick, 16);
enum { CONSORT_RP_DIRTY = 1 << 0, CONSORT_RP_PREFETCHED = 1 << 1 };
typedef struct consort_replica { uint64_t data, bytes, last_use_ns; uint32_t space, flags; } consort_replica;
CONSORT_FROZEN(consort_replica, 32);

/* State shown to a policy that selects others (direct). Counts since the start of the runtime; approximate while tasks run. */
typedef struct consort_overview {
  uint32_t size, reserved;
  const char *scheduler;          /* the current one */
  uint64_t submitted, finished;   /* tasks */
  uint64_t asked, unknown;        /* tasks whose expected time a policy queried; of these, tasks without a prediction */
  uint64_t where;                 /* classes of units that a codelet of the program has an implementation for; 0: no codelet yet */
} consort_overview;
/* What a policy that selects others says of its choice (directed). */
typedef struct consort_direction {
  uint32_t size, reserved;
  const char *reason;             /* of the last choice: a clause without a full stop, valid until the next call of direct; NULL: none */
  uint64_t again_ns;              /* until the next call of direct; CONSORT_NEVER: not before a codelet for a further class is added */
} consort_direction;
enum { /* consort_scheduler_ops.flags */
  CONSORT_SF_NO_BYPASS = 1 << 0,  /* the kernel never runs a released successor in place */
  CONSORT_SF_ANY_ORDER = 1 << 1,  /* ready tasks of one submitter may arrive out of submission order: the kernel may keep a few back to push them as a batch */
  /* decides by tasks that are not ready yet: unless the setting `window` is given, submitters may run 16 times as far ahead */
  CONSORT_SF_AHEAD = 1 << 2
};
typedef struct consort_scheduler_ops {
  uint32_t size, flags;
  consort_status (*create)(void *self, const consort_host *, const consort_topology *, uint64_t epoch, void **s); /* [control] one per scheduling context */
  void (*destroy)(void *s);                                                                  /* [control] no task is queued */
  consort_status (*workers)(void *s, const consort_topology *, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd); /* [control] */
  /* [any] takes all n, or returns 0 if the push's epoch is not the instance's; then the kernel pushes to the successor instance */
  uint32_t (*push)(void *s, const consort_push *);
  uint32_t (*pop)(void *s, uint32_t worker, consort_pick *out, uint32_t max);                /* [worker] 0 = none: the kernel checks once more, then sleeps */
  /* [control] sets the epoch (NEVER: closed for good), atomically with respect to push; then returns queued tasks until 0 */
  uint32_t (*drain)(void *s, uint64_t epoch, consort_task **out, uint32_t max);
  consort_status (*quiesce)(void *s, uint64_t deadline_ns);                                  /* [control] after drain; OK = no thread is inside this instance */
  /* optional hooks: NULL costs nothing */
  void (*submitted)(void *s, const consort_task *const *, uint32_t n);                       /* [any] tasks before they are ready: look-ahead. Not tasks bound to a worker */
  /* [control] hot swap: tasks from the earlier policy, before each push of them. Tasks submitted earlier and not ready yet arrive by push,
   * without a call of submitted */
  void (*adopt)(void *s, const consort_task *const *, uint32_t n);
  /* [any] cancelled tasks, queued here or not: unlinks them, returns the queued ones in held, forgets all; NULL: they leave by pop, as
   * poisoned tasks do */
  uint32_t (*dropped)(void *s, consort_task *const *, uint32_t n, consort_task **held);
  void (*started)(void *s, uint32_t worker, const consort_task *const *, uint32_t n);        /* [worker] */
  /* [worker] cookie = task id; measured t0/t1. Once per task reported by started(): at its end or, if its body waits, at the begin of its
   * first wait. In the latter case t0 == t1 (not measured), there is no further call, and its worker may run other tasks */
  void (*finished)(void *s, uint32_t worker, const consort_done *, uint32_t n);
  void (*flush)(void *s);                                                                    /* [any] the application waits: make held-back tasks available */
  /* [control] called once: address where the policy publishes (relaxed atomic stores) the highest priority waiting for the worker; the
   * kernel runs a successor in place if its priority is >=. NULL: no bound */
  const int32_t *(*urgency)(void *s, uint32_t worker);
  /* [any] indices, first to evict first; if fewer than needed, the kernel's order continues */
  uint32_t (*victim)(void *s, uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n, uint32_t *order);
  /* [any] VIRTUAL: earliest ns at which pop may return a task without a push, or CONSORT_NEVER */
  uint64_t (*next_event)(void *s);
  /* [control] a policy that selects others: returns the name of the policy to use in its place, its own name to take tasks itself, NULL
   * for no change. Called when it has workers, then every few ms between tasks, until another scheduler is set by name; the string is
   * valid until the next call */
  const char *(*direct)(void *s, const consort_overview *);
  /* [control] after each call of direct: fills *out; the caller sets its size. NULL: no reason, and direct is called every 5 ms */
  void (*directed)(void *s, consort_direction *out);
} consort_scheduler_ops;
#ifdef __cplusplus
}
#endif
#endif
