// repeat.hpp — a task that comes again: what it takes to submit the next turn, kept from the first on.
//
// Owned by the turn that is unfinished, and handed on from one to the next. Found by the name of the first turn or of
// the present one. What the hooks' arguments need dropped is dropped here, after the last turn.
#pragma once
#include <consort/consort.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "task/task.hpp"

namespace consort {

struct RepeatState {
  consort_task_desc desc;                 // points into the copies below
  consort_task_more more;
  std::vector<consort_use> uses;
  std::vector<consort_arg> args;
  std::vector<std::byte> bytes;           // of arguments that are larger than a word
  std::string name;
  TaskName first = 0, now = 0;            // under Repeats' lock
  bool stopped = false;
  RepeatState *next = nullptr, *before = nullptr;
};

class Repeats {
 public:
  // nullptr: no memory. Listed once it is begun.
  static std::unique_ptr<RepeatState> copy(const consort_task_desc &) noexcept;
  void begin(RepeatState &, TaskName, consort_group_id) noexcept;            // a turn is about to be sent
  TaskName turn_of(TaskName) noexcept;                                 // the present one, of a first; else itself
  consort_status stop(TaskName, bool live) noexcept;
  void stop_all() noexcept;
  // A turn has ended: is there to be another one? If not, it is not listed any more.
  bool again(RepeatState &, bool well) noexcept;
  void forget(RepeatState &) noexcept;

 private:
  void unlink(RepeatState &) noexcept;
  std::mutex mutex_;
  RepeatState *all_ = nullptr;
};

}  // namespace consort
