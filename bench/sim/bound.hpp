// bound.hpp — how short a run of so many tasks can be on so many units: an area bound by a linear program, with a chain.
//
// Pure but for the solver's own memory; one thread at a time.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Resource {             // units that are alike
  std::string name;
  double units;
  std::vector<double> ns;     // by kernel
};

// Least T such that every task runs somewhere and no resource works longer than T; and, where chain is not empty, the
// chain of tasks takes no longer than T: chain[k].every: all tasks of kernel k are in it, where they run; else `links`
// of them, each at its best. Transfers are taken to be free. NaN: the solver found nothing.
struct ChainLink { uint32_t kernel; bool every; double links; };
double least_ns(const std::vector<uint64_t> &tasks, const std::vector<Resource> &, const std::vector<ChainLink> &chain);

}  // namespace bench
