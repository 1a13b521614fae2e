#include "sched/scheduling.hpp"

#include "base/park.hpp"
#include "task/worker.hpp"

namespace consort {

void Scheduling::wake(const consort_wake &want) noexcept {
  uint32_t k = want.k;
  for (uint32_t i = 0; i < sleeper_words && k; ++i) {
    uint64_t candidates = sleepers[i].load(std::memory_order_relaxed) & want.bits[i];
    for (; candidates && k; candidates &= candidates - 1) {
      const auto bit = static_cast<uint32_t>(__builtin_ctzll(candidates));
      const uint64_t mask = uint64_t{1} << bit;
      if (!(sleepers[i].fetch_and(~mask, std::memory_order_acq_rel) & mask)) continue;  // another thread woke it
      if (Parker *p = workers[i * 64 + bit]->sleeping.exchange(nullptr, std::memory_order_acq_rel)) p->wake();
      --k;
    }
  }
}

void Scheduling::choose_paths() noexcept {
  const std::lock_guard lock(paths_mutex);
  observed.store(profile || trace_fn || run_observer || policy.observes() || models->in_use(), std::memory_order_relaxed);
  codelets.allow_short_way(!shared_domains && !policy.looks_ahead() && !graph_observer);
  keep_back.store(sleeper_words == 1 && !policy.keeps_order(), std::memory_order_relaxed);
}

}  // namespace consort
