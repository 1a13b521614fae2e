/* consort/teams.h — units of the host that work on one task together. consort.h includes this; its rules hold.
 *
 * A codelet that says CONSORT_CL_FORKJOIN or CONSORT_CL_SPMD may be run by a team of workers: FORKJOIN calls its function once, on
 * the team's first worker, bound to the cores of all of them, and the function starts as many threads as it likes to use, call->team
 * of them at most; SPMD calls it on each worker, with call->rank from 0 to call->team - 1. The others of the team do nothing else
 * meanwhile. Who chooses the team is the scheduler, if it knows of teams; any other gives such a task to one worker, a
 * team of one. A task may also be bound to a team: consort_task_desc.worker is its id.
 *
 * A function that may be run by a team waits for nothing of the runtime (E_BUSY); it may submit. In SPMD call->barrier(call) waits
 * for all the others of the team; when it does not answer OK one of them has failed or left, and the function returns. */
#ifndef CONSORT_TEAMS_H
#define CONSORT_TEAMS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Ids follow those of the workers: from consort_info.nworkers on. */
typedef struct consort_team_info {
  uint32_t size, id;
  const char *name, *klass;       /* "cpu0-3"; of all of its workers */
  const uint32_t *members;        /* their ids, ascending: a worker's rank is its place here */
  uint32_t nmembers, space;       /* space: the first one's */
} consort_team_info;
/* How many there are: as the hardware is built, and as the settings `teams` and `team_arity` say. */
CONSORT_API consort_status consort_team_count(consort_runtime *rt, uint32_t *n);
/* Strings and members are good until the runtime stops. E_INVAL: no team has that id. */
CONSORT_API consort_status consort_get_team(consort_runtime *rt, uint32_t team, consort_team_info *out);
/* OK: tasks of the codelet may be run by it, a team or a worker (where can_execute() of the codelet does not refuse); AGAIN: they
 * may not, it has no implementation for such units, is not for teams, or for smaller ones. */
CONSORT_API consort_status consort_team_can_run(consort_runtime *rt, uint32_t team, consort_codelet_id codelet);
/* Inside a function that a team runs: the team's id; outside, and in a team of one, NONE. */
static inline uint32_t consort_call_team(const consort_call *call) { return call->size > offsetof(consort_call, team_id) ? call->team_id : CONSORT_NONE; }
/* From inside a function that a team runs: binds the calling thread to the team's cores. For threads that a library keeps from one
 * call to the next: they were bound when they were made, perhaps for another team. AGAIN: the team is not bound. */
CONSORT_API consort_status consort_bind_to_team(const consort_call *call);

#ifdef __cplusplus
}
#endif
#endif
