// area_bound.hpp — a lower bound of the time that all units together need for the unstarted tasks, with each kind of task where it
// costs least: dual prices of the classes' time, raised for classes with more load than average.
//
// Exact for two classes, approximate for more. Called at nearly every decision near the end, so the common case of two classes
// is branch-free; its sums are identical to the last bit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace policies {

struct AreaBound {
  static constexpr int kRounds = 24;
  static constexpr double kNever = std::numeric_limits<double>::infinity(), kLeast = 1e-9;

  uint32_t nkinds, nclasses;
  const double *left;    // number of tasks by kind
  const double *rows;    // by kind, then by class: ns of one task, kNever if not eligible; ns per unit of all unstarted ones
  const double *units;   // number of units by class
  double *price;         // by class: in and out, the start of the next iteration

  // Returns ns; < 0: the prices are invalid
  double bound() noexcept { return nclasses == 2 ? of_two() : of_many(); }

  double of_two() noexcept {
    double p = price[0], q = price[1], best = 0, step = 0.5;
    for (int round = 0; round < kRounds; ++round, step *= 0.8) {
      const double norm = p * units[0] + q * units[1];
      if (!(norm > 0)) return -1;
      double value = 0, loads = 0, other = 0;
      for (uint32_t x = 0; x < nkinds; ++x) {
        const double *row = rows + 4 * x, here = row[0] * p, there = row[2] * q;
        const bool second = there < here;
        const double least = second ? there : here;
        if (least == kNever) continue;
        value += left[x] * least / norm;
        loads += second ? 0 : row[1];
        other += second ? row[3] : 0;
      }
      best = std::max(best, value);
      const double up = 1 + step, down = 1 / (1 + step);
      p = std::max(p / norm * (loads > value ? up : down), kLeast);
      q = std::max(q / norm * (other > value ? up : down), kLeast);
    }
    price[0] = p, price[1] = q;
    return best;
  }

  double of_many() noexcept {
    constexpr uint32_t kMost = 64;
    double load[kMost], best = 0, step = 0.5;
    const uint32_t n = std::min(nclasses, kMost);
    for (int round = 0; round < kRounds; ++round, step *= 0.8) {
      double norm = 0, value = 0;
      for (uint32_t i = 0; i < n; ++i) load[i] = 0, norm += price[i] * units[i];
      if (!(norm > 0)) return -1;
      const double *row = rows;
      for (uint32_t x = 0; x < nkinds; ++x, row += 2 * n) {
        double least = kNever;
        uint32_t where = 0;
        for (uint32_t i = 0; i < n; ++i)
          if (row[2 * i] * price[i] < least) least = row[2 * i] * price[i], where = i;
        if (least == kNever) continue;
        value += left[x] * least / norm;
        load[where] += row[2 * where + 1];
      }
      best = std::max(best, value);
      for (uint32_t i = 0; i < n; ++i)  // classes with more load than average become more expensive
        price[i] = std::max(price[i] / norm * (load[i] > value ? 1 + step : 1 / (1 + step)), kLeast);
    }
    return best;
  }
};

}  // namespace policies
