/* consort/scheduler.h — where ready tasks wait. Batched, allocation-free, lock-neutral:
 * the kernel owns sleeping and waking, so a policy never touches a kernel lock.
 * After pop the kernel acquires, in this order and never backwards: commute tokens and
 * reduction copies (all at once) → reservations in every space → staging → launch. If the
 * first fails, the task parks on its datum and is pushed again (PUSH_RETRIED): a task is
 * popped exactly once per push. Tasks bound to a worker never reach a policy. */
#ifndef CONSORT_SCHEDULER_H
#define CONSORT_SCHEDULER_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_SCHEDULER_MAJOR 0
#define CONSORT_SCHEDULER_MINOR 1

/* What a policy may know of a datum without a call. Lives as long as an unfinished task names it; bytes may
 * change between tasks (dynamic layouts), never while one that uses it is queued. */
typedef struct consort_datum { uint64_t id, bytes; } consort_datum; /* bytes: exact */
CONSORT_FROZEN(consort_datum, 16);
typedef struct consort_access { const consort_datum *datum; uint32_t mode, reserved; } consort_access; /* mode: CONSORT_M_* */
CONSORT_FROZEN(consort_access, 16);
enum { /* consort_task.flags */
  CONSORT_TK_TEAM = 1 << 0,        /* runs on team_min..team_max workers of one team */
  CONSORT_TK_SPMD = 1 << 1,        /* every member enters (gang); else one enters and owns the team's cores */
  CONSORT_TK_INTERNAL = 1 << 2     /* made by the kernel: init, combine, partition, conversion */
};
/* One cache line, readable without a call. The kernel's private task state follows it.
 * Nothing but sched[] changes while the task is queued. */
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
/* A team is a virtual worker: its id follows those of the workers and is good wherever a worker id is asked about. */
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
 * impl: of the codelet; CONSORT_NONE = best of those that can. Estimates are the models'; in simulation they are not what is charged. */
typedef struct consort_sched_host {
  uint32_t size, reserved;
  const consort_topology *(*topology)(const consort_host *);                                         /* [any] valid until the policy's next workers() returns */
  void (*can_execute)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint64_t *out); /* [any] bit i = implementation i can, now; 0 = none */
  void (*expected_ns)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint32_t impl, float *out); /* [any] NaN = uncalibrated */
  void (*energy_uj)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw, uint32_t impl, float *out); /* [any] */
  void (*transfer_ns)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, float *out); /* [any] missing bytes over routed links + queued traffic */
  void (*resident)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out); /* [any] exact bytes */
  void (*load_ns)(const consort_host *, const uint32_t *workers, uint32_t nw, float *out);            /* [any] work already popped, not finished; without bodies that wait just now */
  void (*room)(const consort_host *, const uint32_t *spaces, uint32_t ns, consort_room *out);         /* [any] */
  uint32_t (*successors)(const consort_host *, const consort_task *, const consort_task **out, uint32_t max); /* [any] edges known so far; returns the count, may exceed max; good while the task is unfinished */
  void (*prefetch)(const consort_host *, const consort_task *, uint32_t space, int32_t priority);     /* [any] a wish, may be dropped: never a reservation. From the first one on records are kept of where data of new tasks are: CONSORT_NONE as the space asks for these alone */
  void (*unneeded)(const consort_host *, uint64_t data, uint32_t space);                              /* [any] eviction hint */
  void (*decided)(const consort_host *, const consort_task *, uint32_t worker, float run_ns, uint64_t end_ns); /* [any] for traces: it is to run there, takes so long (NaN: unknown), ends then (0: unknown) */
  const char *(*codelet_name)(const consort_host *, const consort_task *);                            /* [any] good until the runtime stops; NULL: it has none */
  void (*lacking)(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out); /* [any] bit i: what access i reads is neither there nor on its way; of the first 64 */
  void (*ranked)(const consort_host *, const consort_task *, float ns);                               /* [worker] in pop, of what it answers: so long does what hangs on it take at least, itself included. Where data wait for a link those go first that were asked for earlier, each counted as earlier by that */
} consort_sched_host;

/* Whom a push may have fed: the kernel wakes any k of these, if they sleep. bits arrive cleared. */
typedef struct consort_wake { uint32_t nwords, k; uint64_t *bits; } consort_wake;
CONSORT_FROZEN(consort_wake, 16);
/* One more task to run, and the worker `id` is a candidate for it. */
static inline void consort_wake_worker(consort_wake *w, uint32_t id) { /* one more, and it is a candidate */
  w->bits[id >> 6] |= UINT64_C(1) << (id & 63);
  w->k++;
}

enum { CONSORT_PUSH_NEW = 1 << 0, CONSORT_PUSH_RETRIED = 1 << 1 }; /* first time ready | popped or drained before; both: some are this, some that */
typedef struct consort_push {
  uint64_t epoch;                 /* of the instance as the pusher knew it */
  uint32_t from, flags;           /* worker whose task released these; CONSORT_NONE: an outsider */
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

/* What is shown to a policy that names others (direct). Counts since the runtime started; about, while others go on. */
typedef struct consort_overview {
  uint32_t size, reserved;
  const char *scheduler;          /* that is current */
  uint64_t submitted, finished;   /* tasks */
  uint64_t asked, unknown;        /* tasks of which policies asked the time; of those no model told any */
} consort_overview;
enum { /* consort_scheduler_ops.flags */
  CONSORT_SF_NO_BYPASS = 1 << 0,  /* never run a released successor in place */
  CONSORT_SF_ANY_ORDER = 1 << 1   /* ready tasks of one submitter need not arrive in the order of their submission: the kernel may keep a few back, to hand them over together */
};
typedef struct consort_scheduler_ops {
  uint32_t size, flags;
  consort_status (*create)(void *self, const consort_host *, const consort_topology *, uint64_t epoch, void **s); /* [control] one per scheduling context */
  void (*destroy)(void *s);                                                                  /* [control] empty */
  consort_status (*workers)(void *s, const consort_topology *, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd); /* [control] */
  uint32_t (*push)(void *s, const consort_push *);                                           /* [any] takes all n, or 0 when its epoch is not the instance's: the kernel pushes to the heir */
  uint32_t (*pop)(void *s, uint32_t worker, consort_pick *out, uint32_t max);                /* [worker] 0 = kernel re-checks then sleeps */
  uint32_t (*drain)(void *s, uint64_t epoch, consort_task **out, uint32_t max);              /* [control] first sets the epoch (NEVER: closed for good), as one step with respect to push; gives ready tasks back until 0 */
  consort_status (*quiesce)(void *s, uint64_t deadline_ns);                                  /* [control] after drain: OK = nobody is inside this instance */
  /* optional hooks: NULL costs nothing */
  void (*submitted)(void *s, const consort_task *const *, uint32_t n);                       /* [any] before ready: look-ahead. Not those bound to a worker */
  void (*adopt)(void *s, const consort_task *const *, uint32_t n);                           /* [control] hot swap: what waited in the policy before, each time before it is pushed here. What was submitted earlier and is not ready yet comes by push, untold */
  uint32_t (*dropped)(void *s, consort_task *const *, uint32_t n, consort_task **held);      /* [any] cancelled, whether they ever came here or not: unlink, hand back those that were queued here, forget all; NULL: they come out by pop, as poisoned ones do */
  void (*started)(void *s, uint32_t worker, const consort_task *const *, uint32_t n);        /* [worker] */
  void (*finished)(void *s, uint32_t worker, const consort_done *, uint32_t n);              /* [worker] cookie = task id; measured t0/t1. Once for each task that this instance was told of at its start: when it has ended or, if its body waits inside, when its first wait begins. Then t0 == t1 (not measured), and nothing more is told of it: its worker is free for other tasks, for which it may wait */
  void (*flush)(void *s);                                                                    /* [any] application is waiting: release held tasks */
  const int32_t *(*urgency)(void *s, uint32_t worker);                                       /* [control] asked once: where the policy publishes (relaxed atomic stores) the highest priority waiting for it; bypass if the successor's is >=. NULL: no bound */
  uint32_t (*victim)(void *s, uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n, uint32_t *order); /* [any] indices, first to go first; short or 0: the kernel's order goes on */
  uint64_t (*next_event)(void *s);                                                           /* [any] VIRTUAL: earliest ns at which pop may answer without a push, or CONSORT_NEVER */
  const char *(*direct)(void *s, const consort_overview *);                                  /* [control] a director: names who is to be current in its place, NULL: as it is; itself: it takes tasks as any other. Asked once it has workers, then every few ms between tasks, until another scheduler is asked for by name; the answer is good until the next call */
} consort_scheduler_ops;
#ifdef __cplusplus
}
#endif
#endif
