/* consort/consort.h — the application's side of Consort, in C11. The C++20 face over it is consort.hpp.
 *
 * Every call returns a consort_status: 0 is success, < 0 an error, > 0 a successful outcome of another kind. consort_error() returns
 * the text of the calling thread's last error. No call aborts the process, throws, or hangs on bad input. Every function may be called
 * from any thread, unless its contract says otherwise.
 *
 * Handles are values that carry a generation: a handle of an object that no longer exists is answered with CONSORT_E_STALE and never
 * crashes. The null handle (v = 0) names no object, unless a contract gives it a meaning.
 * Structs begin with `size` (set it to sizeof, or use the _INIT macro) and grow at their end. Reserved fields and unnamed bits of flags
 * must be 0 in structs that the application fills; other values are refused with CONSORT_E_INVAL. */
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
#define CONSORT_FOREVER (-1) /* timeouts are in ns; a timeout of 0 polls without waiting */

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
  void (*log)(void *user, int32_t level, const char *utf8); /* [any] NULL: logs to stderr. level: 0 error … 3 debug */
  void *log_user;
  consort_entry_fn *const *modules; /* plugins linked into this program (CONSORT_STATIC_PLUGIN): their entries */
  uint32_t nmodules, reserved2;
  /* [control] Called once for each usable plugin file, before any code of the file is loaded. Returns NULL to accept the file, or the
   * reason for refusing it in one line, valid until the next call. Not called for linked-in plugins. NULL: accepts every file. */
  const char *(*admit)(void *user, const char *path);
  void *admit_user;
} consort_settings;
#define CONSORT_SETTINGS_INIT {sizeof(consort_settings), 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}

/* Starts a runtime. settings NULL: defaults. A process may have several runtimes at a time. */
CONSORT_API consort_status consort_start(const consort_settings *settings, consort_runtime **out);
/* Waits for all tasks, copies data to their home memory and destroys the runtime. NULL is allowed. Returns E_BUSY inside a task, a
 * callback or another call. Cancels tasks that wait for a tag (order.h) when no remaining task or hold can reach the tag.
 * Returns the first failure that no earlier call reported; logs further ones; destroys the runtime in that case too. A failure counts
 * as reported by a wait for its task, tag or group, by acquiring or unregistering a datum that it poisoned, or by a completion
 * callback; failures caused by it count as reported with it.
 * Waits until concurrent calls return. Later calls return E_STOPPED, except that calls which end something (a hold, a tag) work until
 * no task is pending (docs/embed.md). */
CONSORT_API consort_status consort_stop(consort_runtime *rt);
/* Returns the text of the calling thread's last error, "" if none. Valid until the thread's next call. */
CONSORT_API const char *consort_error(void);
/* Replaces the scheduling policy while tasks run. Pending tasks move to the new policy; none is lost or run twice. On an error the old
 * policy stays. */
CONSORT_API consort_status consort_runtime_set_scheduler(consort_runtime *rt, const char *name);
/* Returns the version of the loaded library, "0.1.0". CONSORT_VERSION is the version of the header. */
CONSORT_API const char *consort_version(void);
CONSORT_API const char *consort_status_name(consort_status s); /* "E_INVAL" */

/* -- codelets --------------------------------------------------------------------------------------- */

typedef struct consort_impl {
  const char *klass;              /* unit class: "cpu", "cuda", … Several impls may name one class */
  consort_call_fn *fn;            /* host function; NULL: `text` holds the kernel. It may return or throw. Ending its thread (pthread_exit(), thread cancellation) ends the process */
  void *user;                     /* passed to fn as call->user; without fn: a consort_portable, or NULL */
  const char *name;               /* NULL: the codelet's */
  const char *format, *text, *entry; /* portable kernel for load_impl(): "cl", "ptx" …; NULL */
  uint64_t text_bytes;            /* 0: text ends with NUL */
} consort_impl;
CONSORT_FROZEN(consort_impl, 64);
/* Launch of an implementation that is a portable kernel: `grid` blocks of `block` work items each (0 counts as 1; block 1 x 1 x 1 lets
 * the device choose the block size). Without `range` there is one work item per element of datum `over`, in up to three dimensions,
 * fastest first; the third covers all further dimensions. If `block` does not divide the elements, the last blocks exceed them.
 * Kernel arguments: the ones that the layouts supply for the task's data (consort_interface_ops.args; documented in their READMEs), datum
 * by datum, then the task's own values. `args` selects and orders a subset instead. */
typedef struct consort_range { uint64_t grid[3]; uint32_t block[3], shared_bytes; } consort_range;
CONSORT_FROZEN(consort_range, 40);
typedef struct consort_pass { uint32_t datum, part; } consort_pass; /* part: index of the argument that its layout supplies, NONE: all. datum NONE: the task's own value of index `part` */
CONSORT_FROZEN(consort_pass, 8);
typedef struct consort_portable { /* codelet_add() copies it and `args`, but not the targets of `range` and `user` */
  uint32_t size, flags;
  uint32_t block[3], shared_bytes; /* shared_bytes: memory shared by a block; passed as the kernel's last argument if the format has no other way */
  uint32_t over, nargs;
  const consort_pass *args;       /* NULL: all arguments */
  consort_status (*range)(void *user, const consort_call *call, consort_range *io); /* [any] Changes the default launch in io (grid 0: unknown); < 0 fails the task. NULL: default launch */
  void *user;
} consort_portable;
#define CONSORT_PORTABLE_INIT {sizeof(consort_portable), 0, {1, 1, 1}, 0, 0, 0, NULL, NULL, NULL}
/* Returns whether this worker may run this task with implementation `impl` (index in consort_codelet.impls); 0: no. Called on any
 * thread, possibly several times per task and worker, also by schedulers. It must be fast, return the same answer for the same
 * arguments, and call no function of the runtime. A task that no worker can run is refused at submission. For the codelets of a
 * reduction `task` is null: it is called in consort_data_set_reduction() and on the worker. */
typedef int32_t consort_can_execute_fn(void *user, uint32_t worker, uint32_t impl, const consort_task_id task);
typedef struct consort_codelet {
  uint32_t size, flags;
  const char *name;
  const consort_impl *impls;
  uint32_t nimpls;
  uint32_t nmodes;                /* number of data; CONSORT_NONE: any number */
  const uint32_t *modes;          /* access modes, checked at submission; NULL: not checked */
  consort_can_execute_fn *can_execute; /* NULL: every worker whose class has an implementation is eligible */
  void *can_execute_user;
  uint32_t max_team, reserved;    /* with CL_FORKJOIN or CL_SPMD: largest team; 0: any */
} consort_codelet;
#define CONSORT_CODELET_INIT {sizeof(consort_codelet), 0, NULL, NULL, 0, CONSORT_NONE, NULL, NULL, NULL, 0, 0}
enum { /* consort_codelet.flags */
  CONSORT_CL_ASYNC = 1 << 0,      /* on a unit with a native queue the function only enqueues on call->native_queue; dependents
                                     may be issued behind it. Inline units ignore the flag */
  CONSORT_CL_STATS = 1 << 1,      /* counts the codelet's tasks by worker: consort_codelet_stats() */
  CONSORT_CL_FORKJOIN = 1 << 2,   /* a team may run it: one worker calls the function, which may use the cores of all (teams.h) */
  CONSORT_CL_SPMD = 1 << 3        /* a team may run it: each worker calls the function */
};

/* Copies the description; the targets of `fn` and `user` must live until removal. A codelet may have implementations for unit classes
 * that the machine lacks. A task is refused at submission if no implementation of its codelet can run. */
CONSORT_API consort_status consort_codelet_add(consort_runtime *rt, const consort_codelet *desc, consort_codelet_id *out);
/* Waits until no task uses the codelet; afterwards its code may be unloaded. Not allowed inside a task. Returns E_BUSY while it combines
 * unread contributions of a reduction (consort_data_set_reduction): acquire, invalidate or unregister those data first. */
CONSORT_API consort_status consort_codelet_remove(consort_runtime *rt, consort_codelet_id codelet);
/* Writes the number of its tasks that each worker ran to per_worker[n]; n is at least the number of workers. Requires CONSORT_CL_STATS. */
CONSORT_API consort_status consort_codelet_stats(consort_runtime *rt, consort_codelet_id codelet, uint64_t *per_worker, uint32_t n);

/* -- data ------------------------------------------------------------------------------------------- */

typedef struct consort_data_desc {
  uint32_t size, flags;
  const char *interface;          /* "vector" … */
  const void *args;               /* consort_vector_args … */
  uint64_t args_bytes;
  const char *name;               /* for errors and traces; copied; NULL: "vector#12" */
} consort_data_desc;
/* Registers memory of the application, or sizes without memory, as a datum of the layout desc->interface; loads the layout's plugin on
 * first use. The application must not access the memory until consort_unregister() returns, except during a hold
 * (consort_acquire()). Returns E_INVAL if the layout refuses the arguments. */
CONSORT_API consort_status consort_register(consort_runtime *rt, const consort_data_desc *desc, consort_data_id *out);
/* Waits for the tasks that use the datum and copies its contents home; afterwards the memory belongs to the caller again. If the datum
 * is poisoned or the copy failed, returns the first failure that caused it, with the chain of causes as text; the datum is unregistered
 * in that case too. Returns E_BUSY in a completion callback (use consort_unregister_later), E_STALE on a second call. */
CONSORT_API consort_status consort_unregister(consort_runtime *rt, consort_data_id data);
/* As consort_unregister(), with CONSORT_WAIT_* flags. */
CONSORT_API consort_status consort_unregister_wait(consort_runtime *rt, consort_data_id data, uint32_t flags);
/* Invalidates the handle now; the datum ends with its last task. Does not wait. */
CONSORT_API consort_status consort_unregister_later(consort_runtime *rt, consort_data_id data);
/* Drops the contents, in order with the tasks: a read before the next write is an error. Clears poison. */
CONSORT_API consort_status consort_invalidate(consort_runtime *rt, consort_data_id data);

/* Sets the codelets of a reduction: `init` fills one datum (W) with the neutral element, `combine` adds the second (R) to the first
 * (RW). Each task that uses the datum with CONSORT_M_REDUX adds to a private copy. The next reader gets the combination of all copies
 * and of the earlier contents, if any. With CONSORT_M_FIXED_TREE the order of combination does not depend on the workers, so results are
 * bitwise reproducible. Both codelets run on host units. They cannot be removed while contributions are uncombined; later
 * contributions are refused once a codelet is removed. */
CONSORT_API consort_status consort_data_set_reduction(consort_runtime *rt, consort_data_id data, consort_codelet_id init, consort_codelet_id combine);
/* ordered = 0: tasks submitted from now on take no dependencies from this datum; the program orders them otherwise (tags, `after`) or
 * not at all. 1: the default order. Unregistering and acquiring still wait for all of the datum's tasks. */
CONSORT_API consort_status consort_data_set_ordered(consort_runtime *rt, consort_data_id data, int32_t ordered);

/* Access of the application to a datum, ordered like a task: the caller owns the home copy from its turn until release. */
typedef struct consort_hold { consort_task_id id; const void *view; } consort_hold;
CONSORT_FROZEN(consort_hold, 16);
/* mode: R, W or RW. OK: *out holds the access and the view of the home copy, until consort_release(). E_TIMEOUT: earlier tasks were
 * unfinished at the timeout. E_POISONED and other errors: the failure of the task that should have written the contents. E_BUSY: the
 * call would wait for itself (inside a task that uses the datum, or in a callback). */
CONSORT_API consort_status consort_acquire(consort_runtime *rt, consort_data_id data, uint32_t mode, int64_t timeout_ns, consort_hold *out);
/* Ends a hold, on any thread; later tasks on the datum may start. E_STALE: already released. E_INVAL: not a hold of this runtime. */
CONSORT_API consort_status consort_release(consort_runtime *rt, consort_hold hold);

/* consort_register() of n contiguous elements of elem bytes. ptr NULL: no home; memory is allocated where the
 * datum is first written. */
static inline consort_status consort_register_vector(consort_runtime *rt, void *ptr, uint64_t n, uint64_t elem, consort_data_id *out) {
  consort_vector_args a = {ptr, n, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "vector", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* Registers ny lines of nx elements of elem bytes, ld elements from line to line (0: nx). ptr NULL: no home. */
static inline consort_status consort_register_matrix(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t ld, uint64_t elem, consort_data_id *out) {
  consort_matrix_args a = {ptr, nx, ny, ld, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "matrix", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* Registers nz planes of ny lines of nx elements: ldy elements from line to line, ldz from plane to plane (0: packed). ptr
 * NULL: no home. */
static inline consort_status consort_register_block(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t nz, uint64_t ldy, uint64_t ldz,
                                                    uint64_t elem, consort_data_id *out) {
  consort_block_args a = {ptr, nx, ny, nz, ldy, ldz, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "block", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* Registers nt blocks as in consort_register_block(), ldt elements from block to block (0: packed). ptr NULL: no home. */
static inline consort_status consort_register_tensor(consort_runtime *rt, void *ptr, uint64_t nx, uint64_t ny, uint64_t nz, uint64_t nt, uint64_t ldy,
                                                     uint64_t ldz, uint64_t ldt, uint64_t elem, consort_data_id *out) {
  consort_tensor_args a = {ptr, nx, ny, nz, nt, ldy, ldz, ldt, elem};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "tensor", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}
/* Registers an array of n[dims] sizes and step[dims] steps, the fastest dimension first; step NULL: packed. */
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
/* Registers one value of `bytes` bytes. ptr NULL: no home. */
static inline consort_status consort_register_variable(consort_runtime *rt, void *ptr, uint64_t bytes, consort_data_id *out) {
  consort_variable_args a = {ptr, bytes};
  consort_data_desc d = {sizeof(consort_data_desc), 0, "variable", &a, sizeof a, NULL};
  return consort_register(rt, &d, out);
}

/* -- tasks ------------------------------------------------------------------------------------------ */

typedef struct consort_use { consort_data_id data; uint32_t mode, reserved; } consort_use; /* mode: CONSORT_M_* of driver.h */
CONSORT_FROZEN(consort_use, 16);

/* Result of a task, passed to completion callbacks. */
typedef struct consort_outcome { consort_task_id task; consort_status status; uint32_t worker; const char *name; const char *text; } consort_outcome;
CONSORT_FROZEN(consort_outcome, 32);
typedef void consort_done_fn(void *arg, const consort_outcome *outcome);

enum { /* consort_task_desc.flags */
  CONSORT_TASK_UNORDERED = 1 << 0, /* its data add no dependencies in either direction: consort_data_set_ordered(0) for one task */
  CONSORT_TASK_REPEAT = 1 << 1     /* resubmitted after each success, until consort_task_stop_repeating(): each turn is a task of
                                      its own, ordered after tasks that were submitted on its data meanwhile */
};
/* One submission. `codelet` null: an empty task, a synchronisation point. Values in `args` are copied (SCALAR: up to 8 bytes in place;
 * BYTES: `bytes` bytes from the address in `scalar`). To pass by reference, use a SCALAR that holds a pointer; the caller keeps the target
 * alive. The function receives them as call->args. */
typedef struct consort_task_desc {
  uint32_t size, flags;
  consort_codelet_id codelet;
  const consort_use *uses;
  const consort_arg *args;
  uint32_t nuses, nargs;
  int32_t priority;               /* higher first; 0 ordinary */
  uint32_t worker;                /* binds to this worker or team (teams.h); CONSORT_NONE: the policy chooses */
  consort_group_id group;         /* null: inside a task, the task's own group; else the runtime's default group */
  /* -- rarely used: `size` may end here (CONSORT_TASK_BRIEF) -- */
  const consort_task_id *after;   /* explicit predecessors, finished ones allowed */
  uint32_t nafter, reserved;
  consort_done_fn *done;          /* called on the completing thread; may submit, must not wait */
  void *done_arg;
  const char *name;               /* of this task; copied; NULL: the codelet's */
  uint64_t footprint, work;       /* size class (0: from the data), the codelet's own measure of work */
  const struct consort_task_more *more; /* order.h: tags, hooks, ends that are held, bundles; NULL */
} consort_task_desc;
#define CONSORT_TASK_BRIEF ((uint32_t)offsetof(consort_task_desc, after))
#define CONSORT_TASK_INIT {sizeof(consort_task_desc), 0, {0}, NULL, NULL, 0, 0, 0, CONSORT_NONE, {0}, NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}

/* Submits a task; asynchronous. out may be NULL. Submissions of one thread are ordered as in the program. Concurrent submissions are
 * atomic: all uses of a task become visible in one step. When the window of pending tasks is full, the submitter runs tasks, except
 * inside a task. */
CONSORT_API consort_status consort_submit(consort_runtime *rt, const consort_task_desc *task, consort_task_id *out);

/* NO_HELP: the waiting thread runs no tasks. By default it does. Then the wait may return late by the length of one task, and no ready
 * task may block, outside the runtime, on the awaited event or on the waiting thread. */
enum {
  CONSORT_WAIT_NO_HELP = 1 << 0,
  CONSORT_WAIT_KEEP_FAILURE = 1 << 1 /* the returned failure stays unreported: a later wait, or consort_stop(), returns it again */
};
/* Returns the task's status, or E_TIMEOUT at the timeout. Inside a task, only later tasks (its own submissions) may be waited for.
 * Returns E_BUSY in a callback. */
CONSORT_API consort_status consort_task_wait(consort_runtime *rt, consort_task_id task, int64_t timeout_ns, uint32_t flags);
/* Cancels a task that has not started: it completes with E_CANCELLED and poisons its outputs. A running task is not affected. */
CONSORT_API consort_status consort_task_cancel(consort_runtime *rt, consort_task_id task);
/* OK: the task has ended. AGAIN: pending or running. */
CONSORT_API consort_status consort_task_state(consort_runtime *rt, consort_task_id task);

/* -- groups: each library that shares a runtime waits for its own tasks ------------------------------- */

typedef struct consort_group_desc {
  uint32_t size, flags;
  const char *name;                               /* copied */
  void (*done)(void *arg, consort_group_id group); /* called whenever its last pending task ends; may be NULL */
  void *done_arg;
} consort_group_desc;
CONSORT_API consort_status consort_group_create(consort_runtime *rt, const consort_group_desc *desc, consort_group_id *out); /* desc NULL: plain */
/* Waits for all tasks of the group. Returns the first failure since the last wait and marks it collected; consort_error() has its text,
 * consort_group_failure() the details. E_STALE: the group was destroyed meanwhile, when its last task had ended. */
CONSORT_API consort_status consort_group_wait(consort_runtime *rt, consort_group_id group, int64_t timeout_ns, uint32_t flags); /* null: the default group */
CONSORT_API consort_status consort_group_cancel(consort_runtime *rt, consort_group_id group);  /* cancels its pending tasks; later submissions run */
CONSORT_API consort_status consort_group_destroy(consort_runtime *rt, consort_group_id group); /* E_BUSY while tasks are pending */
/* Returns an eventfd that becomes readable when the group has no pending task; owned by the group. For event loops. */
CONSORT_API consort_status consort_group_fd(consort_runtime *rt, consort_group_id group, int *fd);
/* Waits for all tasks of all groups. */
CONSORT_API consort_status consort_wait_all(consort_runtime *rt, int64_t timeout_ns, uint32_t flags);

/* First failure of a group, collected by its last wait. Strings are valid until the thread's next call. */
typedef struct consort_failure {
  uint32_t size;
  consort_status status;
  consort_task_id task;
  const char *task_name, *worker_name, *data_name; /* data_name: the datum that it failed on; "" if none */
  const char *text;                                /* the failure's own text */
  const char *chain;                               /* "task 'c' … because task 'b' … because task 'a': text" */
  uint32_t worker, nfailed;                        /* nfailed: number of the group's tasks that failed since the previous wait */
} consort_failure;
/* Fills *out with the failure that the group's last wait collected. Without one, status is OK and strings are empty. */
CONSORT_API consort_status consort_group_failure(consort_runtime *rt, consort_group_id group, consort_failure *out);
/* Inside a codelet: sets the text for the negative status that the function is about to return. Returns `code`. */
CONSORT_API consort_status consort_fail(consort_status code, const char *utf8);

/* -- inspection --------------------------------------------------------------------------------------- */

typedef struct consort_info {
  uint32_t size, nworkers, nspaces, nclasses;
  const char *scheduler;
  uint64_t submitted, finished;   /* tasks, since the start; exact while no task runs */
  uint64_t data;                  /* currently registered */
} consort_info;
/* Reads current counts. The caller sets out->size; the string is valid until the runtime stops. */
CONSORT_API consort_status consort_get_info(consort_runtime *rt, consort_info *out);
typedef struct consort_worker_info {
  uint32_t size, id;
  const char *name, *klass, *arch;
  uint64_t tasks, busy_ns;        /* busy_ns: 0 unless the setting `profile` is on */
  uint32_t space; int32_t numa;
  int32_t os_cpu;                 /* the first of its cpuset; -1 unbound */
  uint32_t reserved;
} consort_worker_info;
/* Describes a worker, numbered from 0 to consort_info.nworkers - 1. E_INVAL: no such worker. */
CONSORT_API consort_status consort_get_worker(consort_runtime *rt, uint32_t worker, consort_worker_info *out);
/* Writes a text that says what a task waits for (null task: the state of the runtime). Returns the length needed. */
CONSORT_API uint64_t consort_explain(consort_runtime *rt, consort_task_id task, char *utf8, uint64_t cap);

/* With the setting pump = "manual" no thread is started and the application calls this function. Makes one step of progress of one
 * worker; never blocks. OK: progress was made. AGAIN: nothing to do. Waiting calls step the workers in a seeded order. */
CONSORT_API consort_status consort_step(consort_runtime *rt, uint32_t worker);

/* One start or end of a task. For a task on a device both are reported after its end. */
typedef struct consort_trace_event { uint64_t t_ns, task, codelet; uint32_t worker, what; const char *name; } consort_trace_event; /* what: 0 start, 1 end; t_ns: 0 unless `profile` */
CONSORT_FROZEN(consort_trace_event, 40);
/* Installs fn, which may be called on several threads at a time; fn NULL: none. E_BUSY: a task was submitted already. */
CONSORT_API consort_status consort_trace(consort_runtime *rt, void (*fn)(void *user, const consort_trace_event *), void *user);

/* -- tools: inventory of this machine ----------------------------------------------------------------- */

/* One plugin that was found, used or not. Strings are valid until `each` returns. */
typedef struct consort_plugin_row {
  uint32_t size, kind;            /* CONSORT_KIND_*; 0: not a Consort plugin, or unreadable */
  const char *name, *version;
  const char *path;               /* "": linked into the program */
  const char *reason;             /* why it is not used; "" if it is used */
  uint16_t host_major, host_minor, abi_major, abi_minor;
  uint32_t flags, sanitizer;      /* as in its ELF note */
  uint32_t usable, nparams;
  const char *summary, *license;  /* these and params need LIST_LOAD, else "" and none */
  const consort_param *params;
} consort_plugin_row;
enum { CONSORT_LIST_LOAD = 1 << 0 }; /* loads usable plugins to read fields that only their code has; starts none */
/* Calls `each` for every plugin, ordered by kind and name. Also returns an error if the settings name a plugin that does not exist. */
CONSORT_API consort_status consort_list_plugins(const consort_settings *settings, uint32_t flags, void (*each)(void *user, const consort_plugin_row *row), void *user);

/* Effective value of one setting, of the kernel or of a loadable plugin ("lws.depth"). */
typedef struct consort_config_row {
  uint32_t size, reserved;
  const char *key, *type, *value, *dflt, *range, *help;
  const char *origin;             /* "default", "code", "environment CONSORT_WINDOW", "file x.toml:3" */
} consort_config_row;
/* Calls `each` for every setting. Also returns an error if a setting is given that no plugin found here declares. */
CONSORT_API consort_status consort_list_config(const consort_settings *settings, void (*each)(void *user, const consort_config_row *row), void *user);

/* A memory space of a running runtime, numbered from 0 to consort_info.nspaces - 1. Strings are valid until the runtime stops. */
typedef struct consort_space_info {
  uint32_t size, id;
  const char *name, *domain, *driver;
  uint64_t capacity;              /* bytes; 0 unknown */
  uint32_t flags;                 /* CONSORT_SP_* */
  int32_t numa;                   /* -1 unknown */
} consort_space_info;
/* E_INVAL: no such space. */
CONSORT_API consort_status consort_get_space(consort_runtime *rt, uint32_t space, consort_space_info *out);
/* Direct link between two spaces, with the figures that routing and policies use. */
enum { /* consort_link_info.source */
  CONSORT_LINK_TOLD,              /* as the driver declares */
  CONSORT_LINK_MEASURED,          /* measured by this runtime at start */
  CONSORT_LINK_STORED             /* measured on this machine by an earlier run */
};
typedef struct consort_link_info {
  uint32_t size, flags;           /* CONSORT_LK_* */
  const char *driver;
  uint64_t bytes_per_s;           /* 0 unknown */
  uint32_t latency_ns, engines;
  uint64_t told_bytes_per_s;      /* as the driver declares, also if measured */
  uint32_t told_latency_ns, source;
} consort_link_info;
/* OK: *out describes the link. AGAIN: there is none; data take a route over other spaces. E_INVAL: no such space. */
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
