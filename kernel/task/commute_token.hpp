// commute_token.hpp — mutual exclusion among running tasks that use one datum in any order.
//
// A task that finds the token taken is parked: its record hangs here, linked by pub.sched[0], and whoever gives the
// token back passes it on to the oldest. Nobody spins, nobody waits. Any thread; a parked task is nobody's but the
// holder's.
#pragma once
#include <atomic>
#include <cstdint>

#include "task/task.hpp"

namespace consort {

class CommuteToken {
 public:
  bool try_take() noexcept {
    uint64_t free = kFree;
    // acquire pairs with the release in give(): what the last holder wrote is visible
    return word_.load(std::memory_order_relaxed) == free &&
           word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // False: it has become free meanwhile, try again. True: parked; the task is not the caller's any more.
  bool park(Task *t) noexcept {
    uint64_t w = word_.load(std::memory_order_relaxed);
    do {
      if (w == kFree) return false;
      t->pub.sched[0] = w == kHeld ? nullptr : reinterpret_cast<Task *>(w);
      // release: the holder that takes the list sees the record. Nothing is ever taken but the whole list, so a
      // head that comes back is the head.
    } while (!word_.compare_exchange_weak(w, reinterpret_cast<uint64_t>(t), std::memory_order_release,
                                          std::memory_order_relaxed));
    return true;
  }
  // The holder's: the oldest task parked, which leaves the list; nullptr: none, and the token is free.
  Task *give() noexcept {
    if (!queue_) {
      uint64_t w = kHeld;
      if (word_.compare_exchange_strong(w, kFree, std::memory_order_release, std::memory_order_relaxed)) return nullptr;
      // acquire pairs with park(); held still, so that nobody but us reads queue_
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
  static constexpr uint64_t kFree = 0, kHeld = 1;  // else: held, and the newest parked task's address
  std::atomic<uint64_t> word_{kFree};  // release of the holder, and of who parks, pairs with acquire
  Task *queue_ = nullptr;                          // the holder's: parked before, oldest first
};

}  // namespace consort
