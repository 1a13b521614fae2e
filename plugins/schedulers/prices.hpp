// prices.hpp — a bound of the time that all units need together for what is left, each kind of task where it costs
// least: by prices of the classes' time, which go up where there is more to do than on the average.
//
// Of two classes exactly, of more nearly. It is asked at nearly every decision where little is left, so two classes, as
// nearly all machines have them, go without a branch; the sums are the same to the last bit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace policies {

struct Prices {
  static constexpr int kRounds = 24;
  static constexpr double kNever = std::numeric_limits<double>::infinity(), kLeast = 1e-9;

  uint32_t nkinds, nclasses;
  const double *left;    // by kind: how many
  const double *rows;    // by kind, then by class: ns of one, kNever if it cannot; of all that is left, for each unit
  const double *units;   // by class: how many
  double *price;         // by class: from before, and to go on from

  // ns; below 0: the prices are none
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
      for (uint32_t i = 0; i < n; ++i)  // a class that has more to do than all on the average costs more
        price[i] = std::max(price[i] / norm * (load[i] > value ? 1 + step : 1 / (1 + step)), kLeast);
    }
    return best;
  }
};

}  // namespace policies
