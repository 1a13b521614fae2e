/* A scheduler that breaks rules of the layer "checks": takes half of a push, pops too much, calls the host from [any]. */
#include <consort/scheduler.h>

static const consort_host *host;
static consort_status create(void *self, const consort_host *h, const consort_topology *t, uint64_t epoch, void **s) {
  (void)self, (void)t, (void)epoch;
  host = h;
  h->get(h, CONSORT_SCHED_ID); /* rightly */
  *s = &host;
  return CONSORT_OK;
}
static void destroy(void *s) { (void)s; }
static uint32_t push(void *s, const consort_push *p) {
  (void)s;
  host->get(host, CONSORT_SCHED_ID); /* [control], from [any] */
  return p->n / 2;
}
static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  (void)s;
  if (worker == 1) return out[0].task = NULL, 1;
  return max + 1;
}
static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) { return (void)s, (void)epoch, (void)out, max + 7; }
static uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) {
  return (void)s, (void)tasks, (void)held, n + 1;
}
static consort_status quiesce(void *s, uint64_t deadline_ns) { return (void)s, (void)deadline_ns, CONSORT_OK; }

static const consort_scheduler_ops ops = {.size = sizeof ops, .create = create, .destroy = destroy, .push = push, .pop = pop,
                                          .drain = drain, .quiesce = quiesce, .dropped = dropped};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_SCHEDULER,
                                      .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
                                      .name = "wrong_tags", .version = "0.1.0", .ops = &ops};
CONSORT_MODULE(wrong_tags, SCHEDULER, 0, "wrong_tags", "0.1.0", plugin);
