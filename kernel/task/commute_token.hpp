// commute_token.hpp — the commute token of a datum: mutual exclusion of running tasks that commute on it.
//
// A task that finds the token taken is parked. Its record is linked here by pub.sched[0], and the thread that releases
// the token passes it to the oldest parked task. No thread spins or waits. Any thread; a parked task belongs to the
// token's holder.
#pragma once
#include <atomic>
#include <cstdint>

#include "task/task.hpp"

namespace consort {

class CommuteToken {
 public:
  bool try_take() noexcept {
    uint64_t free = kFree;
    // acquire pairs with the release in give(): stores of the last holder are visible
    return word_.load(std::memory_order_relaxed) == free &&
           word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Returns false if the token has become free meanwhile: try again. True: parked; the task no longer belongs to the
  // caller.
  bool park(Task *t) noexcept {
    uint64_t w = word_.load(std::memory_order_relaxed);
    do {
      if (w == kFree) return false;
      t->pub.sched[0] = w == kHeld ? nullptr : reinterpret_cast<Task *>(w);
      // release: the holder that takes the list sees the record. Only the whole list is ever taken, so a head that
      // reappears is the head.
    } while (!word_.compare_exchange_weak(w, reinterpret_cast<uint64_t>(t), std::memory_order_release,
                                          std::memory_order_relaxed));
    return true;
  }
  // Called by the holder: removes the oldest parked task and returns it. nullptr: none, and the token is free.
  Task *give() noexcept {
    if (!queue_) {
      uint64_t w = kHeld;
      if (word_.compare_exchange_strong(w, kFree, std::memory_order_release, std::memory_order_relaxed)) return nullptr;
      // acquire pairs with park(); the token stays held, so that only this thread reads queue_
      auto *newest = reinterpret_cast<Task *>(word_.exchange(kHeld, std::memory_order_acquire));
      while (newest) {
        auto *older = static_cast<Task *>(newest->pub.sched[0]);
        newest->pub.sched[0] = queue_;
        queue_ = newest;
        newest = older;
      }
    }
    Task *t = queue_;
    queue_ = static_cast<Task *>(t->pub.sched[0]);
    return t;
  }
  bool taken() const noexcept { return word_.load(std::memory_order_relaxed) != kFree; }

 private:
  static constexpr uint64_t kFree = 0, kHeld = 1;  // else: held, with the address of the newest parked task
  std::atomic<uint64_t> word_{kFree};  // release by the holder and in park() pairs with acquire
  Task *queue_ = nullptr;                          // used by the holder: parked before, oldest first
};

}  // namespace consort
