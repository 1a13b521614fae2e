// idle_spin.hpp — how long a thread without work looks for work before it sleeps, by the clock.
//
// The limit adapts: a thread that slept for less than the longest spin looks that long the next time, one that slept for
// longer looks for a sixteenth of it. So a thread that gets a task now and then sleeps almost at once, and dense work finds
// its threads awake. Used by one thread; it allocates nothing.
#pragma once
#include <cstdint>

#include "base/clock.hpp"

namespace consort {

class IdleSpin {
 public:
  // Begins an idle time: the first look found nothing. most: the longest spin, in ns; 0: no spinning.
  void begin(uint64_t most) noexcept {
    most_ = most;
    began_ = most ? monotonic_ns() : 0;
  }
  // Returns whether it is time to sleep. rounds: looks since begin(); the clock is read at every 16th.
  bool over(uint32_t rounds) const noexcept {
    if (!most_) return true;
    return (rounds & 15) == 0 && monotonic_ns() - began_ >= (brief_ ? most_ / 16 : most_);
  }
  // Ends the spin: over() is true from the next look on.
  void exhaust() noexcept { most_ = 0; }
  // Calls f, which sleeps, and sets the limit of the next spin by the time that f takes. most: as in begin().
  template <class F> void sleep(uint64_t most, F f) noexcept {
    const uint64_t before = monotonic_ns();
    f();
    brief_ = monotonic_ns() - before >= most;
  }

 private:
  uint64_t most_ = 0, began_ = 0;
  bool brief_ = false;
};

}  // namespace consort
