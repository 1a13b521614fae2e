// trace_json.cpp — `consort trace show --json`: the sums of the tables, for programs. Times are in nanoseconds.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "json.hpp"
#include "trace.hpp"

namespace tool {
namespace {

Json workers_of(const Trace &t) {
  Json all = Json::array();
  for (const Trace::Worker &w : t.workers) all.push_back({{"name", w.name}, {"class", w.klass}, {"tasks", 0}, {"busy_ns", 0}});
  std::vector<std::pair<uint64_t, uint64_t>> sums(t.workers.size());
  for (const Trace::Run &r : t.runs) ++sums[r.worker].first, sums[r.worker].second += r.t1 - r.t0;
  for (size_t i = 0; i < sums.size(); ++i) all[i]["tasks"] = sums[i].first, all[i]["busy_ns"] = sums[i].second;
  return all;
}

Json codelets_of(const Trace &t) {
  struct Of {
    uint64_t n = 0, failed = 0, ns = 0, known = 0;
    double off = 0;
  };
  std::map<std::pair<std::string, std::string>, Of> sums;
  for (const Trace::Run &r : t.runs) {
    Of &o = sums[{t.codelet(r.codelet), t.workers[r.worker].klass}];
    const uint64_t took = r.t1 - r.t0;
    ++o.n, o.ns += took, o.failed += r.status < 0;
    if (r.expected >= 0 && took > 0)
      ++o.known, o.off += std::fabs(static_cast<double>(r.expected) - static_cast<double>(took)) / static_cast<double>(took);
  }
  Json all = Json::array();
  for (const auto &[key, o] : sums)
    all.push_back({{"codelet", key.first}, {"class", key.second}, {"tasks", o.n}, {"failed", o.failed},
                   {"mean_ns", static_cast<double>(o.ns) / static_cast<double>(o.n)},
                   {"estimates_off_by", o.known ? Json(o.off / static_cast<double>(o.known)) : Json()}});
  return all;
}

// busy_ns: overlapping copies count once.
Json copies_of(const Trace &t) {
  struct Of {
    uint64_t n = 0, bytes = 0, busy = 0, until = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Of> sums;
  for (const Trace::Copy &c : t.copies) {
    Of &o = sums[{c.from, c.to}];
    ++o.n, o.bytes += c.status < 0 ? 0 : c.bytes;
    const uint64_t from = std::max(c.t0, o.until);
    if (c.t1 > from) o.busy += c.t1 - from, o.until = c.t1;
  }
  Json all = Json::array();
  for (const auto &[key, o] : sums)
    all.push_back({{"from", t.spaces[key.first]}, {"to", t.spaces[key.second]}, {"copies", o.n}, {"bytes", o.bytes}, {"busy_ns", o.busy}});
  return all;
}

}  // namespace

std::string trace_json(const Trace &t) {
  Json all = document("trace show");
  all["clock"] = t.clock;
  all["scheduler"] = t.scheduler;
  all["span_ns"] = t.end - t.begin;
  all["tasks"] = t.runs.size();
  all["copies"] = t.copies.size();
  all["decisions"] = t.decisions.size();
  all["dropped_events"] = t.lost;
  all["workers"] = workers_of(t);
  all["codelets"] = codelets_of(t);
  all["links"] = copies_of(t);
  return text_of(all);
}

}  // namespace tool
