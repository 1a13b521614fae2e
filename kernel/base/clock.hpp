// clock.hpp — the only source of time and randomness in the kernel.
//
// Real mode reads the system's monotonic clock. In stepped mode time changes only by advance(), so a run pumped by one
// thread is reproducible. In virtual time the pump advances it to the next event of a simulated machine, and nowhere
// else. Any thread may read. One thread at a time pumps; others may add what their submissions cost meanwhile. Stepped
// time never goes back. chance() yields a seeded sequence and is called by the pump alone.
#pragma once
#include <atomic>
#include <cstdint>

namespace consort {

uint64_t monotonic_ns() noexcept;  // the system's clock, even where the runtime's is stepped

class Clock {
 public:
  Clock(bool stepped, uint64_t seed) : stepped_(stepped), chance_(seed) {}

  uint64_t now() const noexcept;                            // ns
  bool stepped() const noexcept { return stepped_; }
  void advance(uint64_t ns) noexcept { stepped_ns_.fetch_add(ns, std::memory_order_relaxed); }
  void advance_to(uint64_t ns) noexcept {
    uint64_t before = stepped_ns_.load(std::memory_order_relaxed);
    while (before < ns && !stepped_ns_.compare_exchange_weak(before, ns, std::memory_order_relaxed)) {
    }
  }
  uint64_t chance() noexcept;                               // next number of the seeded sequence

 private:
  const bool stepped_;
  uint64_t chance_;
  std::atomic<uint64_t> stepped_ns_{0};  // relaxed: it orders nothing; it only rises
};

// A point in time after which a wait ends. timeout < 0: never.
class Deadline {
 public:
  Deadline(const Clock &clock, int64_t timeout_ns)
      : clock_(clock), at_(timeout_ns < 0 ? UINT64_MAX : clock.now() + static_cast<uint64_t>(timeout_ns)) {}
  bool passed() const noexcept { return at_ != UINT64_MAX && clock_.now() >= at_; }
  uint64_t at() const noexcept { return at_; }  // UINT64_MAX: never
  int64_t left_ns() const noexcept {  // < 0: no limit
    if (at_ == UINT64_MAX) return -1;
    const uint64_t now = clock_.now();
    return now >= at_ ? 0 : static_cast<int64_t>(at_ - now);
  }

 private:
  const Clock &clock_;
  uint64_t at_;
};

}  // namespace consort
