// completion_hold.hpp — held completions: tasks whose body has ended, or may end soon, but that have not ended for
// others.
//
// A task is listed here while its completion may be held: from its submission, or from the first hold inside its body,
// until the last hold is released. Found by its name, so a name that is stale or was never held is detected without
// reading its record. Any thread; the locks are leaves.
#pragma once
#include <atomic>

#include "base/spin.hpp"
#include "graph/task_options.hpp"

namespace consort {

class CompletionHolds {
 public:
  // Called by the thread that owns the task: before it is sent, or in its body. `guarded`: it also waits for other
  // tasks to end.
  void enlist(Task *, uint32_t holds, bool guarded) noexcept;
  // Its body has ended (or it has none). Returns false if another thread will end it later.
  bool may_end(Task *, consort_status, uint32_t worker) noexcept;

  // For use before may_end(): returns whether it would be false only because other tasks have not ended.
  bool waits_for_tasks(Task *) noexcept;

  bool hold(TaskName) noexcept;                        // adds a hold; false: not listed
  // False: it has no hold. *last: the caller must end it now (Callback::end()).
  bool release(TaskName, Task **last) noexcept;
  Task *guard_is_over(TaskName) noexcept;              // the other tasks have ended; not nullptr: the caller ends this one
  uint32_t holds(TaskName) noexcept;                   // for descriptions
  // total number of holds of the application
  uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kBuckets = 64;
  struct alignas(64) Bucket {
    SpinLock lock;
    TaskOptions *first = nullptr;
  };
  Bucket &bucket(TaskName name) noexcept { return buckets_[name % kBuckets]; }
  static TaskOptions *find(Bucket &, TaskName) noexcept;      // precondition: its lock is held
  static Task *unlist_if_free(Bucket &, TaskOptions &) noexcept;

  Bucket buckets_[kBuckets];
  std::atomic<uint64_t> held_{0};                      // relaxed: a statistic; exact under the locks
};

}  // namespace consort
