// lws.cpp — locality work stealing.
//
// Tasks released by a worker's task wait in that worker's deque and are taken newest first, so that they
// run where their data are; other tasks wait in a ring per unit class, oldest first. A worker without work
// takes from the ring, then steals the oldest task of a neighbour, near ones first. Tasks with a priority wait in
// levels under a lock of their own: those above 0 precede all others, those below 0 follow them.
//
// push and pop of priority 0 take no lock and make no system call. Any thread pushes; the thread that owns
// the worker pops. The rest is [control] and may block. The policy knows nothing of a task's function.
#include "lws.hpp"

#include "../table.hpp"

#include <memory>
#include <new>

namespace lws {
namespace {

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return consort::plugin::caught(host, "lws: out of memory for the workers' queues; lower lws.depth");
  }
}

Instance &self(void *s) noexcept { return *static_cast<Instance *>(s); }

consort_status create(void *plugin, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                      void **out) noexcept {
  return guarded(host, [&] {
    auto instance = std::make_unique<Instance>(*static_cast<const Settings *>(plugin), host, *topology, epoch);
    *out = instance.release();
    return CONSORT_OK;
  });
}

void destroy(void *s) noexcept { delete &self(s); }

consort_status workers(void *s, const consort_topology *topology, const uint32_t *add, uint32_t na, const uint32_t *del,
                       uint32_t nd) noexcept {
  return guarded(self(s).host(), [&] { return self(s).workers(*topology, add, na, del, nd); });
}

uint32_t push(void *s, const consort_push *p) noexcept { return self(s).push(*p); }
uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  return self(s).pop(worker, out, max);
}
uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  return self(s).drain(epoch, out, max);
}
consort_status quiesce(void *s, uint64_t deadline) noexcept { return self(s).quiesce(deadline); }
const int32_t *urgency(void *s, uint32_t worker) noexcept { return self(s).urgency(worker); }

consort_status init(const consort_host *host, void **out) noexcept {
  auto *s = new (std::nothrow) Settings;
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "lws: out of memory");
  const uint64_t depth = policies::number_param(host, "depth", 8192);
  s->depth = 64;
  while (s->depth < depth && s->depth < (1u << 20)) s->depth *= 2;
  s->patience = static_cast<uint32_t>(policies::number_param(host, "patience", 16));
  s->seed = policies::number_param(host, "seed", 1);
  *out = s;
  return CONSORT_OK;
}

constexpr consort_param params[] = {
    {"depth", "u32", "8192", "64..1048576",
     "capacity of a worker's deque and of a class's ring; further tasks wait in a list"},
    {"patience", "u32", "16", "0..1000000",
     "looks round (about 60 ns each) before a worker's only queued task is stolen"},
    {"seed", "u64", "1", nullptr, "of the order in which victims are asked"},
};

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops), .flags = CONSORT_SF_ANY_ORDER,
    .create = create, .destroy = destroy, .workers = workers, .push = push, .pop = pop, .drain = drain,
    .quiesce = quiesce, .submitted = nullptr, .adopt = nullptr, .dropped = nullptr, .started = nullptr,
    .finished = nullptr, .flush = nullptr, .urgency = urgency, .victim = nullptr, .next_event = nullptr,
    .direct = nullptr, .directed = nullptr,
};

constexpr consort_plugin plugin =
    policies::record("lws", "locality work stealing: a deque per worker, near victims first",
                     ops, init, policies::fini_settings<Settings>, params);

}  // namespace
}  // namespace lws

CONSORT_MODULE(lws, SCHEDULER, POLICY_FLAGS, "lws", "0.1.0", lws::plugin);
