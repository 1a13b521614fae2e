/* consort/clock.h — the time that a runtime goes by: the system's monotonic clock or, in virtual time, that of the
 * simulated machine, which begins at 0 and goes on only while somebody waits. */
#ifndef CONSORT_CLOCK_H
#define CONSORT_CLOCK_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ns. The difference of two answers is how long something took, in the same time as a codelet's host->now(). */
CONSORT_API consort_status consort_now(consort_runtime *rt, uint64_t *ns);

#ifdef __cplusplus
}
#endif
#endif
