#include "base/clock.hpp"

#include <time.h>

namespace consort {

uint64_t monotonic_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t Clock::now() const noexcept {
  return stepped_ ? stepped_ns_.load(std::memory_order_relaxed) : monotonic_ns();
}

uint64_t Clock::chance() noexcept {  // splitmix64
  uint64_t z = chance_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace consort
