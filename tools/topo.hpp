// topo.hpp — the machine that `consort topo` shows: the host's hardware and what the runtime uses of it and beside it.
#pragma once
#include <string>
#include <vector>

#include "hardware.hpp"
#include "inventory.hpp"

namespace tool {

struct Picture {
  Part host;
  bool has_host = false;                           // false: no unit and no memory of the hardware is used (all is simulated)
  Inventory found;

  const Space *space(uint32_t id) const;
  const Space *host_memory(int32_t numa) const;    // the space that is this NUMA node, or all of them
  bool is_host(const Space &) const;               // ordinary memory of the machine, not a device's
  std::vector<const Unit *> units_at(const Part &core) const;   // workers bound to one of its hardware threads
  std::vector<const Unit *> units_in(const Space &) const;      // all units that work on this memory and are at no core
};

std::string topo_svg(const Picture &);
std::string speed_text(const Link &);              // "25.0 GB/s, 9.0 us"

}  // namespace tool
