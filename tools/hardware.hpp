// hardware.hpp — the host's hardware from hwloc: packages, NUMA nodes, caches, cores; nested values, independent of hwloc.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "json.hpp"

namespace tool {

struct Part {
  std::string kind;                                // "machine", "package", "group", "numa", "l3", "l2", "l1d", "l1i", "core"
  std::string name;                                // "package 0: AMD EPYC 7763", "core 3"
  uint64_t bytes = 0;                              // of a memory or a cache
  int32_t numa = -1;                               // of a memory: its number in hwloc
  std::vector<int> cpus;                           // of a core: the system's numbers of its hardware threads
  std::vector<Part> memories, parts;
};

// topology: the setting cpu.topology, a synthetic description or an XML file; "": this machine. Throws if hwloc cannot read it.
Part read_hardware(const std::string &topology);
uint32_t count_of(const Part &, const std::string &kind);
uint32_t threads_of(const Part &);                 // hardware threads
Json json_of(const Part &);

}  // namespace tool
