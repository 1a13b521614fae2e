/* consort/submitters.h — several submitting threads in virtual time that make one run: they take turns in a fixed order.
 *
 * In virtual time one thread steps the machine, and the order of the submissions of several threads is theirs. Submitters
 * that are registered run one at a time instead: each goes on until it waits for the runtime or leaves, then the next in
 * the order of their numbers that can go on has its turn. The clock goes on only while all of them wait. Two runs are
 * equal then, if each thread does the same.
 *
 * A registered thread must not wait for another one by other means (a join, a mutex, a condition variable): that one may
 * need the turn. It leaves before. With time = "real" both functions do nothing and answer OK. */
#ifndef CONSORT_SUBMITTERS_H
#define CONSORT_SUBMITTERS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_MOST_SUBMITTERS 64

/* [blocks] Registers the calling thread as number `number` of `count` (at most 64) and waits for its turn: until all `count` have
 * entered, and those before it wait or have left. E_INVAL: a number that is taken or too large, another `count` than that of the
 * others; E_BUSY: inside a task or a callback, or registered already. */
CONSORT_API consort_status consort_submitter_enter(consort_runtime *, uint32_t number, uint32_t count);
/* The calling thread goes on without turns; the next one has its turn. When all have left, others may enter. E_INVAL: it is
 * not registered. */
CONSORT_API consort_status consort_submitter_leave(consort_runtime *);

#ifdef __cplusplus
}
#endif
#endif
