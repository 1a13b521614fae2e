/* A list, last in, first out. CUT: its table ends with the functions of the first version of the family. */
#include <consort/scheduler.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct policy {
  atomic_flag busy;
  uint64_t epoch;
  consort_task *first;
} policy;

static void enter(policy *p) {
  while (atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire)) {
  }
} /* pairs with leave */
static void leave(policy *p) { atomic_flag_clear_explicit(&p->busy, memory_order_release); }
static consort_status create(void *self, const consort_host *host, const consort_topology *t, uint64_t epoch,
                             void **s) {
  policy *p = calloc(1, sizeof *p);
  (void)self, (void)t;
  if (!p) return host->fail(host, CONSORT_E_NOMEM, "no memory for the policy");
  atomic_flag_clear(&p->busy);
  p->epoch = epoch;
  *s = p;
  return CONSORT_OK;
}
static void destroy(void *s) { free(s); }
static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                              uint32_t nd) {
  (void)s, (void)t, (void)add, (void)na, (void)del, (void)nd;
  return CONSORT_OK;
}
static uint32_t push(void *s, const consort_push *given) {
  policy *p = s;
  enter(p);
  const uint32_t n = given->epoch == p->epoch ? given->n : 0;
  for (uint32_t i = 0; i < n; ++i) {
    given->ready[i]->sched[0] = p->first;
    p->first = given->ready[i];
  }
  leave(p);
  for (uint32_t i = 0; i < n; ++i) given->wake->bits[0] |= UINT64_C(3); /* the test's runtimes have two workers */
  given->wake->k += n;
  return n;
}
static consort_task *take(policy *p) {
  consort_task *t = p->first;
  if (t) p->first = t->sched[0];
  return t;
}
static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  policy *p = s;
  uint32_t n = 0;
  (void)worker;
  enter(p);
  for (; n < max && p->first; ++n) out[n] = (consort_pick){take(p), CONSORT_NONE, CONSORT_NONE};
  leave(p);
  return n;
}
static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  policy *p = s;
  uint32_t n = 0;
  enter(p);
  p->epoch = epoch;
  while (n < max && p->first) out[n++] = take(p);
  leave(p);
  return n;
}
static consort_status quiesce(void *s, uint64_t deadline_ns) { return (void)s, (void)deadline_ns, CONSORT_OK; }
#ifdef LATER
static void later(void *s) { (void)s, abort(); } /* of a newer minor: a host of an older one cannot call it */
#endif

static const consort_scheduler_ops ops = {
#ifdef CUT
    .size = CONSORT_END(consort_scheduler_ops, quiesce),
#else
    .size = sizeof ops,
#endif
    .flags = CONSORT_SF_NO_BYPASS,
    .create = create,
    .destroy = destroy,
    .workers = workers,
    .push = push,
    .pop = pop,
    .drain = drain,
    .quiesce = quiesce,
#ifdef LATER
    .later = later,
#endif
};
#include "end.h"
MAKE(SCHEDULER)
