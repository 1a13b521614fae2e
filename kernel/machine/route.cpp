#include "machine/route.hpp"

#include <limits>

#include "machine/topology.hpp"

namespace consort {

void Routes::open(const Topology &topology) {
  constexpr double kNoWay = std::numeric_limits<double>::infinity();
  n_ = static_cast<uint32_t>(topology.spaces().size());
  next_.assign(size_t{n_} * n_, CONSORT_NONE);
  cost_.assign(size_t{n_} * n_, kNoWay);
  links_.assign(size_t{n_} * n_, {});
  for (uint32_t a = 0; a < n_; ++a)
    for (uint32_t b = 0; b < n_; ++b) {
      const Link &link = topology.link(a, b);
      if (a == b || !link.device) continue;
      const double rate = link.desc.bytes_per_s ? static_cast<double>(link.desc.bytes_per_s) : 1e9;
      cost_[a * n_ + b] = link.desc.latency_ns + 1048576e9 / rate;
      links_[a * n_ + b] = {static_cast<float>(link.desc.latency_ns), static_cast<float>(1e9 / rate)};
      next_[a * n_ + b] = b;
    }
  for (uint32_t k = 0; k < n_; ++k)
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b = 0; b < n_; ++b) {
        if (a == b || a == k || b == k) continue;
        const double over = cost_[a * n_ + k] + cost_[k * n_ + b];
        if (over >= cost_[a * n_ + b]) continue;
        cost_[a * n_ + b] = over;
        next_[a * n_ + b] = next_[a * n_ + k];
      }
}

}  // namespace consort
