// next_use.hpp — the future uses of each datum: by tasks that were submitted and have not run, in the order of
// submission.
//
// An estimate for eviction: tasks may run in another order, or elsewhere. Submitters note the uses of tasks that may
// run where memory is counted; the rest is under Memory's mutex. Uses are sorted by datum only when a question is
// asked. Uses of ended tasks are dropped automatically, so the size is at most twice that of the future uses. It never
// accesses a datum: that may be gone, and its slot reused.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "task/task_arena.hpp"

namespace consort {

class NextUse {
 public:
  static constexpr uint64_t kNever = (uint64_t{1} << 62) - 1;

  explicit NextUse(const TaskArena &tasks) noexcept : tasks_(tasks) {}
  // [any] Notes a task's uses before it can run. Without memory they are lost, which only costs bytes on a link.
  void note(const Task &) noexcept;

  void refresh() noexcept;                                // takes in the noted uses; called before the functions below
  void used(const Datum &, TaskName) noexcept;            // the task's use has ended, although its name may live
  struct Next {
    uint64_t place = kNever;  // position, in the order of submission, of the next task that reads it
    bool rewritten = false;                               // the next task that uses it overwrites it
  };
  Next next(const Datum &) noexcept;
  void forget(const Datum &) noexcept;
  size_t size() const noexcept { return ahead_uses_; }    // number of uses taken in and not dropped

 private:
  struct Use {
    uint64_t place;
    TaskName task;                                        // 0: ended
    const Datum *datum;
    uint32_t mode;
  };
  struct Uses {
    std::vector<Use> all;
    size_t first = 0;                                     // the uses before it have ended
  };
  bool is_over(const Use &u) const noexcept {
    return !u.task || !is_live(*tasks_.at(static_cast<uint32_t>(u.task)), u.task);
  }
  static constexpr size_t kFew = 4096;

  const TaskArena &tasks_;
  std::mutex mutex_;                                      // guards the three below; leaf
  std::vector<Use> noted_;
  uint64_t places_ = 0;
  size_t sweep_at_ = kFew;
  std::vector<Use> taken_;                                // noted_, on its way into ahead_
  std::unordered_map<const Datum *, Uses> ahead_;
  size_t ahead_uses_ = 0, ahead_sweep_at_ = kFew;
};

}  // namespace consort
