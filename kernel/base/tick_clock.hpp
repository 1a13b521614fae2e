// tick_clock.hpp — ticks: the cheapest steady clock of the machine, for the stamps of a trace. They are related to the
// runtime's clock by points in time at which both were read.
//
// [any]
#pragma once
#include <cstdint>

#include "base/clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace consort {

class TickClock {
 public:
  // Ticks of the processor where the system itself keeps its time by them, and the runtime's clock is the system's. Else
  // they are ns of the runtime's clock.
  static TickClock choose(const Clock &) noexcept;

  bool of_processor() const noexcept { return of_processor_; }
  uint64_t now(const Clock &clock) const noexcept {
#if defined(__x86_64__)
    if (of_processor_) [[likely]] return __rdtsc();
#endif
    return clock.now();
  }

  struct Point { uint64_t ticks, ns; };
  Point point(const Clock &) const noexcept;  // reads both, the one between two reads of the other

 private:
  bool of_processor_ = false;
};

}  // namespace consort
