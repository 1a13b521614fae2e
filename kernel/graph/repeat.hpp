// repeat.hpp — repeating tasks: a copy of the description, from which each next turn is submitted.
//
// Owned by the unfinished turn and passed from one turn to the next. Found by the name of the first turn or of the
// current one. Arguments of hooks are dropped here, after the last turn.
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
  std::vector<std::byte> bytes;           // of arguments larger than a word
  std::string name;
  TaskName first = 0, now = 0;            // under Repeats' lock
  bool stopped = false;
  RepeatState *next = nullptr, *before = nullptr;
};

class Repeats {
 public:
  // Returns nullptr if out of memory. It is listed by begin().
  static std::unique_ptr<RepeatState> copy(const consort_task_desc &) noexcept;
  void begin(RepeatState &, TaskName, consort_group_id) noexcept;            // a turn is about to be sent
  TaskName turn_of(TaskName) noexcept;  // the current turn for the name of a first one; else the name itself
  consort_status stop(TaskName, bool live) noexcept;
  void stop_all() noexcept;
  // A turn has ended: returns whether there is another one. If not, it is removed from the list.
  bool again(RepeatState &, bool well) noexcept;
  void forget(RepeatState &) noexcept;

 private:
  void unlink(RepeatState &) noexcept;
  std::mutex mutex_;
  RepeatState *all_ = nullptr;
};

}  // namespace consort
