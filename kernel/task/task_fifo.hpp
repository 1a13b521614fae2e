// task_fifo.hpp — tasks in a row, first in, first out, linked by the numbers of their records through a table beside them.
//
// For tasks whose own words are in use. Adding needs no memory, since it happens where nothing may fail. The owner guards a
// row; a task is in one row of a table at a time. The table is address space that costs nothing until it is touched.
#pragma once
#include "task/task_arena.hpp"

namespace consort {

class TaskFifo {
 public:
  using Links = Arena<uint32_t>;  // by number of a record: that of the next one; 0: none

  bool empty() const noexcept { return !first_; }
  void push_back(const TaskArena &tasks, const Links &links, const Task *t) noexcept {
    const uint32_t number = tasks.index(t);
    *links.at(number) = 0;
    (first_ ? *links.at(last_) : first_) = number;
    last_ = number;
  }
  void append(const Links &links, TaskFifo &other) noexcept {  // which is empty afterwards
    if (other.empty()) return;
    (first_ ? *links.at(last_) : first_) = other.first_;
    last_ = other.last_;
    other.first_ = 0;
  }
  // The first of that kind leaves the row. nullptr: there is none.
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
