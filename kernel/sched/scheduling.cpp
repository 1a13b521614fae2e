#include "sched/scheduling.hpp"

#include "base/park.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"
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
      // None: a task of its mailbox, or a completion, has woken it just now. It handles that first, and does not count.
      Parker *const p = workers[i * 64 + bit]->sleeping.exchange(nullptr, std::memory_order_acq_rel);
      if (!p) continue;
      p->wake();
      --k;
    }
  }
}

// Of all classes and contexts: those of the task are not known here.
void Scheduling::look_instead_of(Worker &w) noexcept {
  w.owes_look = false;
  Policy::wake_all(*this);
}

void Scheduling::choose_paths() noexcept {
  const std::lock_guard lock(paths_mutex);
  observed.store(profile || trace_fn || bodies_of(run_observer) || traces(traced::kTasks) || policy.observes() || models->in_use(), std::memory_order_relaxed);
  codelets.allow_short_way(!shared_domains && !policy.looks_ahead() && !graph_observer);
  keep_back.store(sleeper_words == 1 && !policy.keeps_order(), std::memory_order_relaxed);
}

}  // namespace consort
