// repeat.hpp — repeating tasks: a copy of the description, from which each next turn is submitted.
//
// Owned by the unfinished turn and passed from one turn to the next. Found by the name of the first turn or of the
// current one, and by that of the turn before it, which is valid for a moment after the next turn is submitted. It stays
// listed until the name of the last turn is invalid, so a live task that is not found here does not repeat. Arguments
// of hooks are dropped after the last turn.
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
  TaskName first = 0, before_now = 0, now = 0;  // under Repeats' lock
  bool stopped = false;
  RepeatState *next = nullptr, *before = nullptr;
};

class Repeats {
 public:
  // Returns nullptr if out of memory. It is listed by begin().
  static std::unique_ptr<RepeatState> copy(const consort_task_desc &) noexcept;
  void begin(RepeatState &, TaskName, consort_group_id) noexcept;            // a turn is about to be sent
  TaskName turn_of(TaskName) noexcept;  // the current turn for the name of a first one; else the name itself
  // Makes the current turn the last one. Returns false if no state is listed under this name.
  bool stop(TaskName) noexcept;
  void stop_all() noexcept;
  // A turn has ended: returns whether there is another one.
  bool again(const RepeatState &, bool well) noexcept;
  void forget(RepeatState *) noexcept;  // removes it from the list and frees it

 private:
  std::mutex mutex_;
  RepeatState *all_ = nullptr;
};

}  // namespace consort
