// spin.hpp — short waits without sleeping: the processor's pause instruction, and a spin lock of one byte.
//
// SpinLock guards sections of a few dozen instructions on data with little contention. Rank: leaf; no lock, allocation
// or callback under it. Waiters yield the core, so a preempted holder can go on.
#pragma once
#include <atomic>
#include <cstdint>

#include <sched.h>

namespace consort {

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Each call waits a little longer: pauses first, then yields the core.
class Backoff {
 public:
  void once() noexcept {
    if (++n_ < 64) pause();
    else sched_yield();
  }

 private:
  uint32_t n_ = 0;
};

class SpinLock {
 public:
  void lock() noexcept {
    Backoff wait;
    // acquire pairs with the release in unlock()
    while (held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire)) wait.once();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};  // see lock()
};

}  // namespace consort
