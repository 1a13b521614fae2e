// lists.hpp — tasks by priority, the highest first; among equals in order of arrival.
//
// A list for each of the first kLists waiting priorities, in one array sorted by priority. Heads and tails lie here and
// not in the tasks, which another core may have: an insertion writes to one older task, a removal to none. Further
// priorities go to the tree of heap.hpp. A list is added only while the tree is empty, so no priority is in both.
// Nothing is allocated. A plain container: its owner holds the lock.
#pragma once
#include <algorithm>

#include "heap.hpp"

namespace prio {

class Lists {
 public:
  static constexpr int32_t kLists = 32;

  bool empty() const noexcept { return top_ < 0 && tree_.empty(); }

  // Requires !empty().
  int32_t top() const noexcept {
    if (top_ < 0) return tree_.top();
    return tree_.empty() ? priority_[top_] : std::max(priority_[top_], tree_.top());
  }

  void push(consort_task *task) noexcept {
    const int32_t i = list_of(task->priority);
    if (i < 0) return tree_.push(task);
    List &list = list_[i];
    task->sched[0] = nullptr;
    if (list.head) list.tail->sched[0] = task;
    else list.head = task;
    list.tail = task;
    top_ = std::max(top_, i);
  }

  // Requires !empty().
  consort_task *pop() noexcept {
    if (top_ < 0 || (!tree_.empty() && tree_.top() > priority_[top_])) return tree_.pop();
    List &list = list_[top_];
    consort_task *const task = list.head;
    list.head = static_cast<consort_task *>(task->sched[0]);
    while (top_ >= 0 && !list_[top_].head) --top_;
    return task;
  }

 private:
  struct List { consort_task *head, *tail; };

  // Returns the index of the list of this priority, added if there is room; -1: the task goes to the tree.
  int32_t list_of(int32_t priority) noexcept {
    if (last_ < count_ && priority_[last_] == priority) return last_;
    int32_t at = static_cast<int32_t>(std::lower_bound(priority_, priority_ + count_, priority) - priority_);
    if (at < count_ && priority_[at] == priority) return last_ = at;
    if (!tree_.empty()) return -1;
    if (count_ == kLists) {
      drop_empty();
      if (count_ == kLists) return -1;
      at = static_cast<int32_t>(std::lower_bound(priority_, priority_ + count_, priority) - priority_);
    }
    std::copy_backward(priority_ + at, priority_ + count_, priority_ + count_ + 1);
    std::copy_backward(list_ + at, list_ + count_, list_ + count_ + 1);
    ++count_;
    if (top_ >= at) ++top_;
    priority_[at] = priority;
    list_[at] = {};
    return last_ = at;
  }

  void drop_empty() noexcept {
    int32_t kept = 0;
    for (int32_t i = 0; i < count_; ++i) {
      if (!list_[i].head) continue;
      if (i == top_) top_ = kept;
      priority_[kept] = priority_[i];
      list_[kept++] = list_[i];
    }
    count_ = kept;
  }

  int32_t count_ = 0, top_ = -1, last_ = 0;  // top_: the highest list that is not empty; last_: of the last insertion
  int32_t priority_[kLists] = {};
  List list_[kLists] = {};
  Heap tree_;
};

}  // namespace prio
