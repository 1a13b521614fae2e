/* consort/contexts.h — sets of workers with a scheduler of their own. consort.h includes this; its rules hold.
 *
 * Every worker is in exactly one context; at the start that is the runtime's own, the null handle. A context is made of workers of
 * another one, its parent, which has them no more until they are given back: so contexts are nested, and never overlap. A task
 * belongs to the context that is current where it is submitted. It runs on that context's workers alone, and that context's
 * scheduler says where and when. Data, dependencies, groups and waits know nothing of contexts.
 *
 * Workers come and go while tasks run. Who leaves finishes what it has taken (what runs there, is issued to its device, or has its
 * data on the way); what waits is scheduled anew among those who are there now. Tasks that no worker of their context can run wait
 * until one comes, or until the context is destroyed and they are its parent's; consort_explain() says so.
 * A task that is bound to a worker or a team (consort_task_desc.worker) runs there, whatever context it or the worker is in.
 *
 * All calls but consort_context_wait() are fine from bodies and callbacks; from can_execute() of a codelet those that change
 * workers or schedulers are refused (E_BUSY). Without a context nothing of this costs anything; once one was made, each submission
 * goes the long way. Settings of schedulers (`dmdas.beta`) hold for all contexts. Schedulers that name others (`auto`) are for the runtime alone. */
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
  const char *scheduler;          /* NULL: the parent's at present */
  const uint32_t *workers;        /* of the parent; none is fine, they may come later */
  uint32_t nworkers, reserved;
  consort_context_id parent;
} consort_context_desc;
#define CONSORT_CONTEXT_DESC_INIT {sizeof(consort_context_desc), 0, NULL, NULL, NULL, 0, 0, {0}}

/* E_INVAL: a worker does not exist, is named twice, or is not in the parent; E_UNSUPPORTED: that scheduler cannot be a context's. */
CONSORT_API consort_status consort_context_create(consort_runtime *rt, const consort_context_desc *desc, consort_context_id *out);
/* Its workers and what is left of its tasks go to its parent. E_BUSY: there are contexts inside, destroy them first. consort_stop()
 * does this with all there are. */
CONSORT_API consort_status consort_context_destroy(consort_runtime *rt, consort_context_id context);
/* Workers of its parent are its from here on; the other way round: its parent's again. All or, with an error, none. */
CONSORT_API consort_status consort_context_add(consort_runtime *rt, consort_context_id context, const uint32_t *workers, uint32_t n);
/* Workers of the context are its parent's from here on. All or, with an error, none. */
CONSORT_API consort_status consort_context_remove(consort_runtime *rt, consort_context_id context, const uint32_t *workers, uint32_t n);
/* From any context to any other, as one step. */
CONSORT_API consort_status consort_context_move(consort_runtime *rt, consort_context_id from, consort_context_id to, const uint32_t *workers, uint32_t n);
/* Another scheduler, while tasks run. Of the null handle: consort_runtime_set_scheduler(). */
CONSORT_API consort_status consort_context_set_scheduler(consort_runtime *rt, consort_context_id context, const char *name);

/* -- whose tasks are whose ------------------------------------------------------------------------------ */

/* What the calling thread submits from here on belongs to this context, until it leaves: the innermost counts. A body and the
 * callbacks of a task start in that task's context, all else in the runtime's own. Whoever enters leaves; what a body or a callback
 * did not leave, its end does. A replay runs where it is submitted, not where it was recorded. */
CONSORT_API consort_status consort_context_enter(consort_runtime *rt, consort_context_id context);
CONSORT_API consort_status consort_context_leave(consort_runtime *rt); /* E_INVAL: this thread (this body) has entered none */
/* The one that counts just now. */
CONSORT_API consort_status consort_context_current(consort_runtime *rt, consort_context_id *out);

/* Until it has no unfinished task, those of contexts that were destroyed into it too, those of contexts inside it not. The tasks'
 * failures are told where they always are. E_BUSY: from a body or a callback; E_INVAL: the null handle, for which
 * consort_wait_all() is; E_STALE: it was destroyed meanwhile. */
CONSORT_API consort_status consort_context_wait(consort_runtime *rt, consort_context_id context, int64_t timeout_ns, uint32_t flags);

/* -- looking: of a moment ------------------------------------------------------------------------------- */

typedef struct consort_context_info {
  uint32_t size, nworkers;
  const char *name;               /* good until the context is destroyed */
  const char *scheduler;          /* good until the runtime stops */
  consort_context_id parent;      /* of the runtime's own: itself */
  uint64_t unfinished;            /* tasks submitted and not over; a destroyed one's as long as there are any: at least one */
} consort_context_info;
/* Fills *out. E_STALE: the context was destroyed and has no unfinished task. */
CONSORT_API consort_status consort_get_context(consort_runtime *rt, consort_context_id context, consort_context_info *out);
/* Up to max of them, ascending; *n is how many there are. workers may be NULL with max 0. */
CONSORT_API consort_status consort_context_workers(consort_runtime *rt, consort_context_id context, uint32_t *workers, uint32_t max, uint32_t *n);
/* The context that the worker belongs to; the null handle: the runtime's own. E_INVAL: there is no such worker. */
CONSORT_API consort_status consort_context_of_worker(consort_runtime *rt, uint32_t worker, consort_context_id *out);
/* All but the runtime's own; as above. */
CONSORT_API consort_status consort_context_list(consort_runtime *rt, consort_context_id *contexts, uint32_t max, uint32_t *n);

#ifdef __cplusplus
}
#endif
#endif
