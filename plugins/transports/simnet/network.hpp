// network.hpp — the simulated network: adapters of nodes, memory of nodes, switches in levels; and when a message passes.
//
// Described by [network] and [[switch]] of a machine's file. A wire takes one message after the other, in the order in
// which their first bytes reach it. The first byte goes on at once (cut-through), so a message that waits nowhere takes
// the latencies of its way and its bytes at the slowest wire. Short messages are packets between those of long ones: they
// wait for short ones alone, and the long ones behind them get that much later. Owned by the domain, under its lock.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace simnet {

struct Switch {                           // one for each `nodes` nodes, in a row
  uint32_t nodes = 0;
  uint64_t latency_ns = 0;                // of the link to the switches above, for each passage
  double bandwidth = 0;                   // of that link, bytes per ns, each way
};

struct Network {
  uint32_t ranks_per_node = 1;
  uint64_t latency_ns = 1500, inside_latency_ns = 300;
  uint64_t gap_ns = 0;                    // between the beginnings of two messages at a node's adapter
  double bandwidth = 12.5, inside_bandwidth = 20;  // bytes per ns; of an adapter each way, of a node's memory
  std::vector<Switch> levels;             // from below; each switch holds whole ones of the level below

  // Throws a std::string that names the place of the error.
  static Network read(const std::string &file, const std::string &text);
};

class Wires {
 public:
  static constexpr uint64_t kShort = 4096;  // bytes of the longest message that passes between the packets of others
  static constexpr uint32_t kLevels = 6;
  struct Hop { uint32_t wire; uint64_t latency_ns; };  // latency: behind the wire
  struct Path {
    std::array<Hop, 2 + 2 * kLevels> hops;
    uint32_t n = 0;
  };
  struct Passage { uint64_t head, tail; };  // when the first byte enters the wire, and when the last one has

  Wires(const Network &, uint32_t ranks);
  Path path(uint32_t from, uint32_t to) const noexcept;
  // The first byte of a message is there at t.
  Passage pass(uint32_t wire, uint64_t t, uint64_t bytes) noexcept;

  struct Use { std::string name; uint32_t wires = 0; uint64_t messages = 0, bytes = 0, busiest_ns = 0; };
  std::vector<Use> uses() const;          // of the adapters, the memories, each level

 private:
  struct Wire {
    double bandwidth;
    uint64_t gap_ns = 0;
    uint64_t free = 0, short_free = 0, next_start = 0;
    uint64_t messages = 0, bytes = 0, busy_ns = 0;
  };
  uint32_t first_of(uint32_t level, bool is_up) const noexcept { return levels_[level] + (is_up ? 0 : counts_[level]); }

  const Network net_;
  const uint32_t nodes_;
  std::vector<Wire> wires_;               // out of each node, into each node, memory of each node, levels up and down
  std::vector<uint32_t> levels_, counts_; // first wire and number of switches of each level
};

}  // namespace simnet
