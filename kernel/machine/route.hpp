// route.hpp — the way of bytes between two spaces: over which links, and what it costs about.
//
// Made once from the links that drivers offer; immutable. A way over several hops stops in each space between.
#pragma once
#include <cstdint>
#include <vector>

namespace consort {

class Topology;

class Routes {
 public:
  void open(const Topology &);
  // The next space on the way; CONSORT_NONE: there is none. from != to.
  uint32_t next(uint32_t from, uint32_t to) const noexcept { return next_[from * n_ + to]; }
  // of one link that there is: before the first byte, and for each
  float latency_ns(uint32_t from, uint32_t to) const noexcept { return links_[from * n_ + to].latency_ns; }
  float ns_per_byte(uint32_t from, uint32_t to) const noexcept { return links_[from * n_ + to].ns_per_byte; }
  // of a megabyte
  double cost_ns(uint32_t from, uint32_t to) const noexcept { return from == to ? 0 : cost_[from * n_ + to]; }

 private:
  struct OneLink { float latency_ns = 0, ns_per_byte = 0; };
  uint32_t n_ = 0;
  std::vector<OneLink> links_;
  std::vector<uint32_t> next_;
  std::vector<double> cost_;
};

}  // namespace consort
