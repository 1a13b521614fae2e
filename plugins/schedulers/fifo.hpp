// fifo.hpp — one queue, first come, first served: a Store for central.hpp, guarded by its lock.
//
// Tasks are linked through sched[0] and carry their arrival number in sched[1]. With several unit classes there is a list per
// set of classes (`where`), and a worker takes the earliest task that it can run: in effect one queue, without scanning tasks
// for other classes.
#pragma once
#include <consort/scheduler.h>

#include <cstdint>

namespace policies {

struct Fifo {
  uint64_t where = 0;  // the classes that can run all its tasks; last list: mixed
  consort_task *head = nullptr, *tail = nullptr;
};

class FifoQueue {
 public:
  static constexpr bool kShare = true;

  explicit FifoQueue(uint32_t nclasses) : nclasses_(nclasses) {}
  void resize(uint32_t nclasses) noexcept { nclasses_ = nclasses; }
  void changed() noexcept {}

  void append(consort_task *task) noexcept {
    Fifo &l = list_of(task->where);
    task->sched[0] = nullptr;
    task->sched[1] = reinterpret_cast<void *>(++arrivals_);
    if (l.head) l.tail->sched[0] = task;
    else l.head = task;
    l.tail = task;
  }

  // The earliest task that one of the classes can run.
  consort_task *take(uint64_t classes) noexcept {
    Fifo *best = nullptr;
    consort_task *found = nullptr, *before = nullptr;
    for (uint32_t i = 0; i < nlists_; ++i) {
      if (!(lists_[i].where & classes)) continue;
      consort_task *previous = nullptr, *t = lists_[i].head;
      if (i == kLists - 1)
        while (t && !(t->where & classes)) previous = t, t = next(t);
      if (!t || (found && arrival(found) < arrival(t))) continue;
      best = &lists_[i], found = t, before = previous;
    }
    if (found) unlink(*best, found, before);
    return found;
  }

  bool remove(const consort_task *task) noexcept {
    for (uint32_t i = 0; i < nlists_; ++i) {
      consort_task *before = nullptr;
      for (consort_task *t = lists_[i].head; t; before = t, t = next(t)) {
        if (t != task) continue;
        unlink(lists_[i], t, before);
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr uint32_t kLists = 65;  // the last one serves all sets beyond 64

  static consort_task *next(const consort_task *t) noexcept { return static_cast<consort_task *>(t->sched[0]); }
  static uint64_t arrival(const consort_task *t) noexcept { return reinterpret_cast<uint64_t>(t->sched[1]); }

  static void unlink(Fifo &l, consort_task *t, consort_task *before) noexcept {
    if (before) before->sched[0] = t->sched[0];
    else l.head = next(t);
    if (l.tail == t) l.tail = before;
  }

  Fifo &list_of(uint64_t where) noexcept {
    if (nclasses_ == 1) where = 1;
    for (uint32_t i = 0; i < nlists_; ++i)
      if (lists_[i].where == where && i < kLists - 1) return lists_[i];
    if (nlists_ < kLists) ++nlists_;
    lists_[nlists_ - 1].where = nlists_ < kLists ? where : ~uint64_t{0};
    return lists_[nlists_ - 1];
  }

  uint32_t nclasses_, nlists_ = 0;
  uint64_t arrivals_ = 0;
  Fifo lists_[kLists];
};

}  // namespace policies
