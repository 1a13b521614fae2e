#include "graph/submission_right.hpp"

#include <sched.h>

#include <algorithm>

namespace consort {

void SubmissionRight::enter(TaskGraph &rt, Claim *claims, uint32_t n) noexcept {
  ThreadState &thread = thread_;
  claims_ = claims;
  for (;;) {
    uint32_t bias = rt.bias.load(std::memory_order_acquire);
    if (bias == thread.id) return;
    if (bias == TaskGraph::kEverybody) break;
    thread.busy.store(0, std::memory_order_release);
    if (bias == TaskGraph::kNobody) {
      rt.bias.compare_exchange_strong(bias, thread.id, std::memory_order_acq_rel);
    } else if (bias == TaskGraph::kRevoking) {
      sched_yield();
    } else if (rt.bias.compare_exchange_strong(bias, TaskGraph::kRevoking, std::memory_order_acq_rel)) {
      fence::heavy();
      const ThreadState &owner = *rt.threads.at(bias);
      // acquire pairs with the release in the destructor: the chains as the owner left them
      for (Backoff wait; owner.busy.load(std::memory_order_acquire);) wait.once();
      rt.bias.store(TaskGraph::kEverybody, std::memory_order_release);
    }
    thread.busy.store(1, std::memory_order_relaxed);
    fence::light(rt.asymmetric);
  }
  // Several data may share one lock: they stand together then, and the first of them stands for all.
  // Looked up once: a handle may be stale, and its slot be another datum's by now. That is found out under the lock.
  for (uint32_t i = 0; i < n; ++i) claims[i].lock = &lock_of(*claims[i].datum);
  if (n > 1) std::sort(claims, claims + n, [](const Claim &a, const Claim &b) { return a.lock < b.lock; });
  for (; locked_ < n; ++locked_)
    if (!locked_ || claims[locked_].lock != claims[locked_ - 1].lock) claims[locked_].lock->lock();
}

void SubmissionRight::unlock() noexcept {
  for (; locked_; --locked_)
    if (locked_ == 1 || claims_[locked_ - 1].lock != claims_[locked_ - 2].lock) claims_[locked_ - 1].lock->unlock();
}

}  // namespace consort
