// hosts.hpp — the machines of a job, as --hosts names them, and the ranks of each.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tool {

struct HostShare {
  std::string host;                       // as ssh takes it: a name, an address, user@name
  uint32_t first = 0, count = 0;          // its ranks
};

// "a:2,user@b,[::1]:4": a number is the most ranks of that machine. Ranks are given in order; machines without a number
// share the rest evenly. Throws std::runtime_error for a bad list, or if not all ranks have a place.
std::vector<HostShare> shares_of(const std::string &hosts, uint32_t ranks);

}  // namespace tool
