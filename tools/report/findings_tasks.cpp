// findings_tasks.cpp — rules about the tasks themselves: their size, their speed by worker, failures.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "finding.hpp"

namespace tool {

// The time between two tasks that follow each other at once is the runtime's own.
void find_small_tasks(const Analysis &a, RunFindings *out) {
  constexpr double kShortGap = 10e3, kWorthIt = 0.15, kLongTask = 20e3;
  constexpr uint64_t kEnough = 500;
  const Trace &t = a.trace;
  double between = 0, busy = 0;
  uint64_t n = 0;
  std::map<uint32_t, uint64_t> of;
  for (uint32_t r = 0; r < t.runs.size(); ++r) {
    const uint32_t p = a.history.previous[r];
    if (p == kNoIndex || t.runs[r].t0 < t.runs[p].t1) continue;
    const auto gap = static_cast<double>(t.runs[r].t0 - t.runs[p].t1);
    if (gap > kShortGap || a.history.fetch_from[r]) continue;
    between += gap;
    busy += static_cast<double>(t.runs[r].t1 - t.runs[r].t0);
    ++n, ++of[t.runs[r].codelet];
  }
  if (n < kEnough || n * 2 < t.runs.size() || busy / static_cast<double>(n) > kLongTask) return;
  const double cost = between / (between + busy), mean = busy / static_cast<double>(n);
  const double share = between / std::max(1.0, a.idle.worker_time);
  if (cost < kWorthIt || share < 0.08) return;
  const uint32_t most = std::max_element(of.begin(), of.end(), [](const auto &x, const auto &y) { return x.second < y.second; })->first;
  out->push_back({"small-tasks", share * 1.5, "Tasks are too small",
                  "A task takes " + time_words(mean) + " on average, and " + time_words(between / static_cast<double>(n)) +
                      " pass between two: " + share_words(cost) + " of that time is the runtime's. Most are of " + a.codelet(most) + ".",
                  "Give a task more work: larger blocks, or several steps in one task; 20 us and more make the cost vanish. If the same "
                  "tasks repeat, record and replay them, which costs less for each.",
                  0, 0, kNoIndex, most});
}

namespace {

// How much longer the models expect a worker to take than the others of its class: two cards may be unlike. 1: unknown.
double known_slowness(const Trace &t, uint32_t worker) {
  std::map<uint32_t, double> own;          // by kind
  std::map<uint32_t, std::vector<double>> others;
  for (const Trace::Time &one : t.times) {
    if (one.ns <= 0 || t.workers[one.worker].klass != t.workers[worker].klass) continue;
    if (one.worker == worker) own[one.kind] = static_cast<double>(one.ns);
    else others[one.kind].push_back(static_cast<double>(one.ns));
  }
  double sum = 0, n = 0;
  for (const auto &[kind, ns] : own)
    if (auto &rest = others[kind]; !rest.empty()) {
      std::nth_element(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 2), rest.end());
      sum += ns / rest[rest.size() / 2], ++n;
    }
  return n > 0 ? std::max(1.0, sum / n) : 1;
}

}  // namespace

// A worker that takes longer for the same codelets than the others of its class, and than the models know.
void find_slow_workers(const Analysis &a, RunFindings *out) {
  constexpr double kSlower = 1.3;
  const Trace &t = a.trace;
  struct Sum { double own = 0, others = 0; };
  std::vector<Sum> sums(t.workers.size());
  for (const CodeletSummary &c : a.summary.codelets) {
    if (c.median_on.size() < 2) continue;
    for (const auto &[worker, median] : c.median_on) {
      std::vector<double> rest;
      for (const auto &[other, theirs] : c.median_on)
        if (other != worker) rest.push_back(theirs);
      std::nth_element(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 2), rest.end());
      const double typical = rest[rest.size() / 2], weight = c.sum_on.at(worker) / std::max(1.0, median);
      sums[worker].own += median * weight;
      sums[worker].others += typical * weight;
    }
  }
  std::vector<uint32_t> slow;
  for (uint32_t w = 0; w < sums.size(); ++w)
    if (sums[w].others > 0 && sums[w].own > kSlower * sums[w].others && sums[w].own > 0.1 * a.summary.span &&
        sums[w].own > kSlower * known_slowness(t, w) * sums[w].others)
      slow.push_back(w);
  if (slow.empty() || slow.size() * 2 > t.workers.size()) return;
  const uint32_t worst = *std::max_element(slow.begin(), slow.end(), [&](uint32_t x, uint32_t y) {
    return sums[x].own / sums[x].others < sums[y].own / sums[y].others;
  });
  const double times = sums[worst].own / sums[worst].others;
  // The others wait for it at the end, or it takes time that they would not.
  double lost = 0;
  for (const uint32_t w : slow) lost += sums[w].own - sums[w].others;
  const double share = lost / std::max(1.0, a.idle.worker_time) + a.idle.share(Reason::kEnd) + a.idle.share(Reason::kOrder) * 0.5;
  if (share < 0.03) return;
  char factor[24];
  std::snprintf(factor, sizeof factor, "%.2g", times);
  out->push_back({"slow-worker", share, "Worker " + t.workers[worst].name + " is " + factor + " times slower than its like",
                  "It takes " + time_words(sums[worst].own) + " for work that the median of the other " + t.workers[worst].klass +
                      " workers does in " + time_words(sums[worst].others) +
                      (slow.size() > 1 ? "; " + count_words(static_cast<double>(slow.size()) - 1, "more worker is", "more workers are") + " slow as well." : "."),
                  t.workers[worst].klass == "cpu"
                      ? "Look what else runs on its core (another program, interrupts, a lower clock rate, a thermal limit), or leave it out by "
                        "the setting cpu.cores."
                      : "If it is another kind of device, its models should be its own: the driver tells units apart by their architecture. Else "
                        "look for other programs on it, a lower clock rate, a thermal limit.",
                  0, 0, worst, kNoIndex});
}

void find_failures(const Analysis &a, RunFindings *out) {
  uint64_t failed = 0, first = UINT64_MAX;
  double cost = 0;
  uint32_t codelet = 0;
  for (const Trace::Run &r : a.trace.runs) {
    if (r.status >= 0) continue;
    if (!failed) codelet = r.codelet, first = r.t0;
    ++failed;
    cost += static_cast<double>(r.t1 - r.t0);
  }
  if (!failed) return;
  out->push_back({"failed-tasks", cost / std::max(1.0, a.idle.worker_time) + 1e-6, count_words(static_cast<double>(failed), "task", "tasks") + " failed",
                  "The first was a task of " + a.codelet(codelet) + ", " + time_words(static_cast<double>(first - a.trace.begin)) + " after the beginning.",
                  "The wait that follows a failed task reports its reason: read its error text.", first, first, kNoIndex, codelet});
}

}  // namespace tool
