#include "task_story.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "../commands.hpp"

namespace tool {

TaskStory::TaskStory(const Analysis &all, const std::string &which) : a(all) {
  find(which);
  for (const Trace::Run &r : a.trace.runs) runs += r.task == id;
  for (const Trace::Decision &d : a.trace.decisions)
    if (d.task == id && d.at <= a.trace.runs[run].t0) decision = d;
  tell_wait();
  tell_places();
  tell_inputs();
}

void TaskStory::find(const std::string &which) {
  const Trace &t = a.trace;
  const std::string digits = which.rfind("0x", 0) == 0 ? which.substr(2) : which;
  char *end = nullptr;
  const unsigned long long number = std::strtoull(digits.c_str(), &end, 16);
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos && digits.size() <= 16;
  for (uint32_t i = 0; is_number && i < t.runs.size(); ++i)  // the last of its runs, as in the history
    if (t.runs[i].task == number && (run == kNoIndex || t.runs[run].t1 <= t.runs[i].t1)) run = i;
  const bool by_name = run == kNoIndex;
  uint64_t longest = 0;
  for (uint32_t i = 0; by_name && i < t.runs.size(); ++i) {
    if (t.codelet(t.runs[i].codelet) != which) continue;
    const uint32_t of = a.history.task_of[i];
    const uint64_t late = of == kNoIndex ? 0 : t.runs[i].t0 - std::min(a.history.ready[of], t.runs[i].t0);
    if (run == kNoIndex || late > longest) run = i, longest = late;
  }
  if (run == kNoIndex) {
    std::set<std::string> names;
    for (const Trace::Run &r : t.runs) names.insert(t.codelet(r.codelet));
    const std::vector<std::string> known(names.begin(), names.end());
    throw std::runtime_error("no task \"" + which + "\" ran in this trace" + did_you_mean(which, known) +
                             "; give the number of a task (consort trace export --format csv lists them) or the name of a codelet");
  }
  id = t.runs[run].task;
  task = a.history.task_of[run];
}

void TaskStory::tell_wait() {
  const Trace &t = a.trace;
  const Trace::Run &own = t.runs[run];
  const History &h = a.history;
  if (task == kNoIndex) return;
  ready = h.ready[task];
  const uint32_t *first = h.before.begin(task);
  for (const uint32_t *p = first; p != h.before.end(task); ++p) {
    if (last_before != kNoIndex && h.end_of(*p) <= h.end_of(last_before)) continue;
    last_before = *p;
    last_datum = h.edge_datum[static_cast<size_t>(p - h.before.all.data())];
  }
  uint64_t busy_until = ready;
  for (uint32_t i = h.previous[run]; i != kNoIndex && t.runs[i].t1 > ready; i = h.previous[i]) {
    busy_until = std::max(busy_until, std::min(t.runs[i].t1, own.t0));
    worker_busy += static_cast<double>(std::min(t.runs[i].t1, own.t0) - std::min(std::max(t.runs[i].t0, ready), own.t0));
    ++ran_between;
  }
  const uint64_t fetch = h.fetch_from[run];
  if (fetch && fetch < own.t0) data = static_cast<double>(own.t0 - std::max(fetch, busy_until));
  rest = std::max(0.0, static_cast<double>(own.t0 - ready) - worker_busy - data);
}

void TaskStory::tell_places() {
  const Trace &t = a.trace;
  if (task == kNoIndex) return;
  const Trace::Run &own = t.runs[run];
  for (const Trace::Time &one : t.times) {
    if (one.kind != t.tasks[task].kind || one.worker == own.worker) continue;
    Place p{one.worker, static_cast<double>(one.ns)};
    const auto &list = a.history.runs_of[one.worker];  // by begin
    auto after = std::partition_point(list.begin(), list.end(), [&](uint32_t i) { return t.runs[i].t0 <= own.t0; });
    if (after != list.begin() && t.runs[*(after - 1)].t1 > own.t0) p.free_at = t.runs[*(after - 1)].t1;
    places.push_back(p);
  }
  std::stable_sort(places.begin(), places.end(), [](const Place &x, const Place &y) {
    return (x.expected < 0 ? 1e300 : x.expected) < (y.expected < 0 ? 1e300 : y.expected);
  });
}

void TaskStory::tell_inputs() {
  const Trace &t = a.trace;
  if (task == kNoIndex) return;
  const Trace::Run &own = t.runs[run];
  std::map<uint64_t, uint32_t> number;
  for (uint32_t i = 0; i < t.data.size(); ++i) number.emplace(t.data[i].id, i);
  const int32_t space = t.workers[own.worker].space;
  const uint32_t from = task ? t.tasks[task - 1].uses : 0;
  for (uint32_t u = from; u < t.tasks[task].uses; ++u) {
    const auto at = number.find(t.uses[u].datum);
    if (at == number.end()) continue;
    Input in{at->second, t.uses[u].how, kNoIndex, {}};
    const uint32_t *first = a.history.before.begin(task);
    for (const uint32_t *p = first; p != a.history.before.end(task); ++p) {
      if (a.history.edge_datum[static_cast<size_t>(p - a.history.before.all.data())] != in.datum) continue;
      for (uint32_t v = *p ? t.tasks[*p - 1].uses : 0; v < t.tasks[*p].uses; ++v)
        if (t.uses[v].datum == t.uses[u].datum && t.uses[v].how != 'r') in.writer = *p;
    }
    for (uint32_t i = 0; space >= 0 && i < t.copies.size() && t.copies[i].t0 <= own.t0; ++i)
      if (t.copies[i].datum == t.uses[u].datum && static_cast<int32_t>(t.copies[i].to) == space && t.copies[i].t1 <= own.t0 && t.copies[i].t1 >= ready)
        in.copies.push_back(i);
    inputs.push_back(std::move(in));
  }
}

}  // namespace tool
