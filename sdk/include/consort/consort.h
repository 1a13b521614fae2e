/* consort/consort.h — the application's side of Consort, in C11. The C++20 face over it is consort.hpp.
 *
 * Every call answers a consort_status (0 good, < 0 an error, > 0 a good answer of another kind); the text
 * of the calling thread's last error is consort_error(). No call aborts the process, throws, or hangs on
 * bad input. Any thread may call anything, unless a line says otherwise.
 *
 * Handles are values that carry a generation: one that has died is answered with CONSORT_E_STALE, never
 * with a crash. The null handle (v = 0) names nothing, except where a line gives it a meaning.
 * Structs begin with `size` (set it to sizeof, or use the _INIT macro) and grow at their end. Bits of flags that have no name
 * here, and fields called reserved, are 0 in what the application gives: anything else is refused with CONSORT_E_INVAL. */
#ifndef CONSORT_CONSORT_H
#define CONSORT_CONSORT_H
#include "driver.h"
#include "layouts.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_VERSION "0.1.0"
#if defined(CONSORT_STATIC)
#define CONSORT_API
#else
#define CONSORT_API CONSORT_EXPORT
#endif
#define CONSORT_FOREVER (-1) /* timeouts are ns; 0 asks without waiting */

typedef struct consort_runtime consort_runtime;
typedef struct consort_codelet_id { uint64_t v; } consort_codelet_id;
typedef struct consort_data_id { uint64_t v; } consort_data_id;
typedef struct consort_task_id { uint64_t v; } consort_task_id;
typedef struct consort_group_id { uint64_t v; } consort_group_id;
CONSORT_FROZEN(consort_codelet_id, 8);
CONSORT_FROZEN(consort_data_id, 8);
CONSORT_FROZEN(consort_task_id, 8);
CONSORT_FROZEN(consort_group_id, 8);

/* -- the runtime ------------------------------------------------------------------------------------ */

typedef struct consort_setting { const char *key, *value; } consort_setting; /* "workers" = "2", "scheduler" = "prio", "lws.depth" … */
CONSORT_FROZEN(consort_setting, 16);
typedef struct consort_settings {
  uint32_t size, flags;
  const char *file;               /* TOML; NULL: $CONSORT_CONFIG, else none */
  const char *text;               /* TOML as text, over the file; NULL: none */
  const consort_setting *set;     /* over file, text and environment */
  uint32_t nset, reserved;
  void (*log)(void *user, int32_t level, const char *utf8); /* [any] NULL: stderr. level 0 error … 3 debug */
  void *log_user;
  consort_entry_fn *const *modules; /* plugins linked into this program (CONSORT_STATIC_PLUGIN): their entries */
  uint32_t nmodules, reserved2;
  /* [control] Asked once about each plugin file that could be used, before any code of it is loaded: NULL takes the file, a text
   * (good until the next call) refuses it and says why in one line. Not about linked-in plugins. NULL: every file is taken. */
  const char *(*admit)(void *user, const char *path);
  void *admit_user;
} consort_settings;
#define CONSORT_SETTINGS_INIT {sizeof(consort_settings), 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}

/* settings NULL: defaults. Several runtimes may live side by side. */
CONSORT_API consort_status consort_start(const consort_settings *settings, consort_runtime **out);
/* Waits for every task, brings data home, stops. E_BUSY inside a task, a callback or another call. Tasks that wait for a tag (order.h) which nobody is
 * left to reach are cancelled, and say so. If tasks failed and no call was answered with their failure, the answer is the first
 * such failure; further ones go to the log. The runtime is gone all the same. A failure is answered by a wait for its task, tag or
 * group, an acquisition or unregistration of a datum that it poisoned, or a completion callback; its consequences with it.
 * Calls of other threads are waited for; new ones answer E_STOPPED, but those that end something go on until nothing is pending
 * (docs/embed.md). NULL is fine. */
CONSORT_API consort_status consort_stop(consort_runtime *rt);
/* Text of this thread's last error, "" if none. Good until the thread's next call. */
CONSORT_API const char *consort_error(void);
/* Another policy from here on, while tasks run: those that wait go over to it, none is lost or run twice. On an error the old one goes on. */
CONSORT_API consort_status consort_runtime_set_scheduler(consort_runtime *rt, const char *name);
/* The version of the library that is loaded, "0.1.0". CONSORT_VERSION is the one of the header. */
CONSORT_API const char *consort_version(void);
CONSORT_API const char *consort_status_name(consort_status s); /* "E_INVAL" */

/* -- codelets --------------------------------------------------------------------------------------- */

typedef struct consort_impl {
  const char *klass;              /* unit class: "cpu", "cuda", … Several impls may name one class */
  consort_call_fn *fn;            /* host function; NULL where `text` says it all. It returns, or throws; it must not end its thread: pthread_exit(), or a cancellation that is acted upon inside it, ends the process */
  void *user;                     /* handed to fn as call->user; without fn: a consort_portable, or NULL */
  const char *name;               /* NULL: the codelet's */
  const char *format, *text, *entry; /* portable kernel for load_impl(): "cl", "ptx" …; NULL */
  uint64_t text_bytes;            /* 0: text ends with NUL */
} consort_impl;
CONSORT_FROZEN(consort_impl, 64);
/* How an implementation that is a portable kernel is launched: over `grid` blocks of `block` work items each (0 counts as 1;
 * 1 x 1 x 1 lets the device group them). Unless `range` says otherwise there is a work item for each element of datum `over`,
 * as its layout counts them in up to three dimensions, the fastest first (what is beyond counts to the third); where `block`
 * does not divide them the last blocks reach further.
 * The kernel is given what the layouts of the task's data give (consort_interface_ops.args; their READMEs), datum after datum,
 * then the task's own values; or what `args` picks of these, in that order. */
typedef struct consort_range { uint64_t grid[3]; uint32_t block[3], shared_bytes; } consort_range;
CONSORT_FROZEN(consort_range, 40);
typedef struct consort_pass { uint32_t datum, part; } consort_pass; /* part: the how-manieth of what its layout gives, NONE: all. datum NONE: the task's own value number `part` */
CONSORT_FROZEN(consort_pass, 8);
typedef struct consort_portable { /* copied at codelet_add(), `args` with it; what `range` and `user` point to is not */
  uint32_t size, flags;
  uint32_t block[3], shared_bytes; /* shared_bytes: of memory that a block shares; where a format knows no other way, the kernel's last argument */
  uint32_t over, nargs;
  const consort_pass *args;       /* NULL: all there is */
  consort_status (*range)(void *user, const consort_call *call, consort_range *io); /* [any] io holds what would have been (grid 0: nothing is known). < 0 fails the task. NULL: as above */
  void *user;
} consort_portable;
#define CONSORT_PORTABLE_INIT {sizeof(consort_portable), 0, {1, 1, 1}, 0, 0, 0, NULL, NULL, NULL}
/* May this worker run this task with implementation `impl` (its place in consort_codelet.impls)? 0: no. Asked each time that
 * the task meets a worker, on any thread, maybe more than once: quick, and the same answer for the same question. It calls nothing
 * of the runtime: a scheduler may be asking. A task that no worker can run is refused when it is submitted. For the
 * codelets of a reduction `task` is null: they are asked when consort_data_set_reduction() names them, and on the worker. */
typedef int32_t consort_can_execute_fn(void *user, uint32_t worker, uint32_t impl, const consort_task_id task);
typedef struct consort_codelet {
  uint32_t size, flags;
  const char *name;
  const consort_impl *impls;
  uint32_t nimpls;
  uint32_t nmodes;                /* how many data; CONSORT_NONE: any number */
  const uint32_t *modes;          /* nmodes modes that submissions are checked against; NULL: not checked */
  consort_can_execute_fn *can_execute; /* NULL: every worker of a class that has an implementation can */
  void *can_execute_user;
  uint32_t max_team, reserved;    /* with CL_FORKJOIN or CL_SPMD: no larger team than this; 0: any */
} consort_codelet;
#define CONSORT_CODELET_INIT {sizeof(consort_codelet), 0, NULL, NULL, 0, CONSORT_NONE, NULL, NULL, NULL, 0, 0}
enum { /* consort_codelet.flags */
  CONSORT_CL_ASYNC = 1 << 0,      /* on a unit with a native queue the function only enqueues on call->native_queue; dependents
                                     may be issued behind it. A unit that is inline ignores it */
  CONSORT_CL_STATS = 1 << 1,      /* count its tasks by worker: consort_codelet_stats() */
  CONSORT_CL_FORKJOIN = 1 << 2,   /* a team of workers may run it: one of them calls the function, which may use the cores of all (teams.h) */
  CONSORT_CL_SPMD = 1 << 3        /* a team of workers may run it: each of them calls the function */
};

/* Copies the description; what `fn` and `user` point to must live until removal. A codelet may have impls
 * for classes that this machine lacks; a task whose codelet has none that could run is refused at submit. */
CONSORT_API consort_status consort_codelet_add(consort_runtime *rt, const consort_codelet *desc, consort_codelet_id *out);
/* Waits until no task uses it; from then on its code may be unloaded. Never from inside a task. E_BUSY: it unites
 * contributions that nobody has read yet (consort_data_set_reduction): acquire, invalidate or unregister those data first. */
CONSORT_API consort_status consort_codelet_remove(consort_runtime *rt, consort_codelet_id codelet);
/* How many tasks of it each worker has run, into per_worker[n]; n workers at least. With CONSORT_CL_STATS only. */
CONSORT_API consort_status consort_codelet_stats(consort_runtime *rt, consort_codelet_id codelet, uint64_t *per_worker, uint32_t n);

/* -- data ------------------------------------------------------------------------------------------- */

typedef struct consort_data_desc {
  uint32_t size, flags;
  const char *interface;          /* "vector" … */
  const void *args;               /* consort_vector_args … */
  uint64_t args_bytes;
  const char *name;               /* for errors and traces; copied; NULL: "vector#12" */
} consort_data_desc;
/* Registers memory of the application, or sizes alone, as a datum of the layout desc->interface; loads the layout's
 * plugin where it is not loaded. From here on the memory must not be touched, until consort_unregister() returns or
 * while it is held (consort_acquire()). E_INVAL: arguments that the layout refuses. */
CONSORT_API consort_status consort_register(consort_runtime *rt, const consort_data_desc *desc, consort_data_id *out);
/* Waits for the tasks that use it; afterwards the memory is the caller's again, contents home. If the datum is poisoned, or the
 * copy home failed, the answer is the first failure behind that, with its chain as text: the datum is unregistered all the same.
 * From a completion callback: E_BUSY (use consort_unregister_later). Twice: E_STALE. */
CONSORT_API consort_status consort_unregister(consort_runtime *rt, consort_data_id data);
/* The same, with flags of a wait (CONSORT_WAIT_*). */
CONSORT_API consort_status consort_unregister_wait(consort_runtime *rt, consort_data_id data, uint32_t flags);
/* The handle dies now, the datum when its last task is done. Waits for nothing. */
CONSORT_API consort_status consort_unregister_later(consort_runtime *rt, consort_data_id data);
/* Contents are dropped, in order with the tasks: reading again before a write is an error. Cures a poisoned datum. */
CONSORT_API consort_status consort_invalidate(consort_runtime *rt, consort_data_id data);

/* How contributions are made and united: `init` fills one datum (W) with the neutral element, `combine` adds the second (R) to the
 * first (RW). Tasks that use it with CONSORT_M_REDUX each add to a copy that is theirs while they run; whoever reads next
 * finds all united with what the datum held before (nothing, if it was never written). With CONSORT_M_FIXED_TREE the
 * union is in one order, whatever the workers do: the same bits every time. Both codelets run on units
 * of the host; those that they need cannot be removed while there are contributions to unite, and later ones are refused
 * when they were. */
CONSORT_API consort_status consort_data_set_reduction(consort_runtime *rt, consort_data_id data, consort_codelet_id init, consort_codelet_id combine);
/* ordered = 0: from here on tasks that use it take no order from it; the program orders them otherwise (tags, `after`), or
 * need not. 1: as at first. Waiting for it, unregistering and acquiring, still waits for all of its tasks. */
CONSORT_API consort_status consort_data_set_ordered(consort_runtime *rt, consort_data_id data, int32_t ordered);

/* The caller enters a datum as a task would: waits for its turn, then owns the home copy until release. */
typedef struct consort_hold { consort_task_id id; const void *view; } consort_hold;
CONSORT_FROZEN(consort_hold, 16);
/* mode: R, W or RW. OK: out holds the right and the view of the home copy, until consort_release(). E_TIMEOUT: tasks
 * before it were unfinished when time ran out. E_POISONED and others: the failure of the task that should have
 * written the contents. E_BUSY: it would wait for itself, inside a task that uses the datum or in a callback. */
CONSORT_API consort_status consort_acquire(consort_runtime *rt, consort_data_id data, uint32_t mode, int64_t timeout_ns, consort_hold *out);
/* Ends a hold, on any thread; tasks that come after it may start. E_STALE: it was released before. E_INVAL: no hold
 * of this runtime. */
CONSORT_API consort_status consort_release(consort_runtime *rt, consort_hold hold);

/* consort_register() of n elements of elem bytes side by side. ptr NULL: no home; memory is allocated where the
 * datum is first written. */
static inline consort_status consort_register_vector(consort_runtime *rt, void *ptr, uint64_t n, uint64_t elem, consort_data_id *out) {
  consort_vector_args a = {ptr, n, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "vector", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* ny lines of nx elements of elem bytes, ld elements from line to line (0: nx). ptr NULL: no home. */
static inline consort_status consort_register_matrix(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t ld, uint64_t elem, consort_data_id *out) {
  consort_matrix_args a = {ptr, nx, ny, ld, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "matrix", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* nz planes of ny lines of nx elements: ldy elements from line to line, ldz from plane to plane (0: packed). ptr
 * NULL: no home. */
static inline consort_status consort_register_block(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t nz, uint64_t ldy, uint64_t ldz,
                                                    uint64_t elem, consort_data_id *out) {
  consort_block_args a = {ptr, nx, ny, nz, ldy, ldz, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "block", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* nt blocks as those of consort_register_block(), ldt elements from block to block (0: packed). ptr NULL: no home. */
static inline consort_status consort_register_tensor(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t nz, uint64_t nt, uint64_t ldy,
                                                     uint64_t ldz, uint64_t ldt, uint64_t elem, consort_data_id *out) {
  consort_tensor_args a = {ptr, nx, ny, nz, nt, ldy, ldz, ldt, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "tensor", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* n[dims] sizes and step[dims] steps, the fastest dimension first; step NULL: packed. */
static inline consort_status consort_register_ndim(consort_runtime *rt, void *ptr, uint32_t dims, const uint64_t *n, const uint64_t *step, uint64_t elem,
                                                   consort_data_id *out) {
  consort_ndim_args a = {ptr, dims, {0}, {0}, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "ndim", &a, sizeof a, NULL};
  for (uint32_t i = 0; i < dims && i < CONSORT_NDIM_MAX; i++) {
    a.n[i] = n[i];
    a.step[i] = step ? step[i] : 0;
  }
  return consort_register(rt, &d, out);
}
/* One value of `bytes` bytes. ptr NULL: no home. */
static inline consort_status consort_register_variable(consort_runtime *rt, void *ptr, uint64_t bytes, consort_data_id *out) {
  consort_variable_args a = {ptr, bytes};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "variable", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}

/* -- tasks ------------------------------------------------------------------------------------------ */

typedef struct consort_use { consort_data_id data; uint32_t mode, reserved; } consort_use; /* mode: CONSORT_M_* of driver.h */
CONSORT_FROZEN(consort_use, 16);

/* How a task ended, as a completion callback and consort_failure see it. */
typedef struct consort_outcome { consort_task_id task; consort_status status; uint32_t worker; const char *name; const char *text; } consort_outcome;
CONSORT_FROZEN(consort_outcome, 32);
typedef void consort_done_fn(void *arg, const consort_outcome *outcome);

enum { /* consort_task_desc.flags */
  CONSORT_TASK_UNORDERED = 1 << 0, /* its data make no order for it, nor it for others: as consort_data_set_ordered(0), for this task */
  CONSORT_TASK_REPEAT = 1 << 1     /* submitted anew each time it has ended well, until consort_task_stop_repeating(): each turn is a task of
                                      its own, in order with what was submitted on its data meanwhile */
};
/* One submission. `codelet` null: an empty task, a point of synchronisation. Values in `args` are copied
 * (SCALAR: up to 8 bytes in place; BYTES: `bytes` bytes from the address in scalar); a value passed by
 * reference is a SCALAR that holds a pointer the caller keeps alive. The function sees them as call->args. */
typedef struct consort_task_desc {
  uint32_t size, flags;
  consort_codelet_id codelet;
  const consort_use *uses;
  const consort_arg *args;
  uint32_t nuses, nargs;
  int32_t priority;               /* higher first; 0 ordinary */
  uint32_t worker;                /* only this one, or this team (teams.h); CONSORT_NONE: the policy's choice */
  consort_group_id group;         /* null: inside a task, the task's own group; else the runtime's default group */
  /* -- all below are rare: a size that ends here (CONSORT_TASK_BRIEF) is fine -- */
  const consort_task_id *after;   /* explicit predecessors, also fine when already done */
  uint32_t nafter, reserved;
  consort_done_fn *done;          /* on the thread that completed it; may submit, must not wait */
  void *done_arg;
  const char *name;               /* of this task; copied; NULL: the codelet's */
  uint64_t footprint, work;       /* size class (0: from the data), the codelet's own measure of work */
  const struct consort_task_more *more; /* order.h: tags, hooks, ends that are held, bundles; NULL */
} consort_task_desc;
#define CONSORT_TASK_BRIEF ((uint32_t)offsetof(consort_task_desc, after))
#define CONSORT_TASK_INIT {sizeof(consort_task_desc), 0, {0}, NULL, NULL, 0, 0, 0, CONSORT_NONE, {0}, NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}

/* Asynchronous. out may be NULL. The order of submissions of one thread is the program's order; a task's
 * uses become visible as one step among threads. When the window of pending tasks is full the submitter
 * helps with the work, except inside a task. */
CONSORT_API consort_status consort_submit(consort_runtime *rt, const consort_task_desc *task, consort_task_id *out);

/* The waiting thread runs no task meanwhile. Without it a wait may end late by the length of the task that it is
 * running, and must not be for something that one of the ready tasks waits for outside the runtime. */
enum {
  CONSORT_WAIT_NO_HELP = 1 << 0,
  CONSORT_WAIT_KEEP_FAILURE = 1 << 1 /* the failure that is answered does not count as told: a later wait, or consort_stop(), answers it again */
};
/* The answer is the task's status, and E_TIMEOUT when time ran out. A task that waits inside its body may wait only for what comes
 * after it (its own submissions); a callback may not wait: E_BUSY. */
CONSORT_API consort_status consort_task_wait(consort_runtime *rt, consort_task_id task, int64_t timeout_ns, uint32_t flags);
/* If it has not started it will not: it completes with E_CANCELLED and poisons what it would have written. */
CONSORT_API consort_status consort_task_cancel(consort_runtime *rt, consort_task_id task);
/* OK: done (or long gone); AGAIN: pending or running. */
CONSORT_API consort_status consort_task_state(consort_runtime *rt, consort_task_id task);

/* -- groups: two libraries that share a runtime wait each for its own tasks --------------------------- */

typedef struct consort_group_desc {
  uint32_t size, flags;
  const char *name;                               /* copied */
  void (*done)(void *arg, consort_group_id group); /* each time its last pending task ends; NULL */
  void *done_arg;
} consort_group_desc;
CONSORT_API consort_status consort_group_create(consort_runtime *rt, const consort_group_desc *desc, consort_group_id *out); /* desc NULL: plain */
/* The answer is the first failure since the last wait, which this collects; text by consort_error(), details by consort_group_failure(). */
CONSORT_API consort_status consort_group_wait(consort_runtime *rt, consort_group_id group, int64_t timeout_ns, uint32_t flags); /* null: the default group */
CONSORT_API consort_status consort_group_cancel(consort_runtime *rt, consort_group_id group);  /* those pending; later submissions run */
CONSORT_API consort_status consort_group_destroy(consort_runtime *rt, consort_group_id group); /* E_BUSY while tasks are pending */
/* An eventfd that becomes readable when the group has nothing pending; owned by the group. For event loops. */
CONSORT_API consort_status consort_group_fd(consort_runtime *rt, consort_group_id group, int *fd);
/* Everything of every group. */
CONSORT_API consort_status consort_wait_all(consort_runtime *rt, int64_t timeout_ns, uint32_t flags);

/* What went wrong first in a group and has been collected by its last wait. Strings are good until the thread's next call. */
typedef struct consort_failure {
  uint32_t size;
  consort_status status;
  consort_task_id task;
  const char *task_name, *worker_name, *data_name; /* data_name: the datum it failed on; "" if none */
  const char *text;                                /* own words of the failure */
  const char *chain;                               /* "task 'c' … because task 'b' … because task 'a': text" */
  uint32_t worker, nfailed;                        /* nfailed: how many of the group's tasks failed since the wait before */
} consort_failure;
/* Fills *out with the failure that the group's last wait collected; status OK and empty strings where there was
 * none. */
CONSORT_API consort_status consort_group_failure(consort_runtime *rt, consort_group_id group, consort_failure *out);
/* From inside a codelet: the words that go with the negative status it is about to return. Answers `code`. */
CONSORT_API consort_status consort_fail(consort_status code, const char *utf8);

/* -- looking ------------------------------------------------------------------------------------------ */

typedef struct consort_info {
  uint32_t size, nworkers, nspaces, nclasses;
  const char *scheduler;
  uint64_t submitted, finished;   /* tasks, since the start; exact when nothing runs */
  uint64_t data;                  /* registered now */
} consort_info;
/* Counts of this moment. The caller sets out->size; the string is good until the runtime stops. */
CONSORT_API consort_status consort_get_info(consort_runtime *rt, consort_info *out);
typedef struct consort_worker_info {
  uint32_t size, id;
  const char *name, *klass, *arch;
  uint64_t tasks, busy_ns;        /* busy_ns: 0 unless the setting `profile` is on */
  uint32_t space; int32_t numa;
  int32_t os_cpu;                 /* the first of its cpuset; -1 unbound */
  uint32_t reserved;
} consort_worker_info;
/* A worker, numbered from 0 to consort_info.nworkers. E_INVAL: there is none of that number. */
CONSORT_API consort_status consort_get_worker(consort_runtime *rt, uint32_t worker, consort_worker_info *out);
/* A text that says what a task waits for (null: what the runtime is doing). Returns the length it would need. */
CONSORT_API uint64_t consort_explain(consort_runtime *rt, consort_task_id task, char *utf8, uint64_t cap);

/* With the setting pump = "manual" no thread is started: somebody calls this. One bit of progress of one
 * worker, never blocks. OK: something was done; AGAIN: nothing to do now. Waiting calls pump in a seeded order. */
CONSORT_API consort_status consort_step(consort_runtime *rt, uint32_t worker);

/* Told of each task's start and end while installed, of a task on a device of both when it has ended; fn NULL: off. Before
 * the first submission only. */
typedef struct consort_trace_event { uint64_t t_ns, task, codelet; uint32_t worker, what; const char *name; } consort_trace_event; /* what: 0 start, 1 end; t_ns: 0 unless `profile` */
CONSORT_FROZEN(consort_trace_event, 40);
/* Installs fn, which several threads call at once. E_BUSY: a task was submitted already. */
CONSORT_API consort_status consort_trace(consort_runtime *rt, void (*fn)(void *user, const consort_trace_event *), void *user);

/* -- tools: what there is on this machine ------------------------------------------------------------- */

/* One plugin that was found, used or not. Strings are good until `each` returns. */
typedef struct consort_plugin_row {
  uint32_t size, kind;            /* CONSORT_KIND_*; 0: a file that is none of our plugins, or cannot be read */
  const char *name, *version;
  const char *path;               /* "": linked into the program */
  const char *reason;             /* why it is not used; "" where it is */
  uint16_t host_major, host_minor, abi_major, abi_minor;
  uint32_t flags, sanitizer;      /* as in its note */
  uint32_t usable, nparams;
  const char *summary, *license;  /* these and params: with LIST_LOAD, else "" and none */
  const consort_param *params;
} consort_plugin_row;
enum { CONSORT_LIST_LOAD = 1 << 0 }; /* load those that are usable, for what only their code tells; none is started */
/* In order of kind and name. The answer is an error also where the settings ask for a plugin that is not there. */
CONSORT_API consort_status consort_list_plugins(const consort_settings *settings, uint32_t flags, void (*each)(void *user, const consort_plugin_row *row), void *user);

/* One setting as a runtime would take it, of the kernel or of a plugin that can be loaded ("lws.depth"). */
typedef struct consort_config_row {
  uint32_t size, reserved;
  const char *key, *type, *value, *dflt, *range, *help;
  const char *origin;             /* "default", "code", "environment CONSORT_WINDOW", "file x.toml:3" */
} consort_config_row;
/* The answer is an error also where something is set that no plugin found here knows. */
CONSORT_API consort_status consort_list_config(const consort_settings *settings, void (*each)(void *user, const consort_config_row *row), void *user);

/* Memory spaces of a running runtime, numbered from 0 to consort_info.nspaces. Strings are good until it stops. */
typedef struct consort_space_info {
  uint32_t size, id;
  const char *name, *domain, *driver;
  uint64_t capacity;              /* bytes; 0 unknown */
  uint32_t flags;                 /* CONSORT_SP_* */
  int32_t numa;                   /* -1 unknown */
} consort_space_info;
/* E_INVAL: there is no space of that number. */
CONSORT_API consort_status consort_get_space(consort_runtime *rt, uint32_t space, consort_space_info *out);
/* The direct path between two spaces, with the figures that routes and policies go by. AGAIN: there is none. */
enum { /* consort_link_info.source */
  CONSORT_LINK_TOLD,              /* the driver's word */
  CONSORT_LINK_MEASURED,          /* by this runtime when it started */
  CONSORT_LINK_STORED             /* on this machine, before */
};
typedef struct consort_link_info {
  uint32_t size, flags;           /* CONSORT_LK_* */
  const char *driver;
  uint64_t bytes_per_s;           /* 0 unknown */
  uint32_t latency_ns, engines;
  uint64_t told_bytes_per_s;      /* the driver's word, whatever was measured */
  uint32_t told_latency_ns, source;
} consort_link_info;
/* OK: out describes the path. AGAIN: there is none; data go over other spaces. E_INVAL: a space does not exist. */
CONSORT_API consort_status consort_get_link(consort_runtime *rt, uint32_t from, uint32_t to, consort_link_info *out);

#ifdef __cplusplus
}
#endif

#include "order.h"
#include "partition.h"
#include "replay.h"
#include "formats.h"
#include "teams.h"
#include "contexts.h"
#endif
