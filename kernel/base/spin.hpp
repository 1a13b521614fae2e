// spin.hpp — waiting for a moment without sleeping: the processor's pause, and a lock of one byte.
//
// SpinLock guards sections of a few dozen instructions on data that threads rarely share. Rank: leaf; nothing
// is locked, allocated or called back under one. A holder that lost its core is waited for with a yield.
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

// Waits a little longer with each call: pauses first, then gives the core away.
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
