/* consort/order.h — dependencies beyond data: tags, held completions, hooks, repeated tasks, bundles.
 * The application's side, C11; included by consort.h, whose rules hold. A task requests these features by
 * consort_task_desc.more; other tasks pay nothing. */
#ifndef CONSORT_ORDER_H
#define CONSORT_ORDER_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- rare features of tasks --------------------------------------------------------------------------- */

typedef struct consort_bundle_id { uint64_t v; } consort_bundle_id;
CONSORT_FROZEN(consort_bundle_id, 8);

/* A callback of the application for one task. drop(arg), if not NULL, is called exactly once, when the argument is no longer
 * needed: after the call, or at the task's end if there was no call (`free` is suitable). */
typedef struct consort_hook { void (*fn)(void *arg, consort_task_id task); void *arg; void (*drop)(void *arg); } consort_hook;
CONSORT_FROZEN(consort_hook, 24);

enum { /* consort_task_more.flags */
  CONSORT_MORE_TAG = 1 << 0        /* `tag` is valid */
};
struct consort_task_more {
  uint32_t size, flags;
  uint64_t tag;                    /* with MORE_TAG: the task's end notifies this tag; the task depends on the tag's declared predecessors */
  const consort_task_id *end_after; /* the task completes only after these tasks; finished ones are allowed */
  uint32_t nend_after;
  uint32_t end_holds;              /* and after this many calls of consort_task_end_release() */
  consort_hook ready;              /* prologue: called when its last predecessor has ended, before the policy gets it. On any thread; may submit, must not wait */
  consort_hook begin;              /* called on the worker, just before the body; not for a task that does not run */
  void (*done_drop)(void *arg);    /* drops consort_task_desc.done_arg, after `done` */
  consort_bundle_id bundle;        /* null: none */
};
#define CONSORT_TASK_MORE_INIT {sizeof(struct consort_task_more), 0, 0, NULL, 0, 0, {NULL, NULL, NULL}, {NULL, NULL, NULL}, NULL, {0}}
/* Order of calls for one task: ready, begin, body, then, once its completion is not held any more, done. Each argument is dropped right
 * after its call; arguments of omitted calls are dropped when the task ends. A failed, cancelled or poisoned task gets its `ready` and
 * `done` calls but not `begin`; the same holds for an empty task. If a submission is refused, nothing is called or dropped:
 * the arguments still belong to the caller. */

/* Adds one hold of the completion of an unfinished task: from its body, its hooks, or while its completion is held already (not from a
 * body on a unit with a native queue: use end_holds there). Until it completes, a task keeps its data, its private memory and its
 * failure, and waits for it and consort_stop() wait. Failures of tasks in end_after do not fail it. The room of its data stays taken,
 * so the release must not depend on a task that waits for this room: name such a task in end_after, where the room is free again */
CONSORT_API consort_status consort_task_end_hold(consort_runtime *rt, consort_task_id task);
/* Removes one hold. E_INVAL: not held. Repeated tasks: of the current turn, by its or the first turn's handle */
CONSORT_API consort_status consort_task_end_release(consort_runtime *rt, consort_task_id task);
/* CONSORT_TASK_REPEAT: no more turns after the current one. Called from the body, a hook, or any thread, with the handle of the
 * first turn, of the current one, or of the one before it, which may have ended meanwhile. A failed or cancelled turn is the last
 * one too, and consort_stop() ends all repetition. Hooks are called for every turn, their arguments dropped after the last; `after`
 * and `end_after` apply to the first turn only. */
CONSORT_API consort_status consort_task_stop_repeating(consort_runtime *rt, consort_task_id task);
/* Returns the task whose body or callback runs on the calling thread; null: none. */
CONSORT_API consort_task_id consort_current_task(consort_runtime *rt);
/* Returns the worker that the calling thread drives; CONSORT_NONE: none. */
CONSORT_API uint32_t consort_current_worker(consort_runtime *rt);

/* Submits n tasks in order and stops at the first error; *submitted (may be NULL) counts the submitted ones. ids may be NULL. */
CONSORT_API consort_status consort_submit_list(consort_runtime *rt, const consort_task_desc *const *tasks, uint32_t n, consort_task_id *ids, uint32_t *submitted);
/* Waits until no task is ready or running; remaining tasks wait for a tag, a hold, or one another. */
CONSORT_API consort_status consort_wait_no_ready(consort_runtime *rt, int64_t timeout_ns, uint32_t flags);

/* -- tags: named events, usable before their tasks exist -------------------------------------------------
 * A tag is reached when its task ends, with or without success. If that task failed, successors of the tag are poisoned as by
 * consort_task_desc.after, and consort_tag_wait() returns the failure, until the tag is restarted. At most one unfinished task at
 * a time carries a tag. consort_stop() cancels tasks that wait for a tag when no task runs and no completion is held any more. */

/* Orders `tag` (and its task, if not submitted yet) after all n others. Cumulative. E_INVAL: the order would have a cycle; the
 * error text lists its links. E_BUSY: the tag's task is already submitted. */
CONSORT_API consort_status consort_tag_after(consort_runtime *rt, uint64_t tag, const uint64_t *others, uint32_t n);
/* Marks the tag as reached, as the end of its task does. Repeated calls have no effect until a restart. */
CONSORT_API consort_status consort_tag_notify(consort_runtime *rt, uint64_t tag);
/* Marks the tag as not reached: tasks and tags declared from now on wait for the next time. Its declared predecessors stay. E_BUSY: its task is unfinished. */
CONSORT_API consort_status consort_tag_restart(consort_runtime *rt, uint64_t tag);
/* Removes the tag. E_BUSY while a task carries it or waits for it. */
CONSORT_API consort_status consort_tag_remove(consort_runtime *rt, uint64_t tag);
/* Waits until each of the n tags is reached, or was reached since the call began: a restart meanwhile does not undo that.
 * Returns the failure of a task that reached one of them; E_TIMEOUT at the timeout; E_BUSY inside a callback. */
CONSORT_API consort_status consort_tag_wait(consort_runtime *rt, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags);
CONSORT_API consort_status consort_tag_state(consort_runtime *rt, uint64_t tag); /* OK: reached; AGAIN: not reached, or unknown */

/* -- bundles: tasks that should run on one worker -------------------------------------------------------- */

/* A hint to policies. Once its first task runs on a worker, tasks of the bundle that become ready later are offered there first. */
CONSORT_API consort_status consort_bundle_create(consort_runtime *rt, consort_bundle_id *out);
CONSORT_API consort_status consort_bundle_close(consort_runtime *rt, consort_bundle_id bundle); /* ends submission into it; it is destroyed when its last task ends */

/* -- asynchronous access to data ------------------------------------------------------------------------- */

/* Callback of consort_acquire_later(), called on any thread when the access is granted. The hold must be released, by the callback or
 * later. Allowed in callbacks and bodies. status < 0: not granted, no hold. */
typedef void consort_granted_fn(void *arg, consort_status status, const consort_hold *hold);
/* As consort_acquire(), without waiting. < 0: the request is refused, fn is not called, and arg still belongs to the caller. */
CONSORT_API consort_status consort_acquire_later(consort_runtime *rt, consort_data_id data, uint32_t mode, consort_granted_fn *fn, void *arg);
/* Submits a task that copies the contents of src into dst, which has the same interface and the same sizes. out may be NULL. */
CONSORT_API consort_status consort_data_copy(consort_runtime *rt, consort_data_id dst, consort_data_id src, consort_group_id group, consort_task_id *out);
/* Registers a datum of the same layout and sizes as `like`, without a home. */
CONSORT_API consort_status consort_register_like(consort_runtime *rt, consort_data_id like, const char *name, consort_data_id *out);
/* Returns the datum that was registered at this address; E_INVAL: none. Searches all data: for debugging and glue code. */
CONSORT_API consort_status consort_find_data(consort_runtime *rt, const void *ptr, consort_data_id *out);

/* -- every worker ------------------------------------------------------------------------------------------ */

/* Calls fn(call) once on each worker of a class (NULL: all), with call->user = user; waits for all. E_BUSY: in a body or callback. */
CONSORT_API consort_status consort_run_on_each(consort_runtime *rt, const char *klass, consort_call_fn *fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
