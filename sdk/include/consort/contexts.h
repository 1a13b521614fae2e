/* consort/contexts.h — sets of workers with a scheduler of their own. consort.h includes this; its rules hold.
 *
 * Every worker is in exactly one context; at the start that is the runtime's own, the null handle. A context takes its workers from
 * its parent context, which loses them until they are given back: contexts are nested and never overlap. A task belongs to the
 * context that is current at its submission. Only workers of that context run it, and only that context's scheduler places it. Data,
 * dependencies, groups and waits are independent of contexts.
 *
 * Workers may move while tasks run. A leaving worker finishes its popped tasks (running, issued to its device, or with data in
 * transfer); tasks that it has not popped are rescheduled among the remaining workers. A task that no worker of its context can run
 * waits until such a worker joins, or until the context is destroyed and the task moves to the parent; consort_explain() reports it.
 * A task that is bound to a worker or a team (consort_task_desc.worker) runs there, regardless of contexts.
 *
 * All calls but consort_context_wait() are allowed in bodies and callbacks; calls that change workers or schedulers return E_BUSY in
 * can_execute() of a codelet. Without contexts there is no cost; once a context exists, each submission takes the slow path. Settings of
 * schedulers (`dmdas.beta`) apply to all contexts. Schedulers that select others (`auto`) are for the runtime's own context alone. */
#ifndef CONSORT_CONTEXTS_H
#define CONSORT_CONTEXTS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct consort_context_id { uint64_t v; } consort_context_id; /* null: the runtime's own */
CONSORT_FROZEN(consort_context_id, 8);

typedef struct consort_context_desc {
  uint32_t size, flags;           /* flags: none yet */
  const char *name;               /* for messages; copied. NULL: "context 1" */
  const char *scheduler;          /* NULL: the parent's current one */
  const uint32_t *workers;        /* of the parent; may be none */
  uint32_t nworkers, reserved;
  consort_context_id parent;
} consort_context_desc;
#define CONSORT_CONTEXT_DESC_INIT {sizeof(consort_context_desc), 0, NULL, NULL, NULL, 0, 0, {0}}

/* Creates a context. E_INVAL: a worker does not exist, is named twice, or is not in the parent; E_UNSUPPORTED: the scheduler cannot
 * serve a context. */
CONSORT_API consort_status consort_context_create(consort_runtime *rt, const consort_context_desc *desc, consort_context_id *out);
/* Destroys a context; its workers and unfinished tasks move to its parent. E_BUSY: it has child contexts; destroy them first.
 * consort_stop() destroys all contexts. */
CONSORT_API consort_status consort_context_destroy(consort_runtime *rt, consort_context_id context);
/* Moves workers of the parent to the context. All or, with an error, none. */
CONSORT_API consort_status consort_context_add(consort_runtime *rt, consort_context_id context, const uint32_t *workers, uint32_t n);
/* Moves workers of the context back to its parent. All or, with an error, none. */
CONSORT_API consort_status consort_context_remove(consort_runtime *rt, consort_context_id context, const uint32_t *workers, uint32_t n);
/* Moves workers from any context to any other, in one step. */
CONSORT_API consort_status consort_context_move(consort_runtime *rt, consort_context_id from, consort_context_id to, const uint32_t *workers, uint32_t n);
/* Replaces the context's scheduler while tasks run. For the null handle: consort_runtime_set_scheduler(). */
CONSORT_API consort_status consort_context_set_scheduler(consort_runtime *rt, consort_context_id context, const char *name);

/* -- current context ------------------------------------------------------------------------------------ */

/* Makes this context current: later submissions of the calling thread belong to it, until consort_context_leave(). Calls nest. A body
 * and the callbacks of a task start in that task's context, all other code in the runtime's own. The end of a body or a callback leaves
 * the contexts that it entered. A replay runs in the context that submits it, not in the one that was recorded. */
CONSORT_API consort_status consort_context_enter(consort_runtime *rt, consort_context_id context);
CONSORT_API consort_status consort_context_leave(consort_runtime *rt); /* E_INVAL: this thread (this body) has entered none */
/* Returns the current context. */
CONSORT_API consort_status consort_context_current(consort_runtime *rt, consort_context_id *out);

/* Waits until the context has no unfinished task. This includes tasks of contexts that were destroyed into it, but not those of its
 * child contexts. Failures are reported as usual, not by this call. E_BUSY: in a body or a callback; E_INVAL: the null handle, for which
 * consort_wait_all() exists; E_STALE: the context was destroyed meanwhile. */
CONSORT_API consort_status consort_context_wait(consort_runtime *rt, consort_context_id context, int64_t timeout_ns, uint32_t flags);

/* -- inspection: snapshots ------------------------------------------------------------------------------ */

typedef struct consort_context_info {
  uint32_t size, nworkers;
  const char *name;               /* valid until the context is destroyed */
  const char *scheduler;          /* valid until the runtime stops */
  consort_context_id parent;      /* of the runtime's own: itself */
  uint64_t unfinished;            /* unfinished tasks; a destroyed context stays visible while it has any */
} consort_context_info;
/* Fills *out. E_STALE: the context was destroyed and has no unfinished task. */
CONSORT_API consort_status consort_get_context(consort_runtime *rt, consort_context_id context, consort_context_info *out);
/* Writes up to max worker ids, ascending; *n is their total number. workers may be NULL with max 0. */
CONSORT_API consort_status consort_context_workers(consort_runtime *rt, consort_context_id context, uint32_t *workers, uint32_t max, uint32_t *n);
/* Returns the context of the worker; the null handle: the runtime's own. E_INVAL: no such worker. */
CONSORT_API consort_status consort_context_of_worker(consort_runtime *rt, uint32_t worker, consort_context_id *out);
/* Writes up to max contexts, without the runtime's own; *n is their total number. */
CONSORT_API consort_status consort_context_list(consort_runtime *rt, consort_context_id *contexts, uint32_t max, uint32_t *n);

#ifdef __cplusplus
}
#endif
#endif
