/* consort/clock.h — the runtime's clock: the system's monotonic clock or, in virtual time, the clock of the simulated machine, which
 * starts at 0 and advances only during waits. */
#ifndef CONSORT_CLOCK_H
#define CONSORT_CLOCK_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Writes the time in ns. Differences are durations on the same clock as a codelet's host->now(). */
CONSORT_API consort_status consort_now(consort_runtime *rt, uint64_t *ns);

#ifdef __cplusplus
}
#endif
#endif
