// idle_spin.hpp — how long a thread without work looks for some before it sleeps, by the clock.
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
  // A look has found nothing, the first one of this idle time. most: ns; 0: no spinning.
  void begin(uint64_t most) noexcept {
    most_ = most;
    began_ = most ? monotonic_ns() : 0;
  }
  // Is it time to sleep? rounds: spent since begin(); the clock is read at every 16th.
  bool over(uint32_t rounds) const noexcept {
    if (!most_) return true;
    return (rounds & 15) == 0 && monotonic_ns() - began_ >= (brief_ ? most_ / 16 : most_);
  }
  // Sleeps at once when the next look finds nothing, too.
  void exhaust() noexcept { most_ = 0; }
  // Calls f, which sleeps.
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
