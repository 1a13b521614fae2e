// completion_hold.hpp — held completions: tasks whose body has ended, or may end soon, but that have not ended for
// others.
//
// A task is listed here while its completion may be held: from its submission, or from the first hold inside its body,
// until the last hold is released. Found by its name, so a name that is stale or was never held is detected without
// reading its record. Any thread; the locks are leaves.
#pragma once
#include <atomic>
#include <vector>

#include "base/spin.hpp"
#include "graph/task_options.hpp"

namespace consort {

class CompletionHolds {
 public:
  // Called by the thread that owns the task: before it is sent, or in its body. `guarded`: it also waits for other
  // tasks to end.
  void enlist(Task *, uint32_t holds, bool guarded) noexcept;
  // Its body has ended (or it has none). Returns false if another thread will end it later. *leaves, unless nullptr: it
  // waits for other tasks alone. The caller then calls leave_memory().
  bool may_end(Task *, consort_status, uint32_t worker, bool *leaves = nullptr) noexcept;
  Task *left(TaskName) noexcept;                       // not nullptr: nothing else is awaited, the caller ends it

  bool hold(TaskName) noexcept;                        // adds a hold; false: not listed
  // False: it has no hold. *last: the caller must end it now (Callback::end()). *leaves: as in may_end().
  bool release(TaskName, Task **last, Task **leaves) noexcept;
  Task *guard_is_over(TaskName) noexcept;              // the other tasks have ended; not nullptr: the caller ends this one
  uint32_t holds(TaskName) noexcept;                   // for descriptions
  void list_over(std::vector<TaskName> &);             // appends tasks whose body has ended and that have a hold
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
