#include "network.hpp"

#include <consort/shared/described_file.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace simnet {
namespace {

using consort::shared::Table;
using Bad = consort::shared::BadDescription;

double positive_rate(const Table::Entry &e) {
  const double rate = consort::shared::read_rate(e.where, e.value) / 1e9;
  if (rate <= 1e-9 || rate > 1e9) throw Bad{e.where + " = \"" + e.value + "\" is no bandwidth of 1 byte to 1e18 bytes per second"};
  return rate;
}

uint64_t short_time(const Table::Entry &e) {
  const uint64_t t = consort::shared::read_time(e.where, e.value);
  if (t > 1'000'000'000'000) throw Bad{e.where + " = \"" + e.value + "\" is more than 1000 s"};
  return t;
}

uint32_t count(const Table::Entry &e) {
  const double n = consort::shared::read_number(e.where, e.value);
  if (n < 1 || n > 65536 || n != std::floor(n)) throw Bad{e.where + " = \"" + e.value + "\" is no number from 1 to 65536"};
  return static_cast<uint32_t>(n);
}

void read_network(const Table &t, Network &net) {
  for (const Table::Entry &e : t.entries) {
    if (e.key == "ranks_per_node") net.ranks_per_node = count(e);
    else if (e.key == "latency") net.latency_ns = short_time(e);
    else if (e.key == "bandwidth") net.bandwidth = positive_rate(e);
    else if (e.key == "gap") net.gap_ns = short_time(e);
    else if (e.key == "inside_latency") net.inside_latency_ns = short_time(e);
    else if (e.key == "inside_bandwidth") net.inside_bandwidth = positive_rate(e);
    else throw Bad{e.where + ": [network] has ranks_per_node, latency, bandwidth, gap, inside_latency, inside_bandwidth"};
  }
}

Switch read_switch(const Table &t, const std::vector<Switch> &below) {
  Switch s;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "nodes") s.nodes = count(e);
    else if (e.key == "bandwidth") s.bandwidth = positive_rate(e);
    else if (e.key == "latency") s.latency_ns = short_time(e);
    else throw Bad{e.where + ": a switch has nodes, bandwidth, latency"};
  }
  if (!s.nodes || s.bandwidth == 0) throw Bad{t.where + ": a switch needs nodes and bandwidth"};
  if (!below.empty() && (s.nodes <= below.back().nodes || s.nodes % below.back().nodes))
    throw Bad{t.where + ": a switch of " + std::to_string(s.nodes) + " nodes does not hold whole switches of the " +
                   std::to_string(below.back().nodes) + " nodes before it: describe switches from below, each a multiple"};
  return s;
}

}  // namespace

Network Network::read(const std::string &file, const std::string &text) {
  try {
    Network net;
    bool is_there = false;
    for (const Table &t : consort::shared::read_tables(file, text)) {
      if (t.name == "network") {
        if (std::exchange(is_there, true)) throw Bad{t.where + ": there is one [network] already"};
        read_network(t, net);
      } else if (t.name == "switch") {
        if (net.levels.size() == Wires::kLevels)
          throw Bad{t.where + ": more than " + std::to_string(Wires::kLevels) + " levels of switches"};
        net.levels.push_back(read_switch(t, net.levels));
      }
    }
    if (!is_there) throw Bad{file + " has no [network]: say its latency and bandwidth, to simulate several ranks"};
    return net;
  } catch (const Bad &e) {
    throw e.text;
  }
}

Wires::Wires(const Network &net, uint32_t ranks) : net_(net), nodes_((ranks + net.ranks_per_node - 1) / net.ranks_per_node) {
  wires_.resize(2 * size_t{nodes_}, {net.bandwidth});
  for (uint32_t n = 0; n < nodes_; ++n) wires_[n].gap_ns = net.gap_ns;
  wires_.resize(3 * size_t{nodes_}, {net.inside_bandwidth});
  for (const Switch &s : net.levels) {
    const uint32_t n = (nodes_ + s.nodes - 1) / s.nodes;
    levels_.push_back(static_cast<uint32_t>(wires_.size())), counts_.push_back(n);
    wires_.resize(wires_.size() + 2 * size_t{n}, {s.bandwidth});
  }
}

Wires::Path Wires::path(uint32_t from, uint32_t to) const noexcept {
  const uint32_t a = from / net_.ranks_per_node, b = to / net_.ranks_per_node;
  Path p;
  const auto add = [&](uint32_t wire, uint64_t latency) { p.hops[p.n++] = {wire, latency}; };
  if (a == b) {
    add(2 * nodes_ + a, net_.inside_latency_ns);
    return p;
  }
  add(a, net_.latency_ns);
  uint32_t top = 0;                       // levels that the message leaves upwards
  while (top < levels_.size() && a / net_.levels[top].nodes != b / net_.levels[top].nodes) ++top;
  for (uint32_t l = 0; l < top; ++l) add(first_of(l, true) + a / net_.levels[l].nodes, net_.levels[l].latency_ns);
  for (uint32_t l = top; l-- > 0;) add(first_of(l, false) + b / net_.levels[l].nodes, net_.levels[l].latency_ns);
  add(nodes_ + b, 0);
  return p;
}

Wires::Passage Wires::pass(uint32_t number, uint64_t t, uint64_t bytes) noexcept {
  Wire &w = wires_[number];
  const auto ns = static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) / w.bandwidth));
  uint64_t start = std::max(t, w.next_start);
  w.next_start = start + w.gap_ns;
  if (bytes <= kShort) {
    start = std::max(start, w.short_free);
    w.short_free = start + ns;
    w.free = std::max(w.free, start) + ns;
  } else {
    start = std::max(start, w.free);
    w.free = start + ns;
  }
  ++w.messages, w.bytes += bytes, w.busy_ns += ns;
  return {start, start + ns};
}

std::vector<Wires::Use> Wires::uses() const {
  std::vector<Use> all;
  const auto add = [&](std::string name, uint32_t first, uint32_t n) {
    Use u{std::move(name), n};
    for (uint32_t i = first; i < first + n; ++i)
      u.messages += wires_[i].messages, u.bytes += wires_[i].bytes, u.busiest_ns = std::max(u.busiest_ns, wires_[i].busy_ns);
    all.push_back(std::move(u));
  };
  add("adapters-out", 0, nodes_), add("adapters-in", nodes_, nodes_), add("memories", 2 * nodes_, nodes_);
  for (uint32_t l = 0; l < levels_.size(); ++l) {
    const std::string name = "switches-of-" + std::to_string(net_.levels[l].nodes);
    add(name + "-up", first_of(l, true), counts_[l]), add(name + "-down", first_of(l, false), counts_[l]);
  }
  return all;
}

}  // namespace simnet
