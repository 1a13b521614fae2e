// park.hpp — where one thread sleeps until another wakes it: a futex word with a memory of one wake.
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
  void wake() noexcept;

 private:
  enum : uint32_t { kEmpty, kNotified, kAsleep };
  std::atomic<uint32_t> word_{kEmpty};
};

void name_this_thread(const char *name) noexcept;   // at most 15 characters reach the system
void sharpen_timers_of_this_thread() noexcept;      // timed sleeps end within a few microseconds of their time

}  // namespace consort
