/* consort/times.h — an optional extension of drivers: how long a kernel takes by what the machine's description says.
 *
 * For machines that are described rather than measured (simulated ones): a performance model that has no measurement
 * of its own may ask here. Got by plugin->get(self, CONSORT_TIMES_ID): a table that lives as long as the plugin's
 * instance, or NULL. Answers are the description's own, without noise, faults or what the host adds: two equal
 * questions have equal answers. */
#ifndef CONSORT_TIMES_H
#define CONSORT_TIMES_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_TIMES_ID "consort.times/1"

typedef struct consort_times_query {
  const char *codelet;        /* its name; NULL: has none */
  uint64_t bytes;             /* sum of the task's data, exact, each datum once; 0 unknown */
  uint64_t footprint, work;   /* as consort_op has them; 0 unknown */
  uint32_t unit, impl;        /* unit: by the device's own numbers (the i of unit()); impl: within the codelet, or CONSORT_NONE */
} consort_times_query;
CONSORT_FROZEN(consort_times_query, 40);

typedef struct consort_times {
  uint32_t size, reserved;
  double (*kernel_ns)(void *dev, const consort_times_query *); /* [any] ns from the launch to the end; NaN: unknown */
  uint64_t (*submit_ns)(void *self);  /* [control] virtual time: what each submission costs who submits */
  /* [any] the same as kernel_ns for a team of so many of the device's units (CONSORT_UNIT_TEAMS); unit: the first */
  double (*team_ns)(void *dev, const consort_times_query *, uint32_t members);
} consort_times;

#ifdef __cplusplus
}
#endif
#endif
