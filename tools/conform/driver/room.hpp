// room.hpp — one space of the driver's own and the blocks that fit into it.
#pragma once
#include <algorithm>

#include "conform/driver/devices.hpp"

namespace conform {

constexpr uint64_t kMostCapacity = uint64_t{1} << 32;      // larger capacities are not filled here

// One space of the driver's own, and blocks of it.
struct Room {
  Devices &devices;
  const Devices::Space &space;

  consort_status alloc(uint64_t bytes, consort_addr *out) const {
    devices.plugin().host().forget_failure();
    return devices.ops().alloc(devices.all()[space.device].handle, space.desc.id, bytes, space.desc.align, 0, out);
  }
  void free(const consort_addr &a, uint64_t bytes) const {
    devices.ops().free(devices.all()[space.device].handle, space.desc.id, a, bytes);
  }
  bool fits(uint64_t bytes) const {
    consort_addr a{};
    if (bytes == 0 || alloc(bytes, &a) < 0) return false;
    free(a, bytes);
    return true;
  }
  // Returns the largest block available now, of some fractions of the capacity; 0: none of these.
  uint64_t largest() const {
    const uint64_t grain = std::max<uint64_t>(space.desc.granule, 1);
    for (const uint64_t part : {16u, 15u, 14u, 12u, 8u, 4u, 2u})
      if (const uint64_t n = space.desc.capacity / 16 * part / grain * grain; fits(n)) return n;
    return 0;
  }
};

// Skips the case if there is no such space.
template <class Body>
void for_each_room(Trial &t, Devices &devices, const Body &body) {
  unsigned tried = 0;
  for (const Devices::Space &s : devices.spaces()) {
    if (!s.is_own() || s.desc.capacity > kMostCapacity || s.desc.capacity == 0) continue;
    const Room room{devices, s};
    t.doing("alloc of parts of the %llu bytes of %s", big(s.desc.capacity), s.name.c_str());
    const uint64_t most = room.largest();
    if (most == 0) continue;
    ++tried;
    body(room, most);
    if (t.failed()) return;
  }
  if (!tried) t.skip("it has no memory of its own, or more than is used up here");
}

}  // namespace conform
