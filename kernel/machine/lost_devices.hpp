// lost_devices.hpp — which devices are lost. A device is lost for good, until it is opened anew.
//
// Any thread; a bit for each of the first 64 devices, a device beyond fails as anything does. What becomes of the tasks
// of a lost device is in exec/reassign.hpp.
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
  // Relaxed: a thread that sees it late meets an error, which says so by itself.
  bool any() const noexcept { return bits_.load(std::memory_order_relaxed) != 0; }
  bool has(const Device &d) const noexcept {
    return d.number < 64 && bits_.load(std::memory_order_relaxed) >> d.number & 1;
  }
  bool has(const Unit &u) const noexcept { return any() && has(*u.device); }
  coherence::Spaces spaces(const Topology &t) const noexcept {  // of all lost devices
    coherence::Spaces all = 0;
    if (!any()) return all;
    for (const Space &s : t.spaces())
      if (has(*s.device)) all |= coherence::one(s.desc.id);
    return all;
  }
  uint32_t turn() noexcept { return turn_.fetch_add(1, std::memory_order_relaxed); }  // so that one worker does not get all

 private:
  std::atomic<uint64_t> bits_{0};  // relaxed: see any()
  std::atomic<uint32_t> turn_{0};  // relaxed: spreads tasks, orders nothing
};

}  // namespace consort
