/* A scheduler of no tasks whose calls come back when two threads are inside: pop for any worker, or workers and drain. So a test
 * can be sure that two were there at once. */
#include <consort/scheduler.h>
#include <sched.h>
#include <stdlib.h>

typedef struct { int popping, controlling; } Policy;

static void meet(int *inside) { /* pairs with itself: the thread that counts last releases both */
  for (__atomic_add_fetch(inside, 1, __ATOMIC_SEQ_CST); __atomic_load_n(inside, __ATOMIC_SEQ_CST) < 2;) sched_yield();
}
static consort_status create(void *self, const consort_host *host, const consort_topology *t, uint64_t epoch, void **s) {
  (void)self, (void)t, (void)epoch;
  return (*s = calloc(1, sizeof(Policy))) ? CONSORT_OK : host->fail(host, CONSORT_E_NOMEM, "no memory");
}
static void destroy(void *s) { free(s); }
static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd) {
  (void)t, (void)add, (void)na, (void)del, (void)nd;
  return meet(&((Policy *)s)->controlling), CONSORT_OK;
}
static uint32_t push(void *s, const consort_push *p) { return (void)s, (void)p, 0; }
static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  (void)worker, (void)out, (void)max;
  return meet(&((Policy *)s)->popping), 0;
}
static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  (void)epoch, (void)out, (void)max;
  return meet(&((Policy *)s)->controlling), 0;
}
static consort_status quiesce(void *s, uint64_t deadline_ns) { return (void)s, (void)deadline_ns, CONSORT_OK; }

static const consort_scheduler_ops ops = {
    .size = sizeof ops, .create = create, .destroy = destroy, .workers = workers, .push = push, .pop = pop, .drain = drain, .quiesce = quiesce};
static const consort_plugin plugin = {
    .size = sizeof plugin, .kind = CONSORT_KIND_SCHEDULER, .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .name = "wrong-scheduler", .version = "0.1.0", .ops = &ops};
CONSORT_MODULE(wrong_scheduler, SCHEDULER, 0, "wrong-scheduler", "0.1.0", plugin);
