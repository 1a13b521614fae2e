// fifo_policy.hpp — a first-come, first-served policy that tests extend: its state, the functions of its table, and
// settings that link it into a runtime.
//
// A test derives its state from Fifo, takes the table of fifo_policy(), and replaces the functions that it observes.
// A program has one instance at a time. `mutex` guards the state, for any thread may push.
#pragma once
#include <consort/scheduler.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "api/harness.hpp"
#include "support/policy_plugin.hpp"

namespace consort_test {

struct Fifo {
  std::mutex mutex;
  std::deque<consort_task *> waiting;
  uint64_t epoch = 0;
  const consort_host *host = nullptr;
  const consort_topology *topology = nullptr;

  // push() under the lock: takes all tasks of the current epoch and wakes every worker. Returns the number of tasks.
  uint32_t accept(const consort_push *p) {
    if (p->epoch != epoch) return 0;
    waiting.insert(waiting.end(), p->ready, p->ready + p->n);
    for (uint32_t w = 0; p->wake && w < topology->nworkers; ++w) consort_wake_worker(p->wake, w);
    return p->n;
  }
  // Hands out tasks of `queue` from its front. Returns their number.
  static uint32_t take(std::deque<consort_task *> &queue, consort_task **out, uint32_t max) {
    uint32_t n = 0;
    for (; n < max && !queue.empty(); queue.pop_front()) out[n++] = queue.front();
    return n;
  }
};

template <auto &kState>
constexpr consort_scheduler_ops fifo_policy() {
  using Lock = std::lock_guard<std::mutex>;
  return {
      .size = sizeof(consort_scheduler_ops),
      .flags = 0,
      .create = [](void *, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                   void **out) -> consort_status {
        const Lock lock(kState.mutex);
        kState.host = host;
        kState.topology = topology;
        kState.epoch = epoch;
        return *out = &kState, CONSORT_OK;
      },
      .destroy = [](void *) {},
      .workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *,
                    uint32_t) -> consort_status { return CONSORT_OK; },
      .push = [](void *, const consort_push *p) -> uint32_t {
        const Lock lock(kState.mutex);
        return kState.accept(p);
      },
      .pop = [](void *, uint32_t worker, consort_pick *out, uint32_t max) -> uint32_t {
        const Lock lock(kState.mutex);
        const auto first = std::find_if(kState.waiting.begin(), kState.waiting.end(), [&](const consort_task *t) {
          return t->where >> kState.topology->workers[worker].klass & 1;
        });
        if (!max || first == kState.waiting.end()) return 0;
        *out = {*first, CONSORT_NONE, CONSORT_NONE};
        kState.waiting.erase(first);
        return 1;
      },
      .drain = [](void *, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
        const Lock lock(kState.mutex);
        kState.epoch = epoch;
        return Fifo::take(kState.waiting, out, max);
      },
      .quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; },
      .submitted = nullptr, .adopt = nullptr, .dropped = nullptr, .started = nullptr, .finished = nullptr,
      .flush = nullptr, .urgency = nullptr, .victim = nullptr, .next_event = nullptr, .direct = nullptr, .directed = nullptr,
  };
}

// Settings of a runtime with one module linked in. Both arguments must outlive them.
inline consort_settings settings_with(const Pairs &pairs, consort_entry_fn *const &module) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.modules = &module;
  s.nmodules = 1;
  return s;
}

}  // namespace consort_test
