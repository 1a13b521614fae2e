// How long something took by the runtime's own clock, which is the system's, or that of a simulated machine.
//
// For main() alone, on its thread. Under `consort sim` the system's clock says how long the simulation took; that is no
// figure of the program.
#pragma once
#include <consort/clock.h>
#include <consort/consort.hpp>

#include <cstdint>
#include <ctime>
#include <stdexcept>

namespace example {

inline uint64_t now_ns(const consort::Runtime &rt) {
  uint64_t ns = 0;
  if (consort_now(rt.c(), &ns) < 0) throw std::runtime_error(consort_error());
  return ns;
}

// The runtime's clock is not the system's.
inline bool is_simulated(const consort::Runtime &rt) {
  const auto system_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  };
  const uint64_t before = system_ns(), answer = now_ns(rt), after = system_ns();
  return answer < before || answer > after;
}

}  // namespace example
