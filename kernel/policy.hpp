// policy.hpp — the scheduler plugin's instance, and waking the workers that its pushes may have fed.
//
// The policy decides where ready tasks wait; the kernel decides who sleeps. A worker that is about to sleep
// first shows itself in `sleepers`, then looks once more; a push first hands over, then looks at `sleepers`:
// with the asymmetric fence between, one of the two sees the other. Owned by the runtime.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "result.hpp"
#include "task.hpp"

namespace consort {

struct Plugin;
struct Runtime;
struct Hand;

class Policy {
 public:
  Result<void> open(Runtime &, Plugin &);
  void close() noexcept;

  // from: a worker that this thread drives, or CONSORT_NONE. Wakes whom it takes.
  void push(Runtime &, uint32_t from, Task *const *ready, uint32_t n, uint32_t flags) noexcept;
  inline void push_one(Runtime &, Hand &, uint32_t from, Task *) noexcept;  // policy_push.hpp
  uint32_t pop(uint32_t worker, consort_pick *out) noexcept { return ops_->pop(instance_, worker, out, 1); }
  bool may_bypass(uint32_t worker, int32_t priority) const noexcept {
    const int32_t *urgency = urgency_[worker];
    return bypass_ && (!urgency || priority >= __atomic_load_n(urgency, __ATOMIC_RELAXED));
  }
  void flush() noexcept { if (ops_->flush) ops_->flush(instance_); }
  const std::string &name() const noexcept { return name_; }

 private:
  const consort_scheduler_ops *ops_ = nullptr;
  void *instance_ = nullptr;
  uint64_t epoch_ = 1;
  bool bypass_ = true;
  std::vector<const int32_t *> urgency_;
  std::string name_;
};

// consort.sched/1, the services for policies.
const consort_sched_host *sched_services() noexcept;

}  // namespace consort
