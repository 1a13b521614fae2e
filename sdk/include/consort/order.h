/* consort/order.h — order that data do not say: tags, ends that are awaited, hooks, tasks that come again, bundles.
 * The application's side, C11; included by consort.h, whose rules hold. A task asks for any of this by
 * consort_task_desc.more; one that does not pays nothing. */
#ifndef CONSORT_ORDER_H
#define CONSORT_ORDER_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- what few tasks have ------------------------------------------------------------------------------ */

typedef struct consort_bundle_id { uint64_t v; } consort_bundle_id;
CONSORT_FROZEN(consort_bundle_id, 8);

/* A function of the application's that is called about one task. drop(arg), where it is not NULL, is called exactly
 * once, when the argument is not needed any more: after the call, or when the task ended without it (`free` will do). */
typedef struct consort_hook { void (*fn)(void *arg, consort_task_id task); void *arg; void (*drop)(void *arg); } consort_hook;
CONSORT_FROZEN(consort_hook, 24);

enum { /* consort_task_more.flags */
  CONSORT_MORE_TAG = 1 << 0        /* `tag` counts */
};
struct consort_task_more {
  uint32_t size, flags;
  uint64_t tag;                    /* with MORE_TAG: this tag is notified when the task ends; the task comes after what the tag was declared to come after */
  const consort_task_id *end_after; /* the task ends, for whoever comes after it, only when these have ended too; fine when they have already */
  uint32_t nend_after;
  uint32_t end_holds;              /* and when consort_task_end_release() was called so often */
  consort_hook ready;              /* the prologue: when its last predecessor has ended, before a policy hears of it. On any thread; may submit, must not wait */
  consort_hook begin;              /* on the worker, just before the body; not for a task that will not run */
  void (*done_drop)(void *arg);    /* of consort_task_desc.done_arg, after `done` */
  consort_bundle_id bundle;        /* null: none */
};
#define CONSORT_TASK_MORE_INIT {sizeof(struct consort_task_more), 0, 0, NULL, 0, 0, {NULL, NULL, NULL}, {NULL, NULL, NULL}, NULL, {0}}
/* Order of calls for one task: ready, begin, body, then (once its end is not held any more) done. Each argument is dropped right
 * after its call; those of calls that will not be made, when the task ends. A failed, cancelled or poisoned task has its `ready` and
 * `done` calls too, but not `begin`; so has an empty one. Of a submission that is refused nothing is called and nothing dropped:
 * the arguments are still the caller's. */

/* One more reason not to end yet, for a task that is not over: from its body, its hooks, or by who holds its end already (a body on
 * a unit with a native queue cannot: give such a task end_holds). Until its
 * end a task keeps its data, its memory of its own and its failure; who waits for it waits, and consort_stop() does too. Whether
 * those in end_after ended well is not this task's affair. */
CONSORT_API consort_status consort_task_end_hold(consort_runtime *rt, consort_task_id task);
CONSORT_API consort_status consort_task_end_release(consort_runtime *rt, consort_task_id task); /* E_INVAL: nothing holds it. Of a task that repeats: the turn's, by its name or that of the first */
/* CONSORT_TASK_REPEAT: no more turns after the one that runs (or waits). From the body, a hook, or any thread; by the name of the
 * first turn or of the present one. A turn that fails or is cancelled is the last one too, and consort_stop() ends all repeating.
 * Hooks are called for every turn, their arguments dropped after the last; `after` and `end_after` are for the first turn only. */
CONSORT_API consort_status consort_task_stop_repeating(consort_runtime *rt, consort_task_id task);
/* The task whose body or callback runs on the calling thread; null: none. */
CONSORT_API consort_task_id consort_current_task(consort_runtime *rt);
/* The worker that the calling thread drives; CONSORT_NONE: none. */
CONSORT_API uint32_t consort_current_worker(consort_runtime *rt);

/* n submissions in order; the first that fails ends it, and *submitted (may be NULL) says how many went before. ids may be NULL. */
CONSORT_API consort_status consort_submit_list(consort_runtime *rt, const consort_task_desc *const *tasks, uint32_t n, consort_task_id *ids, uint32_t *submitted);
/* Until no task is ready or running: those left wait for a tag, a hold, or one another. */
CONSORT_API consort_status consort_wait_no_ready(consort_runtime *rt, int64_t timeout_ns, uint32_t flags);

/* -- tags: names for points in the order, given before the tasks exist ----------------------------------
 * A tag is reached when a task that carries it ends, however it ends; where that task failed, those who come after the tag are
 * poisoned as by consort_task_desc.after, and consort_tag_wait() answers why, until the tag is restarted. One unfinished task at
 * a time carries a tag. What still waits for a tag in consort_stop(), when nothing runs or is held any more, is cancelled. */

/* `tag` (and the task that carries it, if it is not submitted yet) comes after all n others. Cumulative. A cycle
 * is refused with E_INVAL and named, link by link. A tag whose task was submitted already: E_BUSY. */
CONSORT_API consort_status consort_tag_after(consort_runtime *rt, uint64_t tag, const uint64_t *others, uint32_t n);
/* The tag's point is reached, now: by hand, as a task that carries it does by ending. Again: no effect until restart. */
CONSORT_API consort_status consort_tag_notify(consort_runtime *rt, uint64_t tag);
/* Not reached any more: tasks and tags declared from here on wait for the next time. What it comes after stays. E_BUSY: a task that carries it is unfinished. */
CONSORT_API consort_status consort_tag_restart(consort_runtime *rt, uint64_t tag);
/* Forgotten. E_BUSY while a task carries it or something waits for it. */
CONSORT_API consort_status consort_tag_remove(consort_runtime *rt, uint64_t tag);
/* Waits until all n tags are reached. The answer is the failure of a task that reached one of them; E_TIMEOUT when
 * time ran out; E_BUSY inside a callback. */
CONSORT_API consort_status consort_tag_wait(consort_runtime *rt, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags);
CONSORT_API consort_status consort_tag_state(consort_runtime *rt, uint64_t tag); /* OK: reached; AGAIN: not (yet, or never heard of) */

/* -- bundles: tasks that had better run on one worker ---------------------------------------------------- */

/* A hint to policies. Once its first task runs on a worker, those that become ready later are offered there first. */
CONSORT_API consort_status consort_bundle_create(consort_runtime *rt, consort_bundle_id *out);
CONSORT_API consort_status consort_bundle_close(consort_runtime *rt, consort_bundle_id bundle); /* no more tasks; gone when its last one ends */

/* -- data, without waiting ------------------------------------------------------------------------------- */

/* As consort_acquire, but fn(arg, status, hold) is called when the turn comes, on any thread; it must release the
 * hold (or have it released). Fine from callbacks and bodies. status < 0: not granted, no hold. */
typedef void consort_granted_fn(void *arg, consort_status status, const consort_hold *hold);
/* Waits for nothing. < 0: the request was refused, fn is not called, and arg is still the caller's. */
CONSORT_API consort_status consort_acquire_later(consort_runtime *rt, consort_data_id data, uint32_t mode, consort_granted_fn *fn, void *arg);
/* A task that copies the contents of src into dst, which has the same interface and the same sizes. out may be NULL. */
CONSORT_API consort_status consort_data_copy(consort_runtime *rt, consort_data_id dst, consort_data_id src, consort_group_id group, consort_task_id *out);
/* A datum of the same layout and sizes as `like`, without a home. */
CONSORT_API consort_status consort_register_like(consort_runtime *rt, consort_data_id like, const char *name, consort_data_id *out);
/* The datum that was registered at this address; E_INVAL: none. Looks at every datum: for debugging and glue. */
CONSORT_API consort_status consort_find_data(consort_runtime *rt, const void *ptr, consort_data_id *out);

/* -- every worker ------------------------------------------------------------------------------------------ */

/* fn(call) once on each worker of a class (NULL: of all), with call->user = user; waits for all. Not from a body or callback: E_BUSY. */
CONSORT_API consort_status consort_run_on_each(consort_runtime *rt, const char *klass, consort_call_fn *fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
