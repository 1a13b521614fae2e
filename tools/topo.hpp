// topo.hpp — the machine shown by `consort topo`: the host's hardware, and the spaces, units and links of a runtime.
#pragma once
#include <string>
#include <vector>

#include "hardware.hpp"
#include "inventory.hpp"

namespace tool {

struct Picture {
  Part host;
  bool has_host = false;                           // false: no unit and no memory of the hardware is used (simulation)
  Inventory found;

  const Space *space(uint32_t id) const;
  const Space *host_memory(int32_t numa) const;    // the space of this NUMA node, or of all nodes
  bool is_host(const Space &) const;               // host memory, not device memory
  std::vector<const Unit *> units_at(const Part &core) const;   // workers bound to one of its hardware threads
  std::vector<const Unit *> units_in(const Space &) const;      // units of this memory that are bound to no core
};

std::string topo_svg(const Picture &);
std::string speed_text(const Link &);              // "25.0 GB/s, 9.0 us"

}  // namespace tool
