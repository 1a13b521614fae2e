// doors.hpp — the callers inside an instance whose threads are not known beforehand, for quiesce().
#pragma once
#include <cstdint>

#include "members.hpp"

namespace policies {

// Visitors of many threads, each at one of several doors, so that they do not share a cache line.
class Doors {
 public:
  // Selected by an address on the stack: threads mostly use different doors.
  Visitors &door(const void *stack) noexcept {
    return doors_[(reinterpret_cast<uintptr_t>(stack) >> 12) * 0x9e3779b97f4a7c15u >> 61].visitors;
  }
  // [control] As Visitors::wait(), for each door: a visitor leaves by the door of its entry.
  consort_status wait(plugin::Host host, uint64_t deadline) const noexcept {
    for (const Door &d : doors_)
      if (const consort_status s = d.visitors.wait(host, deadline); s != CONSORT_OK) return s;
    return CONSORT_OK;
  }

 private:
  struct alignas(kLine) Door { Visitors visitors; };
  Door doors_[8];
};

}  // namespace policies
