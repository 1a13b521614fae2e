// machine.hpp — the CPU device: cores as units and NUMA nodes as spaces, from hwloc and the settings.
//
// Created by open(), immutable afterwards except for ids assigned by the kernel; owned by the driver's device.
// For [control] calls. It binds no thread; it reports where a thread should be bound.
#pragma once
#include <consort/driver.h>
#include <hwloc.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cpu {

struct Settings {
  uint32_t workers = 0;  // 0: one per usable core
  bool units = true;     // false: memory only
  bool smt = false;      // a unit per hardware thread
  bool numa = true;      // a space per NUMA node; else one for all
  std::string cores;     // hwloc's logical numbers; empty: all
  std::string topology;  // synthetic description or XML file; empty: this machine
  std::string root;      // folder of /proc and /sys
};

struct Node {
  std::string name;
  int32_t numa;
  uint64_t capacity;
  hwloc_obj_t object;    // nullptr: the whole machine
  uint32_t id = CONSORT_NONE;  // assigned by the kernel
};

struct Core {
  std::vector<uint64_t> cpuset;  // empty: not bound
  uint32_t node;                 // index of its Node
};

class Machine {
 public:
  Machine() = default;
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;
  ~Machine();

  consort_status open(const Settings &, const consort_host *);

  hwloc_topology_t topology() const noexcept { return topology_; }
  bool is_here() const noexcept { return here_; }  // false: a synthetic machine
  const std::string &arch() const noexcept { return arch_; }
  std::vector<Node> &nodes() noexcept { return nodes_; }
  const std::vector<Core> &cores() const noexcept { return cores_; }
  // Units that share a cache, a memory, a socket, the machine: nested sets, ascending each.
  const std::vector<std::vector<uint32_t>> &nearby() const noexcept { return nearby_; }

 private:
  consort_status load(const Settings &, const consort_host *);
  consort_status choose_cores(const Settings &, const consort_host *);
  void list_nodes(const Settings &);
  void find_nearby(bool threads);
  void name_arch();
  uint32_t node_of(hwloc_obj_t) const;

  hwloc_topology_t topology_ = nullptr;
  bool here_ = false;
  std::string arch_;
  std::vector<Node> nodes_;
  std::vector<Core> cores_;
  std::vector<std::vector<uint32_t>> nearby_;
};

}  // namespace cpu
