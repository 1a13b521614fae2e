// task_fifo.hpp — a first-in first-out list of tasks, linked by record numbers through a table beside the records.
//
// For tasks whose own words are in use. Adding allocates nothing, because callers cannot handle a failure. The owner
// guards a list; a task is in one list of a table at a time. The table is address space that costs nothing until
// touched.
#pragma once
#include "task/task_arena.hpp"

namespace consort {

class TaskFifo {
 public:
  using Links = Arena<uint32_t>;  // by record number: the next record; 0: none

  bool empty() const noexcept { return !first_; }
  void push_back(const TaskArena &tasks, const Links &links, const Task *t) noexcept {
    const uint32_t number = tasks.index(t);
    *links.at(number) = 0;
    (first_ ? *links.at(last_) : first_) = number;
    last_ = number;
  }
  void append(const Links &links, TaskFifo &other) noexcept {  // `other` is empty afterwards
    if (other.empty()) return;
    (first_ ? *links.at(last_) : first_) = other.first_;
    last_ = other.last_;
    other.first_ = 0;
  }
  // Removes and returns the first task for which `is` is true. nullptr: none.
  template <class F>
  Task *take(const TaskArena &tasks, const Links &links, F is) noexcept {
    uint32_t before = 0;
    for (uint32_t at = first_; at; before = at, at = *links.at(at)) {
      Task *const t = tasks.at(at);
      if (!is(*t)) continue;
      (before ? *links.at(before) : first_) = *links.at(at);
      if (last_ == at) last_ = before;
      return t;
    }
    return nullptr;
  }

 private:
  uint32_t first_ = 0, last_ = 0;
};

}  // namespace consort
