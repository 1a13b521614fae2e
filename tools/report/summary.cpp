#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace tool {
namespace {

double ns_of(const Trace::Run &r) { return static_cast<double>(r.t1 - r.t0); }

double quantile(std::vector<double> &sorted, double q) {
  return sorted.empty() ? 0 : sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

void fill(const Trace &t, const std::vector<uint32_t> &runs, CodeletSummary *c) {
  constexpr size_t kEnough = 3;
  std::vector<double> took, ratio;
  std::map<uint32_t, std::vector<double>> on;
  for (const uint32_t i : runs) {
    const Trace::Run &r = t.runs[i];
    took.push_back(ns_of(r));
    on[r.worker].push_back(ns_of(r));
    c->sum += ns_of(r);
    c->sum_on[r.worker] += ns_of(r);
    c->failed += r.status < 0;
    if (r.expected <= 0) continue;
    ++c->estimated;
    c->expected_sum += static_cast<double>(r.expected);
    c->measured_of_estimated += ns_of(r);
    ratio.push_back(ns_of(r) / static_cast<double>(r.expected));
  }
  std::sort(took.begin(), took.end());
  std::sort(ratio.begin(), ratio.end());
  c->tasks = took.size();
  c->least = took.front();
  c->median = quantile(took, 0.5);
  c->p90 = quantile(took, 0.9);
  c->most = took.back();
  c->off = quantile(ratio, 0.5);
  for (auto &[worker, times] : on) {
    if (times.size() < kEnough) continue;
    std::sort(times.begin(), times.end());
    c->median_on[worker] = quantile(times, 0.5);
  }
  c->low = std::max(1.0, c->least);
  c->step = std::pow(std::max(1.01, c->most / c->low), 1.0 / static_cast<double>(c->histogram.size()));
  for (const double x : took) {
    const double bar = std::log(std::max(x, c->low) / c->low) / std::log(c->step);
    ++c->histogram[std::min(c->histogram.size() - 1, static_cast<size_t>(bar))];
  }
}

std::vector<CodeletSummary> codelets_in(const Trace &t) {
  std::map<std::pair<uint32_t, std::string>, std::vector<uint32_t>> runs;
  std::vector<std::map<uint32_t, std::vector<uint32_t> *>> quick(t.workers.size());
  for (uint32_t i = 0; i < t.runs.size(); ++i) {
    auto &list = quick[t.runs[i].worker][t.runs[i].codelet];
    if (!list) list = &runs[{t.runs[i].codelet, t.workers[t.runs[i].worker].klass}];
    list->push_back(i);
  }
  std::vector<CodeletSummary> all;
  for (const auto &[key, list] : runs) {
    all.push_back({key.first, key.second, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}});
    fill(t, list, &all.back());
  }
  std::stable_sort(all.begin(), all.end(), [](const CodeletSummary &a, const CodeletSummary &b) { return a.sum > b.sum; });
  return all;
}

std::vector<LinkSummary> links_in(const Trace &t) {
  std::map<std::pair<uint32_t, uint32_t>, LinkSummary> all;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> until;
  for (const Trace::Copy &c : t.copies) {  // by begin
    LinkSummary &l = all.try_emplace({c.from, c.to}, LinkSummary{c.from, c.to}).first->second;
    ++l.copies;
    if (c.status < 0) ++l.failed;
    else l.bytes += c.bytes, (c.why == 's' ? l.save : c.why == 'p' ? l.prefetch : l.demand) += c.bytes;
    uint64_t &end = until[{c.from, c.to}];
    if (c.t1 > end) l.busy += static_cast<double>(c.t1 - std::max(c.t0, end)), end = c.t1;
  }
  for (const Trace::Link &one : t.links)
    if (const auto at = all.find({one.from, one.to}); at != all.end())
      at->second.nominal = static_cast<double>(one.bytes_per_s) / 1e9, at->second.latency = static_cast<double>(one.latency);
  std::vector<LinkSummary> list;
  for (const auto &[key, l] : all) list.push_back(l);
  return list;
}

std::vector<MemorySummary> memories_in(const Trace &t) {
  std::map<uint32_t, MemorySummary> all;
  for (const Trace::MemoryUse &u : t.memory) {
    MemorySummary &m = all.try_emplace(u.space, MemorySummary{u.space, 0, 0, 0, 0, 0, 0, {}}).first->second;
    m.most = std::max(m.most, u.bytes);
    m.limit = u.limit;
  }
  std::map<uint32_t, std::unordered_map<uint64_t, uint64_t>> first;  // by space and datum: its first eviction
  for (const Trace::Eviction &e : t.evictions) {
    MemorySummary &m = all.try_emplace(e.space, MemorySummary{e.space, 0, 0, 0, 0, 0, 0, {}}).first->second;
    ++m.evictions, m.evicted_bytes += e.bytes, ++m.evictions_of[e.datum];
    first[e.space].try_emplace(e.datum, e.at);
  }
  for (const Trace::Copy &c : t.copies) {
    const auto m = all.find(c.to);
    if (m == all.end() || c.status < 0) continue;
    m->second.arrived_bytes += c.bytes;
    const auto &gone = first[c.to];
    if (const auto at = gone.find(c.datum); at != gone.end() && at->second <= c.t1) m->second.again_bytes += c.bytes;
  }
  std::vector<MemorySummary> list;
  for (auto &[space, m] : all) list.push_back(std::move(m));
  return list;
}

}  // namespace

Summary::Summary(const History &h) : busy(h.trace.workers.size()), tasks(h.trace.workers.size()) {
  const Trace &t = h.trace;
  span = static_cast<double>(t.end - t.begin);
  codelets = codelets_in(t);
  links = links_in(t);
  memories = memories_in(t);
  for (uint32_t w = 0; w < busy.size(); ++w) {
    uint64_t until = 0;                // a body that waits may run others: its time counts once
    for (const uint32_t r : h.runs_of[w]) {
      ++tasks[w];
      if (t.runs[r].t1 > until) busy[w] += static_cast<double>(t.runs[r].t1 - std::max(t.runs[r].t0, until)), until = t.runs[r].t1;
    }
    work += busy[w];
  }
}

}  // namespace tool
