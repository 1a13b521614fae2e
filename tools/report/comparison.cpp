#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tool {
namespace {

double workers_of(const Analysis &a) { return static_cast<double>(std::max<size_t>(1, a.trace.workers.size())); }

void compare_codelets(const Analysis *const (&runs)[2], std::vector<Change> *all) {
  struct Both { double sum[2] = {0, 0}; uint64_t tasks[2] = {0, 0}; };
  std::map<std::pair<std::string, std::string>, Both> by_name;
  for (int i = 0; i < 2; ++i)
    for (const CodeletSummary &c : runs[i]->summary.codelets) {
      Both &b = by_name[{runs[i]->codelet(c.codelet), c.klass}];
      b.sum[i] += c.sum;
      b.tasks[i] += c.tasks;
    }
  Change fewer{};
  fewer.kind = Change::Kind::kWorkers;
  for (int i = 0; i < 2; ++i) fewer.tasks[i] = runs[i]->trace.workers.size();
  const double workers = workers_of(*runs[1]), share = 1 / workers - 1 / workers_of(*runs[0]);
  for (const auto &[name, b] : by_name) {
    Change c{};
    c.codelet = name.first, c.klass = name.second;
    for (int i = 0; i < 2; ++i) {
      c.tasks[i] = b.tasks[i];
      c.mean[i] = b.tasks[i] ? b.sum[i] / static_cast<double>(b.tasks[i]) : 0;
    }
    const double then = static_cast<double>(b.tasks[0]), now = static_cast<double>(b.tasks[1]);
    c.kind = Change::Kind::kMore, c.ns = (now - then) / workers * (b.tasks[0] ? c.mean[0] : c.mean[1]);
    all->push_back(c);
    c.kind = Change::Kind::kSlower, c.ns = b.tasks[0] && b.tasks[1] ? now / workers * (c.mean[1] - c.mean[0]) : 0;
    all->push_back(c);
    fewer.ns += b.sum[0] * share;
  }
  all->push_back(fewer);
}

// Times of one worker that overlap, as a body's that waits and that of the body it runs meanwhile, count twice as busy;
// what is left of the difference belongs to no reason.
void compare_idle(const Analysis *const (&runs)[2], std::vector<Change> *all) {
  for (size_t r = 0; r < kReasons; ++r) {
    Change c{};
    c.kind = Change::Kind::kIdle, c.why = static_cast<Reason>(r);
    double ns[2];
    for (int i = 0; i < 2; ++i) ns[i] = runs[i]->idle.all[r] / workers_of(*runs[i]), c.share[i] = runs[i]->idle.share(c.why);
    c.ns = ns[1] - ns[0];
    all->push_back(c);
  }
}

std::vector<LinkChange> compare_links(const Analysis *const (&runs)[2]) {
  std::map<std::pair<std::string, std::string>, LinkChange> by_ends;
  for (int i = 0; i < 2; ++i)
    for (const LinkSummary &l : runs[i]->summary.links) {
      const std::string &from = runs[i]->trace.spaces[l.from], &to = runs[i]->trace.spaces[l.to];
      LinkChange &c = by_ends[{from, to}];
      c.from = from, c.to = to;
      c.copies[i] += l.copies, c.bytes[i] += l.bytes, c.busy[i] += l.busy;
    }
  std::vector<LinkChange> all;
  for (auto &[ends, c] : by_ends) all.push_back(std::move(c));
  std::stable_sort(all.begin(), all.end(), [](const LinkChange &x, const LinkChange &y) {
    return std::max(x.bytes[0], x.bytes[1]) > std::max(y.bytes[0], y.bytes[1]);
  });
  return all;
}

std::vector<WorkerChange> compare_workers(const Analysis *const (&runs)[2]) {
  std::vector<WorkerChange> all;
  std::map<std::string, size_t> place;
  for (int i = 0; i < 2; ++i)
    for (uint32_t w = 0; w < runs[i]->trace.workers.size(); ++w) {
      const std::string &name = runs[i]->trace.workers[w].name;
      const auto at = place.emplace(name, all.size());
      if (at.second) all.emplace_back().name = name;
      WorkerChange &c = all[at.first->second];
      c.in[i] = true;
      c.tasks[i] += runs[i]->summary.tasks[w];
      c.busy[i] = runs[i]->summary.span > 0 ? runs[i]->summary.busy[w] / runs[i]->summary.span : 0;
    }
  return all;
}

std::vector<std::string> rules_without(const RunFindings &some, const RunFindings &others) {
  std::vector<std::string> all;
  for (const RunFinding &f : some)
    if (std::none_of(others.begin(), others.end(), [&](const RunFinding &g) { return g.rule == f.rule; }) &&
        std::find(all.begin(), all.end(), f.rule) == all.end())
      all.push_back(f.rule);
  return all;
}

}  // namespace

Comparison::Comparison(const Analysis &first, const Analysis &second) : span{first.summary.span, second.summary.span} {
  const Analysis *const runs[2] = {&first, &second};
  compare_codelets(runs, &changes);
  compare_idle(runs, &changes);
  changes.erase(std::remove_if(changes.begin(), changes.end(), [](const Change &c) { return c.ns == 0; }), changes.end());
  std::stable_sort(changes.begin(), changes.end(), [](const Change &x, const Change &y) { return std::fabs(x.ns) > std::fabs(y.ns); });
  links = compare_links(runs);
  workers = compare_workers(runs);
  const RunFindings found[2] = {find_all(first), find_all(second)};
  come = rules_without(found[1], found[0]);
  gone = rules_without(found[0], found[1]);
}

std::string change_words(const Change &c) {
  const auto from_to = [](const std::string &a, const std::string &b) { return a + " -> " + b; };
  switch (c.kind) {
    case Change::Kind::kSlower:
      return c.codelet + " on " + c.klass + " takes " + (c.ns > 0 ? "longer: " : "less time: ") +
             from_to(time_words(c.mean[0]), time_words(c.mean[1]));
    case Change::Kind::kMore:
      return c.codelet + " on " + c.klass + " has " + (c.ns > 0 ? "more" : "fewer") + " tasks: " +
             from_to(std::to_string(c.tasks[0]), std::to_string(c.tasks[1]));
    case Change::Kind::kWorkers:
      return std::string("the same work is for ") + (c.ns > 0 ? "fewer" : "more") + " workers: " +
             from_to(std::to_string(c.tasks[0]), std::to_string(c.tasks[1]));
    case Change::Kind::kIdle: break;
  }
  return std::string("workers without a task, ") + reason_words(c.why) + ": " + from_to(share_words(c.share[0]), share_words(c.share[1]));
}

}  // namespace tool
