/* consort/teams.h — teams: host units that work on one task together. consort.h includes this; its rules hold.
 *
 * A team of workers may run a codelet with CONSORT_CL_FORKJOIN or CONSORT_CL_SPMD. FORKJOIN calls its function once, on the team's
 * first worker, bound to the cores of all members; the function may start up to call->team threads. SPMD calls the function on each
 * worker, with call->rank from 0 to call->team - 1. The team's other workers are idle meanwhile. A scheduler that supports teams chooses
 * the team; any other gives such a task to one worker, a team of one. A task may also be bound to a team: consort_task_desc.worker is
 * the team's id.
 *
 * A function that a team runs must not wait in the runtime (E_BUSY); it may submit. In SPMD call->barrier(call) waits
 * for all members; if it does not return OK, a member has failed or left, and the function must return. */
#ifndef CONSORT_TEAMS_H
#define CONSORT_TEAMS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Ids follow those of the workers, from consort_info.nworkers on. */
typedef struct consort_team_info {
  uint32_t size, id;
  const char *name, *klass;       /* "cpu0-3"; klass: of all its workers */
  const uint32_t *members;        /* ids of its workers, ascending: a worker's rank is its index here */
  uint32_t nmembers, space;       /* space: the first one's */
} consort_team_info;
/* Returns the number of teams, by the hardware's structure and the settings `teams` and `team_arity`. */
CONSORT_API consort_status consort_team_count(consort_runtime *rt, uint32_t *n);
/* Describes a team. Strings and members are valid until the runtime stops. E_INVAL: no such team. */
CONSORT_API consort_status consort_get_team(consort_runtime *rt, uint32_t team, consort_team_info *out);
/* OK: the team or worker may run tasks of the codelet (unless its can_execute() refuses). AGAIN: it may not, because the codelet has no
 * implementation for the class, does not allow teams, or only smaller ones. */
CONSORT_API consort_status consort_team_can_run(consort_runtime *rt, uint32_t team, consort_codelet_id codelet);
/* Inside a function that a team runs: returns the team's id; otherwise, and in a team of one, NONE. */
static inline uint32_t consort_call_team(const consort_call *call) { return call->size > offsetof(consort_call, team_id) ? call->team_id : CONSORT_NONE; }
/* Inside a function that a team runs: binds the calling thread to the team's cores. For threads that a library keeps across calls,
 * which may still be bound for another team. AGAIN: the team is not bound. */
CONSORT_API consort_status consort_bind_to_team(const consort_call *call);

#ifdef __cplusplus
}
#endif
#endif
