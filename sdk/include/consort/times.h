/* consort/times.h — an optional extension of drivers: the run time of a kernel by the description of the machine.
 *
 * For described (simulated) machines: a performance model without measurements may query it.
 * plugin->get(self, CONSORT_TIMES_ID) returns the table, valid as long as the plugin's instance, or NULL. Results come from the
 * description alone, without noise, faults or host overhead: equal queries have equal results. */
#ifndef CONSORT_TIMES_H
#define CONSORT_TIMES_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_TIMES_ID "consort.times/1"

typedef struct consort_times_query {
  const char *codelet;        /* its name; NULL: none */
  uint64_t bytes;             /* sum of the task's data, exact, each datum once; 0 unknown */
  uint64_t footprint, work;   /* as consort_op has them; 0 unknown */
  uint32_t unit, impl;        /* unit: by the device's own numbers (the i of unit()); impl: within the codelet, or CONSORT_NONE */
} consort_times_query;
CONSORT_FROZEN(consort_times_query, 40);

typedef struct consort_times {
  uint32_t size, reserved;
  double (*kernel_ns)(void *dev, const consort_times_query *); /* [any] ns from the launch to the end; NaN: unknown */
  uint64_t (*submit_ns)(void *self);  /* [control] virtual time: cost of each submission for the submitter */
  /* [any] as kernel_ns, for a team of `members` units of the device (CONSORT_UNIT_TEAMS); unit: the first */
  double (*team_ns)(void *dev, const consort_times_query *, uint32_t members);
  uint64_t (*drop_ns)(void *self);    /* [control] virtual time: cost of a task of another rank for the submitter */
} consort_times;

#ifdef __cplusplus
}
#endif
#endif
