/* consort/driver.h — a driver owns devices; a device is memory spaces (0..n) +
 * execution units (0..n) + queues. No units = memory-only (disk, CXL, remote pool).
 * No spaces = accelerator on another driver's memory. Completion: poll always works;
 * event fd and pushed completion are optional.
 * Order of calls: open all devices → space(0..) of all → link() for every ordered
 * pair, foreign spaces included → unit(0..) → queue_open. A unit can thus name a foreign
 * home space: link() has passed its description and id. */
#ifndef CONSORT_DRIVER_H
#define CONSORT_DRIVER_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_DRIVER_MAJOR 0
#define CONSORT_DRIVER_MINOR 5

enum { /* consort_space_desc.flags */
  CONSORT_SP_CPU = 1 << 0,        /* CPU can load/store base+off */
  CONSORT_SP_OPAQUE = 1 << 1,     /* base is an object id: only copies may touch it (disk, remote) */
  CONSORT_SP_PERSISTENT = 1 << 2, /* outlives the process */
  CONSORT_SP_COHERENT = 1 << 3    /* CPU and device see each other's stores */
};
typedef struct consort_space_desc {
  uint32_t size, flags;
  uint32_t id;               /* dense; in: the kernel sets it before space() */
  int32_t numa;              /* -1 unknown */
  const char *name;          /* "cuda0:hbm", "disk:/scratch" */
  const char *domain;        /* "host", "cuda", "file" … drivers recognise spaces of the same domain by it */
  uint64_t domain_key;       /* PCI address, uuid hash …: private to the domain */
  uint64_t capacity;         /* total bytes that alloc can give: the limit for reservations; EV_CAPACITY reports changes */
  uint64_t granule, align;   /* alloc rounds bytes up to granule; the kernel reserves the rounded size */
} consort_space_desc;

enum { /* consort_unit_desc.flags */
  CONSORT_UNIT_INLINE = 1 << 0,   /* the kernel calls host impls itself, without a driver call per task; the unit has no `issued` state */
  CONSORT_UNIT_SIMULATED = 1 << 1, /* eligibility goes by the impl declared for klass; OP_CALL carries the impl of class `runs`; see there */
  CONSORT_UNIT_TEAMS = 1 << 2     /* not with INLINE: an OP_CALL on its queue may be for a team of call->team units of this device,
                                     led by this unit; the others are idle and get no work until it ends */
};
typedef struct consort_unit_desc {
  uint32_t size, flags;
  uint32_t id;               /* dense; in: the kernel sets it before unit() */
  uint32_t space;            /* home space, by kernel id; may belong to another driver */
  uint32_t depth;            /* useful number of ops in flight (1 = synchronous) */
  int32_t numa;
  const char *klass;         /* "cpu", "cuda": named by codelets; a simulated unit carries the real class */
  const char *arch;          /* perf-model key: "cuda/sm_90/132sm" */
  const uint64_t *cpuset;    /* bit i = OS cpu i that drives (cpu: is) this unit; NULL = any */
  uint32_t cpuset_words, reserved;
  const char *runs;          /* SIMULATED: the class whose host functions run in place of klass's own ("cpu"); NULL: klass's own */
} consort_unit_desc;

/* One directed path along which this driver moves bytes: peer-to-peer, staging or disk.
 * The kernel routes over the union of all links. */
enum {
  CONSORT_LK_2D = 1 << 0, CONSORT_LK_3D = 1 << 1, CONSORT_LK_MANY = 1 << 2, /* strided / many runs per op natively */
  CONSORT_LK_LOADSTORE = 1 << 3,  /* dst units may dereference src directly: no replica needed */
  CONSORT_LK_ASYNC = 1 << 4
};
typedef struct consort_link_desc {
  uint32_t size, flags;
  uint64_t bytes_per_s;       /* advertised; the kernel measures and rejects implausible values */
  uint32_t latency_ns, engines;
  uint64_t max_run, min_align;
  uint64_t bounce_bytes;      /* memory in bounce_space per op in flight: reserved with the task's own */
  uint32_t bounce_space, reserved; /* CONSORT_NONE: no bounce buffer */
  uint64_t bus;               /* 0: no shared bus. Links of a driver with equal non-zero `bus` share one, */
  uint64_t bus_bytes_per_s;   /* with this total rate; 0: unknown */
} consort_link_desc;

/* Strided run of up to 3 dimensions, the only form of a copy. Unused n[] are 1. The kernel
 * canonicalises it (merges contiguous dimensions) and splits it into forms that the link advertises. */
typedef struct consort_copy {
  uint32_t src_space, dst_space;
  consort_addr src, dst;
  uint64_t run;               /* contiguous bytes */
  uint64_t n[2];              /* rows, slices */
  int64_t src_step[2], dst_step[2]; /* bytes */
} consort_copy;
CONSORT_FROZEN(consort_copy, 96);

/* Launch arguments are data, produced by the interface's args(): a driver never reads a view.
 * Sub-buffers: pass the root object and the offset; create a native sub-buffer only if aligned and disjoint. */
enum {
  CONSORT_ARG_ADDR = 1,       /* addr; extent = bytes that may be touched from it */
  CONSORT_ARG_SCALAR,         /* first `bytes` (<= 8) bytes of scalar, in memory order */
  CONSORT_ARG_BYTES,          /* struct by value: scalar is the host address of `bytes` bytes */
  CONSORT_ARG_SHARED          /* `bytes` of per-block (local) memory */
};
typedef struct consort_arg {
  uint32_t kind, bytes;
  consort_addr addr;
  uint64_t extent, scalar;
} consort_arg;
CONSORT_FROZEN(consort_arg, 40);

typedef struct consort_launch {
  uint64_t code;              /* from load_impl() */
  const consort_arg *args;
  uint32_t nargs, shared_bytes;
  uint64_t grid[3];           /* blocks; the driver splits grids that exceed the hardware's limits */
  uint32_t block[3], reserved;
} consort_launch;
CONSORT_FROZEN(consort_launch, 64);

/* How a task uses a datum: one mode, with hints or-ed on. Applications, kernel and policies share these bits. */
enum {
  CONSORT_M_R = 1 << 0, CONSORT_M_W = 1 << 1, CONSORT_M_RW = 3,
  CONSORT_M_SCRATCH = 1 << 2,      /* memory without contents, private to the task while it runs */
  CONSORT_M_REDUX = 1 << 3,        /* per-worker copy; init and combine codelets run as TK_INTERNAL tasks */
  CONSORT_M_COMMUTE = 1 << 4,      /* with RW: mutual exclusion, any order */
  CONSORT_M_FIXED_TREE = 1 << 8,   /* with REDUX: deterministic combination */
  CONSORT_M_LOCALITY = 1 << 9, CONSORT_M_NOFOOTPRINT = 1 << 10
};

/* Arguments of a host function of a codelet. The kernel fills the struct and owns it until the op completes; the
 * driver writes only the native_* fields, then calls the function with its context current (for cuBLAS and similar).
 * A team of n: SPMD = n calls, rank 0..n-1; else one call that may use all of cpuset. */
typedef struct consort_call consort_call;
enum { CONSORT_CALL_SPMD = 1 << 0 };
struct consort_call {
  uint32_t size, flags;
  uint32_t unit, worker;
  void *native_queue, *native_context;
  const void *const *views;   /* interface views, already in this unit's space */
  const consort_arg *args;    /* the task's own values */
  uint32_t nviews, nargs;
  uint32_t rank, team;        /* team = number of members, 1 = ordinary */
  const uint64_t *cpuset;     /* of the team; NULL = not bound */
  uint32_t cpuset_words, impl;
  consort_status (*barrier)(const consort_call *); /* [worker] SPMD: barrier of the team, the only barrier that is safe under a single-threaded pump; not OK: return (a member failed) */
  void *user;                 /* the implementation's own pointer (consort_impl.user): closures, bindings */
  const consort_host *host;   /* now() and log() for host code */
  uint32_t team_id, reserved; /* id of the team; CONSORT_NONE: a team of one */
};
typedef consort_status consort_call_fn(const consort_call *); /* <0 fails the task */
typedef struct consort_invoke { consort_call_fn *fn; consort_call *call; } consort_invoke;
CONSORT_FROZEN(consort_invoke, 16);
typedef struct consort_fill { consort_addr dst; uint64_t run; uint32_t space, pattern; } consort_fill;
CONSORT_FROZEN(consort_fill, 32);
enum { /* flags of alloc; what a space cannot do is E_UNSUPPORTED, never ignored */
  CONSORT_AL_ZERO = 1 << 0, CONSORT_AL_PINNED = 1 << 1, /* CPU memory that devices may reach by DMA */
  CONSORT_AL_EXPORT = 1 << 2,     /* other processes or drivers will attach it */
  CONSORT_AL_HUGE = 1 << 3,       /* a slab to be cut by the kernel: large pages welcome (a hint) */
  CONSORT_AL_TRANSIENT = 1 << 4   /* bounce or write-back buffer, freed soon (a hint) */
};
typedef struct consort_alloc { /* OP_ALLOC writes *addr before it completes, OP_FREE reads it */
  consort_addr *addr; uint64_t bytes, align; uint32_t space, flags;
} consort_alloc;
CONSORT_FROZEN(consort_alloc, 32);
typedef union consort_op_body { /* no anonymous types: bindings and golden files need names */
  consort_copy copy; consort_launch launch; consort_invoke call; consort_fill fill; consort_alloc alloc;
} consort_op_body;
CONSORT_FROZEN(consort_op_body, 96);

/* A dependency has two states. An op is ISSUED once submit() has accepted it, COMPLETE once poll() or
 * complete() has reported it. A ticket names an op that is already issued: the seq-th (from 1) that its
 * queue accepted; ops of one batch may name earlier ones of the same batch. Thus waits point backwards, no
 * cycle exists, and "complete" is a comparison. An op may be issued behind an incomplete predecessor if:
 *   Q_IN_ORDER, same queue: no ticket needed; ops take effect, and are reported, in issue order;
 *   Q_WAITS, queues of one driver with equal non-zero `sync`: by ticket; the device waits.
 * The kernel holds all other ops back until the predecessor is complete. The driver never refuses an op because a
 * ticket is open, only for lack of queue space, which poll() frees. A ticket of a closed queue is complete.
 * If a predecessor fails, the dependent op completes with E_CANCELLED unrun, or runs on invalid contents if the
 * device could not know: the kernel poisons its results either way. */
typedef struct consort_ticket { uint64_t queue, seq; } consort_ticket; /* queue: token of queue_open */
CONSORT_FROZEN(consort_ticket, 16);
enum { CONSORT_OP_COPY = 1, CONSORT_OP_CALL, CONSORT_OP_LAUNCH, CONSORT_OP_FILL, CONSORT_OP_MARK, /* completes after all it is ordered behind */
       CONSORT_OP_ALLOC, CONSORT_OP_FREE /* DRV_QALLOC only */ };
enum { /* consort_op.flags */
  CONSORT_OPF_TIME = 1 << 0,   /* t0/t1 wanted; else spare the clock */
  CONSORT_OPF_ENQUEUE = 1 << 1 /* CALL only enqueues on native_queue: may run inside submit(); completes when the queue gets there */
};
typedef struct consort_op {
  uint16_t kind, flags;
  uint32_t nwait;
  const consort_ticket *wait; /* valid until submit() returns; other targets of pointers, until the op completes */
  uint64_t cookie;
  uint64_t bytes;             /* of a task's data, exact, each datum once; only for SIMULATED units, else 0 */
  uint64_t footprint;         /* size class; a simulator looks up times by codelet, bytes, footprint, impl and work */
  uint64_t work;              /* the codelet's own measure (flops …), 0 unknown */
  uint32_t codelet, impl;     /* dense; implementation within it. CONSORT_NONE: not a task */
  int32_t priority;
  uint32_t reserved;
  consort_op_body u;
} consort_op;
CONSORT_FROZEN(consort_op, 160);

enum { CONSORT_Q_IN_ORDER = 1 << 0, CONSORT_Q_WAITS = 1 << 1 };
typedef struct consort_queue_desc {
  uint32_t size, flags;
  uint64_t sync;              /* 0: only the kernel waits for its tickets */
  uint32_t depth, reserved;   /* ops that it accepts before poll() */
} consort_queue_desc;

/* Device lost: every op in flight on every queue of it completes with E_DEVICE_LOST (in order if the queue
 * is), then exactly one EV_DEVICE_LOST; after its completion the device does not access the op's memory.
 * Later submits are accepted and complete with that error; alloc, attach, load_impl return it. Its spaces'
 * contents are lost (PERSISTENT: suspect). free, detach, queue_close and close still return, without the
 * hardware. EV_DEVICE_UP: the kernel reopens it; old handles stay invalid. */
enum { /* consort_driver_ops.flags */
  CONSORT_DRV_FD = 1 << 0, CONSORT_DRV_PUSH = 1 << 1, CONSORT_DRV_QALLOC = 1 << 2
};
typedef struct consort_driver_ops {
  uint32_t size, flags;
  uint32_t (*count)(void *self);                                                            /* [control] */
  consort_status (*open)(void *self, uint32_t index, uint64_t token, void **dev);           /* [control] token: object of events */
  void (*close)(void *dev);                                                                 /* [control] */
  consort_status (*space)(void *dev, uint32_t i, consort_space_desc *out);                  /* [control] i = 0.. until E_INVAL */
  consort_status (*unit)(void *dev, uint32_t i, consort_unit_desc *out);                    /* [control] i = 0.. until E_INVAL */
  consort_status (*link)(void *dev, const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out); /* [control] E_UNSUPPORTED = no link by this driver */
  consort_status (*alloc)(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out); /* [control] may block; cached above */
  void (*free)(void *dev, uint32_t space, consort_addr, uint64_t bytes);                    /* [control] may block */
  consort_status (*attach)(void *dev, uint32_t space, consort_addr, uint64_t bytes, consort_addr *local); /* [control] pin / import / map foreign memory (extents); free of charge in simulation */
  void (*detach)(void *dev, uint32_t space, consort_addr local);                            /* [control] */
  consort_status (*load_impl)(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code); /* [load] */
  consort_status (*queue_open)(void *dev, uint32_t unit_or_none, uint64_t token, consort_queue_desc *out, void **q); /* [control] */
  void (*queue_close)(void *q);                                                             /* [control] q is idle */
  uint32_t (*submit)(void *q, const consort_op *ops, uint32_t n);                           /* [queue] -> accepted prefix; never blocks */
  uint32_t (*poll)(void *q, consort_done *out, uint32_t max);                               /* [queue] never blocks; the text of fail() belongs to the last op that it reports */
  int32_t (*event_fd)(void *q);                                                             /* [control] DRV_FD */
  consort_status (*arm)(void *q);                                                           /* [queue] E_BUSY = poll again first (no lost wake-up) */
  uint64_t (*next_event)(void *q);                                                          /* [queue] VIRTUAL: earliest ns poll() yields, or CONSORT_NEVER */
  void (*codelet)(void *dev, uint32_t id, const char *name, const char *const *impls, uint32_t n); /* [control] optional: names, before the first op that carries id */
} consort_driver_ops;

/* Optional, plugin->get(self, CONSORT_CAPTURE_ID): replayed submissions as one native graph. */
#define CONSORT_CAPTURE_ID "consort.capture/1"
typedef struct consort_capture_ops {
  uint32_t size, flags;
  consort_status (*begin)(void *q);                                       /* [queue] later ops are recorded, not run: no seq, no completion; tickets count them from 1 */
  consort_status (*end)(void *q, uint64_t *graph);                        /* [queue] E_UNSUPPORTED: an op cannot be captured: replay op by op */
  consort_status (*launch)(void *q, uint64_t graph, const consort_op *mark); /* [queue] one op: wait, cookie, seq of the mark; AGAIN = no room */
  consort_status (*update)(uint64_t graph, uint32_t i, const consort_op *op); /* [control] new arguments of recorded op i, graph idle; E_UNSUPPORTED: capture anew */
  void (*release)(uint64_t graph);                                        /* [control] idle */
} consort_capture_ops;
#ifdef __cplusplus
}
#endif
#endif
