// completion_hold.hpp — ends that are held: tasks whose body is over, or may soon be, and that have not ended yet for all others.
//
// A task is listed here while somebody may hold its end: from its submission, or from the first hold inside its body,
// until the last hold is let go. Found by its name, so that a name that is stale or was never held is told apart
// without a look at its record. Any thread; the locks are leaves.
#pragma once
#include <atomic>

#include "base/spin.hpp"
#include "graph/task_options.hpp"

namespace consort {

class CompletionHolds {
 public:
  // By the thread that has the task: before it is sent, or from its body. `guarded`: it also waits for other tasks'
  // ends.
  void enlist(Task *, uint32_t holds, bool guarded) noexcept;
  // Its body is over (or it has none). False: its end is somebody else's to make, later.
  bool may_end(Task *, consort_status, uint32_t worker) noexcept;

  // Before may_end(): would it say false though the application holds nothing, for other tasks' ends alone?
  bool waits_for_tasks(Task *) noexcept;

  bool hold(TaskName) noexcept;                        // once more; false: not listed
  // False: nothing holds it. *last: the caller has to end it now (Callback::end()).
  bool release(TaskName, Task **last) noexcept;
  Task *guard_is_over(TaskName) noexcept;              // the others have ended; not nullptr: so has to do this one
  uint32_t holds(TaskName) noexcept;                   // for those who explain
  uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }  // by the application, in all

 private:
  static constexpr uint32_t kBuckets = 64;
  struct alignas(64) Bucket {
    SpinLock lock;
    TaskOptions *first = nullptr;
  };
  Bucket &bucket(TaskName name) noexcept { return buckets_[name % kBuckets]; }
  static TaskOptions *find(Bucket &, TaskName) noexcept;      // under its lock
  static Task *unlist_if_free(Bucket &, TaskOptions &) noexcept;

  Bucket buckets_[kBuckets];
  std::atomic<uint64_t> held_{0};                      // a statistic: the truth is under the locks
};

}  // namespace consort
