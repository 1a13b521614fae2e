// lost_devices.hpp — the set of lost devices. A device stays lost until it is opened again.
//
// Any thread. One bit for each of the first 64 devices; a device with a higher number fails without being recorded. The
// tasks of a lost device are handled in exec/reassign.hpp.
#pragma once
#include <atomic>
#include <cstdint>

#include "machine/coherence.hpp"
#include "machine/topology.hpp"

namespace consort {

class LostDevices {
 public:
  void add(const Device &d) noexcept { add(d.number); }
  void add(uint32_t number) noexcept {
    if (number < 64) bits_.fetch_or(uint64_t{1} << number, std::memory_order_relaxed);
  }
  // relaxed: a thread that sees the bit late gets an error from the device itself.
  bool any() const noexcept { return bits_.load(std::memory_order_relaxed) != 0; }
  bool has(const Device &d) const noexcept {
    return d.number < 64 && bits_.load(std::memory_order_relaxed) >> d.number & 1;
  }
  bool has(const Unit &u) const noexcept { return any() && has(*u.device); }
  coherence::Spaces spaces(const Topology &t) const noexcept {  // spaces of all lost devices
    coherence::Spaces all = 0;
    if (!any()) return all;
    for (const Space &s : t.spaces())
      if (has(*s.device)) all |= coherence::one(s.desc.id);
    return all;
  }
  // round robin, so that tasks are spread over workers
  uint32_t turn() noexcept { return turn_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> bits_{0};  // relaxed: see any()
  std::atomic<uint32_t> turn_{0};  // relaxed: spreads tasks, orders nothing
};

}  // namespace consort
