// machine.hpp — the simulated machine: devices, wires between them, kernel times, faults.
//
// Read from the parameters and from a file by init(), constant afterwards; any thread. Errors are thrown as Bad,
// which never leaves init().
#pragma once
#include <consort/driver.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace sim {

constexpr int kHost = -1;  // an end of a path: all host memory

struct DeviceSpec {
  std::string name, klass, runs, arch;
  uint32_t units = 1, depth = 16;
  uint64_t memory = 0, delay_ns = 0;
  double speed = 1, slow = 1;
  bool host = false;  // the host: its memory is the host's, its units are cores
  using Kernels = std::map<std::string, Curve, std::less<>>;
  Kernels kernels;                          // by codelet
  uint32_t sockets = 0;                     // number of equal sets of units, which are teams, besides the team of all units. 0: no teams
  double parallel = 1;                      // share of a kernel that is divided among a team's units
  std::map<uint32_t, Kernels> team_kernels; // by size of the team, if given
};

// A directed route between two memories. Bytes use all its wires at once, at the pace of the slowest; a wire that is named twice
// carries them twice.
struct Path {
  double bytes_per_s = 0;
  uint64_t latency_ns = 0;
  std::vector<uint32_t> wires;
};

struct Fault {
  enum Kind { kMemory, kCopy, kKernel, kLost } kind;
  int device;         // -1: every device
  uint64_t nth = 0;   // from 1, by device; 0: not by number
  double chance = 0;  // probability per op
  uint64_t at_ns = 0; // kLost: after the device was opened; 0: not by time
};

// Host overheads in ns. A device other than the host has one core that performs them, one after the other and while the device
// works; a core of the host performs them itself, before the kernel.
struct Overheads {
  uint64_t launch = 0, copy = 0;      // to hand a kernel or a copy to a device other than the host
  uint64_t task = 0, fetch = 0;       // per kernel, per datum of it
  uint64_t alloc = 0;                 // once per device: one slab, with the first block
  uint64_t block = 0, free = 0;       // per allocation, and per free, on a device other than the host
  uint64_t submit = 0, drop = 0;      // paid by the submitter; drop: for a task of another rank
};

struct Machine {
  std::vector<DeviceSpec> devices;
  std::vector<double> wires;                          // bytes per ns
  std::vector<bool> serial;                           // by wire: one copy at a time; empty: no wire
  std::map<std::pair<int, int>, Path> paths;          // by device, kHost
  std::map<std::string, uint64_t, std::less<>> times; // ns, by codelet
  std::vector<Fault> faults;
  double rate = 0;                                    // units of a codelet's `work` per second; 0: not used
  uint64_t usual_ns = 0;                              // time of an unknown kernel in virtual time
  double noise = 0, link_noise = 0;                   // random variation: of kernels in both directions, of copies upwards
  Overheads overheads;
  uint64_t seed = 1;
  bool virtual_time = false, execute = true, move = true;
  std::string trace, report;

  static Machine read(const consort_host *);
  const Path *path(int from, int to) const noexcept;
  int bus_of(const Path &) const noexcept;           // the wire that it shares with other paths; -1: none
  int endpoint(uint32_t device) const noexcept { return devices[device].host ? kHost : static_cast<int>(device); }
};

}  // namespace sim
