// route.hpp — routes between two spaces: the links they use, and their estimated cost.
//
// Computed once from the links that drivers offer; immutable. Data on a route of several hops is stored in each space
// between.
#pragma once
#include <cstdint>
#include <vector>

namespace consort {

class Topology;

class Routes {
 public:
  void open(const Topology &);
  // Returns the next space on the route, CONSORT_NONE if there is no route. from != to.
  uint32_t next(uint32_t from, uint32_t to) const noexcept { return next_[from * n_ + to]; }
  // of an existing direct link: its latency, and its time per byte
  float latency_ns(uint32_t from, uint32_t to) const noexcept { return links_[from * n_ + to].latency_ns; }
  float ns_per_byte(uint32_t from, uint32_t to) const noexcept { return links_[from * n_ + to].ns_per_byte; }
  // of a copy of one megabyte
  double cost_ns(uint32_t from, uint32_t to) const noexcept { return from == to ? 0 : cost_[from * n_ + to]; }

 private:
  struct OneLink { float latency_ns = 0, ns_per_byte = 0; };
  uint32_t n_ = 0;
  std::vector<OneLink> links_;
  std::vector<uint32_t> next_;
  std::vector<double> cost_;
};

}  // namespace consort
