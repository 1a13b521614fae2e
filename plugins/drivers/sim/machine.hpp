// machine.hpp — the machine that is not there: its devices, the wires between them, how long kernels take, what goes
// wrong.
//
// Read from the parameters and from a file by init(), constant afterwards; any thread. What is wrong is thrown as Bad,
// which never leaves init().
#pragma once
#include <consort/driver.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace sim {

constexpr int kHost = -1;  // an end of a path: whatever memory is the host's

struct DeviceSpec {
  std::string name, klass, runs, arch;
  uint32_t units = 1, depth = 16;
  uint64_t memory = 0, delay_ns = 0;
  double speed = 1, slow = 1;
  bool host = false;  // it has no memory of its own: it is the host's memory, and cores in it
  using Kernels = std::map<std::string, Curve, std::less<>>;
  Kernels kernels;                          // by codelet
  uint32_t sockets = 0;                     // sets of as many units, which are teams; all of them are one, too. 0: no teams
  double parallel = 1;                      // part of a kernel that the units of a team share
  std::map<uint32_t, Kernels> team_kernels; // by size of the team, where it is said
};

// A directed way between two memories. Bytes go over all its wires at once, at the pace of the slowest; over one that
// is named twice, twice.
struct Path {
  double bytes_per_s = 0;
  uint64_t latency_ns = 0;
  std::vector<uint32_t> wires;
};

struct Fault {
  enum Kind { kMemory, kCopy, kKernel, kLost } kind;
  int device;         // -1: each
  uint64_t nth = 0;   // from 1, by device; 0: not by number
  double chance = 0;  // of each
  uint64_t at_ns = 0; // kLost: after the device was opened; 0: not by time
};

// What the host does for each, in ns. A device that is not the host has one core that does this for it, one after the
// other and while the device works; a core of the host does it itself, before the kernel.
struct Overheads {
  uint64_t launch = 0, copy = 0;      // of a device that is not the host: to hand it a kernel, a copy
  uint64_t task = 0, fetch = 0;       // of each kernel, of each of its data
  uint64_t alloc = 0;                 // once per device: one slab, with the first block
  uint64_t submit = 0;                // paid by who submits
};

struct Machine {
  std::vector<DeviceSpec> devices;
  std::vector<double> wires;                          // bytes per ns
  std::map<std::pair<int, int>, Path> paths;          // by device, kHost
  std::map<std::string, uint64_t, std::less<>> times; // ns, by codelet
  std::vector<Fault> faults;
  double rate = 0;                                    // of a codelet's own measure, per second; 0: not used
  uint64_t usual_ns = 0;                              // of a kernel about which nothing is known, in virtual time
  double noise = 0, link_noise = 0;                   // kernels take up to this share more or less, copies more
  Overheads overheads;
  uint64_t seed = 1;
  bool virtual_time = false, execute = true, move = true;
  std::string trace, report;

  static Machine read(const consort_host *);
  const Path *path(int from, int to) const noexcept;
  int bus_of(const Path &) const noexcept;           // the wire that it shares with others; -1: none
  int endpoint(uint32_t device) const noexcept { return devices[device].host ? kHost : static_cast<int>(device); }
};

}  // namespace sim
