/* A sound scheduler for tests of loading: one list for all workers, last in, first out. */
#include <consort/scheduler.h>
#include <string.h>

#ifndef GOOD_VERSION
#define GOOD_VERSION "1.2.0"
#endif

typedef struct good { const consort_host *host; } good; /* one for each host that loads us */

static consort_status init(const consort_host *host, void **self) {
  const char *depth = host->param(host, "depth");
  if (!depth || host->param(host, "no such key") != NULL || host->get(host, "com.nobody.knows/1") != NULL)
    return host->fail(host, CONSORT_E_INTERNAL, "the host answers wrongly");
  good *me = host->alloc(host, sizeof *me, sizeof(void *));
  if (!me) return host->fail(host, CONSORT_E_NOMEM, "no memory");
  me->host = host;
  host->log(host, 2, depth);
  *self = me;
  return CONSORT_OK;
}
static void fini(void *self) {
  const consort_host *host = ((good *)self)->host;
  host->log(host, 2, "fini");
  host->release(host, self);
}
static const void *get(void *self, const char *id) { return strcmp(id, "com.acme.x/1") == 0 ? self : NULL; }

typedef struct policy { consort_task *first; uint64_t epoch; } policy;
static policy only;
static consort_status create(void *self, const consort_host *host, const consort_topology *t, uint64_t epoch, void **s) {
  (void)self, (void)host, (void)t;
  only.first = NULL;
  only.epoch = epoch;
  *s = &only;
  return CONSORT_OK;
}
static void destroy(void *s) { (void)s; }
static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd) {
  (void)s, (void)t, (void)add, (void)na, (void)del, (void)nd;
  return CONSORT_OK;
}
static uint32_t push(void *s, const consort_push *p) {
  policy *me = s;
  if (p->epoch != me->epoch) return 0;
  for (uint32_t i = 0; i < p->n; ++i) {
    p->ready[i]->sched[0] = me->first;
    me->first = p->ready[i];
  }
  return p->n;
}
static uint32_t take(policy *me, consort_task **out) {
  if (!me->first) return 0;
  *out = me->first;
  me->first = me->first->sched[0];
  return 1;
}
static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  uint32_t n = 0;
  (void)worker;
  for (; n < max && take(s, &out[n].task); ++n) {
    out[n].impl = CONSORT_NONE;
    out[n].team = CONSORT_NONE;
  }
  return n;
}
static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  uint32_t n = 0;
  ((policy *)s)->epoch = epoch;
  while (n < max && take(s, &out[n])) ++n;
  return n;
}
static consort_status quiesce(void *s, uint64_t deadline_ns) { return (void)s, (void)deadline_ns, CONSORT_OK; }

static const consort_scheduler_ops ops = {.size = sizeof ops, .create = create, .destroy = destroy, .workers = workers,
                                          .push = push, .pop = pop, .drain = drain, .quiesce = quiesce};
static const consort_param params[] = {{"depth", "u32", "64", "1..1024", "how deep"},
                                       {"mode", "string", "plain", "plain|fancy", "how"},
                                       {"eager", "bool", "false", NULL, "whether"},
                                       {"ratio", "f64", "0.5", "0..1", "how much"},
                                       {"names", "list", "", NULL, "whose"}};
static const consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_SCHEDULER,
                                      .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
                                      .flags = CONSORT_PF_VIRTUAL, .name = "good", .version = GOOD_VERSION,
                                      .summary = "for tests", .license = "MIT", .params = params,
                                      .nparams = sizeof params / sizeof params[0], .ops = &ops, .init = init, .fini = fini, .get = get};
CONSORT_MODULE(good, SCHEDULER, CONSORT_PF_VIRTUAL, "good", GOOD_VERSION, plugin);
