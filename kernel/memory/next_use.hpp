// next_use.hpp — which tasks will use a datum: those that were submitted and have not run, in the order of submission.
//
// An estimate, for whoever chooses what has to leave a memory: tasks may run in another order, or elsewhere. Submitters
// note a task's uses, of codelets that may run where memory is counted; the rest belongs to Memory's mutex. Nothing is
// sorted by datum before somebody asks. What was noted of tasks that have ended goes by itself, so it never takes more
// than twice the room of what is to come. Never touches a datum: it may be gone, and its slot another's.
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
  // [any] Before it can run. Without memory it is not foreseen, which costs bytes on a link, nothing else.
  void note(const Task &) noexcept;

  void refresh() noexcept;                                // takes in what was noted; asked before the rest
  void used(const Datum &, TaskName) noexcept;            // that task is done with it, though its name may live
  struct Next {
    uint64_t place = kNever;                              // in the order of submission, of the next task that reads it
    bool rewritten = false;                               // by the next task that uses it
  };
  Next next(const Datum &) noexcept;
  void forget(const Datum &) noexcept;
  size_t size() const noexcept { return ahead_uses_; }    // uses taken in and not dropped again

 private:
  struct Use {
    uint64_t place;
    TaskName task;                                        // 0: over
    const Datum *datum;
    uint32_t mode;
  };
  struct Uses {
    std::vector<Use> all;
    size_t first = 0;                                     // those before it are over
  };
  bool is_over(const Use &u) const noexcept {
    return !u.task || !is_live(*tasks_.at(static_cast<uint32_t>(u.task)), u.task);
  }
  static constexpr size_t kFew = 4096;

  const TaskArena &tasks_;
  std::mutex mutex_;                                      // guards the three; leaf
  std::vector<Use> noted_;
  uint64_t places_ = 0;
  size_t sweep_at_ = kFew;
  std::vector<Use> taken_;                                // noted_, on its way into ahead_
  std::unordered_map<const Datum *, Uses> ahead_;
  size_t ahead_uses_ = 0, ahead_sweep_at_ = kFew;
};

}  // namespace consort
