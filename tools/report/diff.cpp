// diff.cpp — `consort diff`: what became slower or faster between two runs, and by which cause.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../commands.hpp"
#include "../json.hpp"
#include "../terminal.hpp"
#include "comparison.hpp"

namespace tool {
namespace {

std::string signed_time(double ns) { return (ns < 0 ? "-" : "+") + time_words(std::fabs(ns)); }
Json both(double a, double b) { return Json::array({std::llround(a), std::llround(b)}); }

Json comparison_json(const Comparison &c) {
  Json all = document("diff");
  all["span_ns"] = both(c.span[0], c.span[1]);
  all["changes"] = Json::array();
  for (const Change &x : c.changes) {
    static constexpr const char *kCauses[] = {"time", "tasks", "workers", "idle"};
    const bool idle = x.kind == Change::Kind::kIdle, workers = x.kind == Change::Kind::kWorkers, codelet = !idle && !workers;
    Json one = {{"cause", kCauses[static_cast<size_t>(x.kind)]}, {"ns", std::llround(x.ns)}};
    one["codelet"] = codelet ? Json(x.codelet) : Json();
    one["class"] = codelet ? Json(x.klass) : Json();
    one["reason"] = idle ? Json(reason_name(x.why)) : Json();
    one["mean_ns"] = codelet ? both(x.mean[0], x.mean[1]) : Json();
    one["tasks"] = codelet ? Json::array({x.tasks[0], x.tasks[1]}) : Json();
    one["workers"] = workers ? Json::array({x.tasks[0], x.tasks[1]}) : Json();
    one["share"] = idle ? Json::array({x.share[0], x.share[1]}) : Json();
    all["changes"].push_back(std::move(one));
  }
  all["links"] = Json::array();
  for (const LinkChange &l : c.links)
    all["links"].push_back({{"from", l.from}, {"to", l.to}, {"copies", {l.copies[0], l.copies[1]}}, {"bytes", {l.bytes[0], l.bytes[1]}},
                            {"busy_ns", both(l.busy[0], l.busy[1])}});
  all["workers"] = Json::array();
  for (const WorkerChange &w : c.workers)
    all["workers"].push_back({{"name", w.name}, {"tasks", {w.in[0] ? Json(w.tasks[0]) : Json(), w.in[1] ? Json(w.tasks[1]) : Json()}},
                              {"busy", {w.in[0] ? Json(w.busy[0]) : Json(), w.in[1] ? Json(w.busy[1]) : Json()}}});
  all["findings_come"] = c.come;
  all["findings_gone"] = c.gone;
  return all;
}

void print_changes(const Comparison &c, const std::string &first, const std::string &second) {
  const double more = c.span[1] - c.span[0];
  std::printf("%s: %s\n%s: %s, %s", printable(first).c_str(), time_words(c.span[0]).c_str(), printable(second).c_str(), time_words(c.span[1]).c_str(),
              more == 0 ? "as long" : (signed_time(more) + (more > 0 ? ", longer" : ", shorter")).c_str());
  if (c.span[0] > 0 && more != 0) std::printf(" by %s", share_words(std::fabs(more) / c.span[0]).c_str());
  std::printf("\n\n");
  // What is less than a hundredth of a run is no cause.
  const double least = std::max(c.span[0], c.span[1]) / 100;
  Table causes({"OF THE RUN", "CAUSE"});
  causes.right(0);
  size_t small = 0;
  for (const Change &x : c.changes) {
    if (std::fabs(x.ns) >= least) causes.add({signed_time(x.ns), change_words(x)});
    else ++small;
  }
  if (!causes.empty()) causes.print();
  else std::puts("No cause takes a hundredth of the run.");
  if (small && !causes.empty()) std::printf("%s of less than a hundredth of the run\n", count_words(static_cast<double>(small), "change", "changes").c_str());
}

void print_tables(const Comparison &c) {
  Table links({"FROM", "TO", "COPIES", "BYTES", "BUSY"});
  for (const size_t column : {2, 3, 4}) links.right(column);
  const auto arrow = [](const std::string &a, const std::string &b) { return a == b ? a : a + " -> " + b; };
  for (const LinkChange &l : c.links)
    links.add({l.from, l.to, arrow(std::to_string(l.copies[0]), std::to_string(l.copies[1])), arrow(bytes(l.bytes[0]), bytes(l.bytes[1])),
               arrow(time_words(l.busy[0]), time_words(l.busy[1]))});
  if (!links.empty()) std::puts(""), links.print();
  Table workers({"WORKER", "TASKS", "BUSY"});
  for (const size_t column : {1, 2}) workers.right(column);
  constexpr size_t kMost = 64;
  for (size_t i = 0; i < std::min(kMost, c.workers.size()); ++i) {
    const WorkerChange &w = c.workers[i];
    const auto told = [&](int run, const std::string &text) { return w.in[run] ? text : "none"; };
    workers.add({w.name, arrow(told(0, std::to_string(w.tasks[0])), told(1, std::to_string(w.tasks[1]))),
                 arrow(told(0, share_words(w.busy[0])), told(1, share_words(w.busy[1])))});
  }
  if (!workers.empty()) std::puts(""), workers.print();
  if (c.workers.size() > kMost) std::printf("and %zu more workers; --json has all\n", c.workers.size() - kMost);
  const auto list = [](const char *what, const std::vector<std::string> &rules) {
    std::string all;
    for (const std::string &r : rules) all += (all.empty() ? "" : ", ") + r;
    if (!rules.empty()) std::printf("%s: %s\n", what, all.c_str());
  };
  if (!c.come.empty() || !c.gone.empty()) std::puts("");
  list("New findings (consort report)", c.come);
  list("Findings that are gone", c.gone);
}

}  // namespace

int run_diff(const std::string &first, const std::string &second, bool json) {
  Progress progress("reading " + first);
  const Trace a = read_trace(first);
  progress.now("reading " + second);
  const Trace b = read_trace(second);
  progress.now("comparing");
  const Comparison c{Analysis(a), Analysis(b)};
  progress.clear();
  if (json) return print(comparison_json(c)), 0;
  for (const Trace *t : {&a, &b})
    if (t->lost || t->unlogged) warn("events were dropped from " + (t == &a ? first : second) + ": raise the setting trace_buffer, or trace_events where they stay in memory");
  if (a.clock != b.clock) warn("one run is in virtual time, the other in real time");
  print_changes(c, first, second);
  print_tables(c);
  return 0;
}

}  // namespace tool
