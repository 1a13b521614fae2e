// table.cpp — the ring as a plugin, its table filled in by hand.
#include "ring.hpp"

namespace {
using crossing::Ring;

consort_status create(void *, const consort_host *, const consort_topology *, uint64_t epoch, void **s) {
  auto *r = new Ring;
  r->epoch = epoch;
  *s = r;
  return CONSORT_OK;
}
void destroy(void *s) { delete static_cast<Ring *>(s); }
consort_status workers(void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *, uint32_t) { return CONSORT_OK; }
uint32_t push(void *s, const consort_push *p) { return static_cast<Ring *>(s)->push(*p); }
uint32_t pop(void *s, uint32_t, consort_pick *out, uint32_t max) { return static_cast<Ring *>(s)->pop(out, max); }
uint32_t drain(void *s, uint64_t epoch, consort_task **, uint32_t) {
  static_cast<Ring *>(s)->epoch = epoch;
  return 0;
}
consort_status quiesce(void *, uint64_t) { return CONSORT_OK; }

constexpr consort_scheduler_ops ops = {.size = sizeof ops, .flags = CONSORT_SF_NO_BYPASS, .create = create, .destroy = destroy,
                                       .workers = workers, .push = push, .pop = pop, .drain = drain, .quiesce = quiesce,
                                       .submitted = nullptr, .adopt = nullptr, .dropped = nullptr, .started = nullptr,
                                       .finished = nullptr, .flush = nullptr, .urgency = nullptr, .victim = nullptr,
                                       .next_event = nullptr, .direct = nullptr, .directed = nullptr};
constexpr consort_plugin plugin = {.size = sizeof plugin, .kind = CONSORT_KIND_SCHEDULER, .abi_major = CONSORT_SCHEDULER_MAJOR,
                                   .abi_minor = CONSORT_SCHEDULER_MINOR, .flags = 0, .name = "crossing_table", .version = "1.0.0",
                                   .summary = "a table by hand", .license = "Apache-2.0", .params = nullptr, .nparams = 0,
                                   .reserved = 0, .ops = &ops, .init = nullptr, .quiesce = nullptr, .fini = nullptr, .get = nullptr};
}  // namespace

CONSORT_MODULE(crossing_table, SCHEDULER, 0, "crossing_table", "1.0.0", plugin);
