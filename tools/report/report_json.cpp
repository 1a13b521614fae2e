// report_json.cpp — `consort report --json`: times in ns, sizes in bytes. The page carries the same object.
#include <algorithm>

#include "report.hpp"

namespace tool {
namespace {

Json or_null(double x, bool known) { return known ? Json(x) : Json(); }
Json rounded(double x) { return static_cast<int64_t>(std::min(x, 9e18) + 0.5); }

Json idle_json(const Idle::Sums &sums) {
  Json all = Json::object();
  for (size_t i = 0; i < kReasons; ++i) all[std::string(reason_name(static_cast<Reason>(i))) + "_ns"] = rounded(sums[i]);
  return all;
}

Json findings_json(const Analysis &a, const RunFindings &findings) {
  Json all = Json::array();
  for (const RunFinding &f : findings)
    all.push_back({{"rule", f.rule}, {"share", f.share}, {"title", f.title}, {"evidence", f.evidence}, {"remedy", f.remedy},
                   {"worker", f.worker == kNoIndex ? Json() : Json(a.trace.workers[f.worker].name)},
                   {"codelet", f.codelet == kNoIndex ? Json() : Json(a.trace.codelet(f.codelet))},
                   {"from_ns", f.t1 ? Json(f.t0 - a.trace.begin) : Json()}, {"to_ns", f.t1 ? Json(f.t1 - a.trace.begin) : Json()}});
  return all;
}

Json codelet_tables(const Analysis &a) {
  Json all = Json::array();
  for (const CodeletSummary &c : a.summary.codelets) {
    Json bars = Json::array();
    for (const uint32_t n : c.histogram) bars.push_back(n);
    all.push_back({{"codelet", a.trace.codelet(c.codelet)}, {"class", c.klass}, {"tasks", c.tasks}, {"failed", c.failed}, {"sum_ns", rounded(c.sum)},
                   {"least_ns", rounded(c.least)}, {"median_ns", rounded(c.median)}, {"p90_ns", rounded(c.p90)}, {"most_ns", rounded(c.most)},
                   {"measured_to_expected", or_null(c.off, c.off > 0)}, {"histogram", {{"low_ns", c.low}, {"factor", c.step}, {"tasks", bars}}}});
  }
  return all;
}

Json link_tables(const Analysis &a) {
  Json all = Json::array();
  for (const LinkSummary &l : a.summary.links)
    all.push_back({{"from", a.trace.spaces[l.from]}, {"to", a.trace.spaces[l.to]}, {"copies", l.copies}, {"failed", l.failed}, {"bytes", l.bytes},
                   {"demand_bytes", l.demand}, {"prefetch_bytes", l.prefetch}, {"save_bytes", l.save}, {"busy_ns", rounded(l.busy)},
                   {"bytes_per_s", or_null(l.nominal * 1e9, l.nominal > 0)}});
  return all;
}

}  // namespace

Json report_json(const Analysis &a, const RunFindings &findings, const Json &bound) {
  const Trace &t = a.trace;
  Json all = document("report");
  all["clock"] = t.clock;
  all["scheduler"] = t.scheduler;
  all["span_ns"] = t.end - t.begin;
  all["tasks"] = t.runs.size();
  all["copies"] = t.copies.size();
  all["dropped_events"] = t.lost + t.unlogged;
  all["graph"] = a.history.graph;
  all["findings"] = findings_json(a, findings);
  all["busy_ns"] = rounded(a.summary.work);
  all["idle"] = idle_json(a.idle.all);
  Json workers = Json::array();
  for (uint32_t w = 0; w < t.workers.size(); ++w)
    workers.push_back({{"name", t.workers[w].name}, {"class", t.workers[w].klass},
                       {"memory", t.workers[w].space < 0 ? Json() : Json(t.spaces[static_cast<size_t>(t.workers[w].space)])}, {"tasks", a.summary.tasks[w]},
                       {"busy_ns", rounded(a.summary.busy[w])}, {"asleep_ns", rounded(a.idle.asleep[w])}, {"idle", idle_json(a.idle.by_worker[w])}});
  all["workers"] = workers;
  all["codelets"] = codelet_tables(a);
  all["links"] = link_tables(a);
  Json memories = Json::array();
  for (const MemorySummary &m : a.summary.memories)
    memories.push_back({{"memory", t.spaces[m.space]}, {"most_bytes", m.most}, {"limit_bytes", m.limit ? Json(m.limit) : Json()}, {"evictions", m.evictions},
                        {"evicted_bytes", m.evicted_bytes}, {"arrived_bytes", m.arrived_bytes}, {"arrived_again_bytes", m.again_bytes}});
  all["memories"] = memories;
  all["critical_path"] = {{"tasks", a.path.steps.size()}, {"work_ns", rounded(a.path.work)}, {"data_ns", rounded(a.path.fetching)},
                          {"waiting_ns", rounded(a.path.waiting)}, {"submission_ns", rounded(a.path.late)}, {"queued_ns", rounded(a.path.queued)},
                          {"longest_chain_ns", a.history.graph ? rounded(a.path.longest_chain) : Json()}, {"chain_tasks", a.path.chain.size()}};
  all["bound"] = bound.is_object() ? Json{{"bound_ns", bound["bound_ns"]}, {"share", bound["share"]}} : Json();
  return all;
}

}  // namespace tool
