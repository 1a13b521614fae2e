// deps.cpp — tasks with their order, by cutting planes. The constraint that each task ends after its predecessors is equivalent to
// this one: no path through the tasks is longer than the run. Few of all these paths matter.
//
// In rounds: computes the optimal shares for the paths found so far (a bound, because constraints are missing), the task times by
// these shares, and the paths that are too long then. Without such paths the shares satisfy all constraints and are optimal.
// Also searches half way towards the best feasible shares: the violating paths there are fewer, and stay relevant longer.
#include "deps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shares.hpp"

namespace bound {
namespace {

constexpr size_t kWaysARound = 20;   // several paths cost about as much as one
constexpr size_t kWaysKept = 200;    // paths kept before any is dropped; grows each time, to prevent cycling

// Longest paths through tasks with given times.
class Ways {
 public:
  explicit Ways(const Problem &p)
      : p_(p), then_(p.tasks.size()), head_(p.tasks.size()), tail_(p.tasks.size()), order_(p.tasks.size()) {
    for (uint32_t t = 0; t < p.tasks.size(); ++t)
      for (const uint32_t before : p.tasks[t].after) then_[before].push_back(t);
  }

  std::vector<double> took;            // by task; input of measure()
  // Returns the length of the longest path.
  double measure() {
    const size_t n = p_.tasks.size();
    double longest = 0;
    for (size_t t = 0; t < n; ++t) {
      head_[t] = 0;
      for (const uint32_t before : p_.tasks[t].after) head_[t] = std::max(head_[t], head_[before] + took[before]);
      longest = std::max(longest, head_[t] + took[t]);
    }
    for (size_t t = n; t-- > 0;) {
      tail_[t] = 0;
      for (const uint32_t next : then_[t]) tail_[t] = std::max(tail_[t], tail_[next] + took[next]);
    }
    return longest;
  }
  // Adds the longest paths through tasks on paths longer than `than`, longest first, unless a path is within `than` by
  // `now` too, which means that it is included already. Each task is on at most one new path.
  size_t add_longer(double than, const std::vector<double> &now, size_t most, Shares *to) {
    order_.resize(p_.tasks.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::erase_if(order_, [&](uint32_t t) { return !(through(t) > than); });
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return through(a) != through(b) ? through(a) > through(b) : a < b; });
    std::vector<bool> covered(p_.tasks.size());
    size_t added = 0, tried = 0;
    for (const uint32_t t : order_) {
      if (added == most || tried == 3 * most) break;
      if (covered[t]) continue;
      ++tried;
      const std::vector<uint32_t> way = way_through(t);
      double long_now = 0;
      for (const uint32_t on : way) covered[on] = true, long_now += now[on];
      if (!(long_now > than) || std::find(fresh_.begin(), fresh_.end(), way) != fresh_.end()) continue;
      fresh_.push_back(way);
      to->add_way(way);
      ++added;
    }
    return added;
  }
  void begin_round() { fresh_.clear(); }

 private:
  double through(uint32_t t) const { return head_[t] + took[t] + tail_[t]; }
  std::vector<uint32_t> way_through(uint32_t t) const {
    std::vector<uint32_t> way;
    const auto follow = [&](const auto &next_of, const std::vector<double> &length) {
      for (uint32_t at = t;;) {
        uint32_t next = kNone;
        for (const uint32_t x : next_of(at))
          if (next == kNone || length[x] + took[x] > length[next] + took[next]) next = x;
        if (next == kNone) return;
        way.push_back(at = next);
      }
    };
    follow([&](uint32_t x) -> const auto & { return p_.tasks[x].after; }, head_);
    std::reverse(way.begin(), way.end());
    way.push_back(t);
    follow([&](uint32_t x) -> const auto & { return then_[x]; }, tail_);
    return way;
  }

  const Problem &p_;
  std::vector<std::vector<uint32_t>> then_;
  std::vector<double> head_, tail_;    // longest paths to a task and from it, without the task
  std::vector<uint32_t> order_;
  std::vector<std::vector<uint32_t>> fresh_;  // paths added in this round
};

struct Times {
  std::vector<double> took;            // by task
  double busy = 0;                     // of the busiest group
};

// Time of the busiest group if each task runs where it is fastest.
double busy_at_best(const Problem &p, const std::vector<double> &counts) {
  std::vector<double> work(p.groups.size());
  for (size_t k = 0; k < p.kinds.size(); ++k) {
    const Kind &kind = p.kinds[k];
    if (kind.empty) continue;
    for (size_t g = 0; g < work.size(); ++g)
      if (kind.ns[g] == best_ns(kind)) {
        work[g] += counts[k] * kind.ns[g] / p.groups[g].units;
        break;
      }
  }
  return work.empty() ? 0 : *std::max_element(work.begin(), work.end());
}

}  // namespace

Solution solve_deps(const Problem &p, double seconds) {
  const std::chrono::duration<double> may_take(std::min(seconds, 1e6));
  const auto late = Shares::Clock::now() + std::chrono::duration_cast<Shares::Clock::duration>(may_take);
  Solution out;
  const std::vector<double> counts = Shares::counts(p);
  for (size_t k = 0; k < p.kinds.size(); ++k)
    if (counts[k] > 0 && !p.kinds[k].empty && !std::isfinite(best_ns(p.kinds[k])))
      return out.trouble = "the program has no solution: a task cannot run on any unit", out;
  const double longest = longest_way_ns(p), at_best = busy_at_best(p, counts);
  out.least = longest / 1e6;
  const double unit = std::max(longest, at_best);
  out.exact = at_best <= longest;      // the longest path with best times is the bound
  if (out.exact) return out;

  Shares shares(p, unit);
  Ways ways(p);
  size_t kept = kWaysKept;
  double best = 1, gap = 1e-2;         // best: the time of feasible shares
  Times good, now;                     // task times by the best, and by the latest shares
  for (bool first = true;; first = false) {
    const bool in_time = shares.improve(gap, late);
    out.least = std::max(out.least, shares.bound() * unit / 1e6);
    const double least = out.least * 1e6 / unit;
    shares.durations(&now.took);
    now.busy = shares.busy();
    if (first) good = now;
    if (!first && shares.forget_idle_ways(kept)) kept += 2 * kWaysARound;
    Times between = good;
    for (size_t t = 0; t < now.took.size(); ++t) between.took[t] = 0.5 * (good.took[t] + now.took[t]);
    between.busy = 0.5 * (good.busy + now.busy);
    ways.begin_round();
    size_t added = 0;
    for (const Times *times : {&now, &between}) {
      ways.took = times->took;
      if (const double time = std::max(ways.measure(), times->busy); time < best) best = time, good = *times;
      added += ways.add_longer(shares.time(), now.took, kWaysARound / 2, &shares);
    }
    out.exact = best - least <= kClose * best;
    if (out.exact || !in_time) return out;
    gap = std::min(gap, std::max(0.1 * (best - least), 0.2 * kClose * best));
    if (added) continue;
    if (gap < 1e-3 * kClose * best) return out;  // limit of numerical precision
    gap *= 0.1;                        // refines on the same paths
  }
}

}  // namespace bound
