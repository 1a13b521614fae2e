// park.hpp — where one thread sleeps until another wakes it: a futex word with a memory of one wake. A thread that
// waits for a descriptor, too, sleeps in poll() and is woken by an eventfd.
//
// Any thread may wake; one thread at a time may wait. A wake before the wait makes the wait return at once,
// so "checked, then slept" loses nothing. Spurious returns are allowed: the caller looks again.
#pragma once
#include <atomic>
#include <cstdint>

namespace consort {

class Parker {
 public:
  // Sleeps until wake(), at most timeout_ns (< 0: no limit). False: time ran out.
  bool wait(int64_t timeout_ns) noexcept;
  // The same, and until `fd` is readable, whichever comes first. Where the system has no more descriptors it sleeps a
  // moment.
  void wait_or_readable(int fd, int64_t timeout_ns) noexcept;
  void wake() noexcept;
  // [any] Is there somebody who sleeps, and has nobody woken it? acquire: pairs with wait(), which shows it.
  bool asleep() const noexcept {
    const uint32_t w = word_.load(std::memory_order_acquire);
    return w == kAsleep || w == kPolling;
  }
  ~Parker();

 private:
  enum : uint32_t { kEmpty, kNotified, kAsleep, kPolling };
  std::atomic<uint32_t> word_{kEmpty};  // wake() releases, the end of a wait acquires: what the waker did is seen
  int own_fd_ = -1;  // an eventfd; written once by the waiter, before kPolling, which releases it to wakers
};

void name_this_thread(const char *name) noexcept;   // at most 15 characters reach the system
void sharpen_timers_of_this_thread() noexcept;      // timed sleeps end within a few microseconds of their time

}  // namespace consort
