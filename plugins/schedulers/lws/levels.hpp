// levels.hpp — tasks with a priority, and the overflow of a full ring: one list per priority level.
//
// A plain container, owned by the instance and guarded by its lock. Lists are linked through task->sched[0], so
// it never allocates. Levels are exact for priorities from -31 to 31; beyond, sixteen to each doubling, so that
// two priorities that differ by more than 6 % never share one. Within a level: first in, first out.
#pragma once
#include <consort/scheduler.h>

#include <bit>
#include <cstdint>

namespace lws {

class Levels {
 public:
  static constexpr uint32_t kZero = 447, kCount = 2 * kZero + 1;  // level kZero: priority 0

  static uint32_t level(int32_t priority) noexcept {
    const uint32_t size = priority < 0 ? 0u - static_cast<uint32_t>(priority) : static_cast<uint32_t>(priority);
    const uint32_t b = bucket(size);
    return priority < 0 ? kZero - b : kZero + b;
  }
  static int32_t highest_priority(uint32_t level) noexcept {  // the highest priority of a level above kZero
    const uint32_t b = level - kZero;
    return static_cast<int32_t>(b < 32 ? b : ((17 + b % 16) << (b / 16 - 1)) - 1);
  }

  void push(consort_task *task) noexcept {
    const uint32_t l = level(task->priority);
    List &list = lists_[l];
    task->sched[0] = nullptr;
    if (bits_[l / 64] >> l % 64 & 1) list.tail->sched[0] = task;
    else list.head = task;
    list.tail = task;
    bits_[l / 64] |= uint64_t{1} << l % 64;
    words_ |= 1u << l / 64;
    ++count_;
  }

  uint32_t count() const noexcept { return count_; }
  // The highest level that is not empty. Only if count().
  uint32_t top() const noexcept {
    const uint32_t w = 31 - std::countl_zero(words_);
    return w * 64 + 63 - std::countl_zero(bits_[w]);
  }
  // Takes the first task of the highest level in [lowest, highest] that one of `classes` can run; classes 0: any task.
  consort_task *pop(uint32_t lowest, uint32_t highest, uint64_t classes) noexcept {
    for (uint32_t w = words_; w;) {
      const uint32_t i = 31 - std::countl_zero(w);
      w &= ~(1u << i);
      for (uint64_t bits = bits_[i]; bits;) {
        const uint32_t b = 63 - std::countl_zero(bits), level = i * 64 + b;
        bits &= ~(uint64_t{1} << b);
        if (level > highest) continue;
        if (level < lowest) return nullptr;
        if (consort_task *task = unlink(level, classes)) return task;
      }
    }
    return nullptr;
  }

 private:
  struct List { consort_task *head, *tail; };

  static uint32_t bucket(uint32_t size) noexcept {
    if (size < 32) return size;
    if (size > INT32_MAX) size = INT32_MAX;
    const uint32_t drop = 27 - std::countl_zero(size);  // keeps five binary digits
    return drop * 16 + (size >> drop);
  }

  consort_task *unlink(uint32_t level, uint64_t classes) noexcept {
    List &list = lists_[level];
    consort_task *before = nullptr;
    for (consort_task *t = list.head; t; before = t, t = static_cast<consort_task *>(t->sched[0])) {
      if (classes && !(t->where & classes)) continue;
      if (before) before->sched[0] = t->sched[0];
      else list.head = static_cast<consort_task *>(t->sched[0]);
      if (list.tail == t) list.tail = before;
      if (!list.head) {
        bits_[level / 64] &= ~(uint64_t{1} << level % 64);
        if (!bits_[level / 64]) words_ &= ~(1u << level / 64);
      }
      --count_;
      return t;
    }
    return nullptr;
  }

  List lists_[kCount] = {};
  uint64_t bits_[kCount / 64 + 1] = {};
  uint32_t words_ = 0, count_ = 0;
};

}  // namespace lws
