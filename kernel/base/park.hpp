// park.hpp — one thread sleeps here until another wakes it: a futex word that remembers one wake. A thread that also
// waits for a descriptor sleeps in poll() and is woken by an eventfd.
//
// Any thread may wake; one thread at a time may wait. A wake before the wait makes the wait return at once, so "check,
// then sleep" loses no wake. Spurious returns are allowed: the caller checks again.
#pragma once
#include <atomic>
#include <cstdint>

namespace consort {

class Parker {
 public:
  // Sleeps until wake(), at most timeout_ns (< 0: no limit). Returns false if the time ran out.
  bool wait(int64_t timeout_ns) noexcept;
  // As wait(), and also returns when `fd` is readable. If the system has no more descriptors, it sleeps for a short
  // time.
  void wait_or_readable(int fd, int64_t timeout_ns) noexcept;
  void wake() noexcept;
  // [any] Returns whether a thread sleeps here and has not been woken. acquire: pairs with wait(), which stores the
  // state.
  bool asleep() const noexcept {
    const uint32_t w = word_.load(std::memory_order_acquire);
    return w == kAsleep || w == kPolling;
  }
  ~Parker();

 private:
  enum : uint32_t { kEmpty, kNotified, kAsleep, kPolling };
  // wake() releases, the end of a wait acquires: the woken thread sees the waker's stores
  std::atomic<uint32_t> word_{kEmpty};
  int own_fd_ = -1;  // an eventfd; written once by the waiter, before kPolling, which releases it to wakers
};

void name_this_thread(const char *name) noexcept;   // the system keeps at most 15 characters
void sharpen_timers_of_this_thread() noexcept;      // timed sleeps end within a few microseconds of their deadline

}  // namespace consort
