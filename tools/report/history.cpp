#include "history.hpp"

#include <algorithm>

namespace tool {

History::History(const Trace &t) : trace(t), graph(!t.tasks.empty()) {
  submissions = graph && std::all_of(t.tasks.begin(), t.tasks.end(), [](const Trace::Task &one) { return one.at != 0; });
  runs_of.resize(t.workers.size());
  previous.resize(t.runs.size());
  for (uint32_t i = 0; i < t.runs.size(); ++i) {
    auto &own = runs_of[t.runs[i].worker];
    previous[i] = own.empty() ? kNoIndex : own.back();
    own.push_back(i);
  }
  match_runs();
  derive_order(t, &before, &edge_datum);
  behind.ends.assign(t.tasks.size(), 0);
  for (const uint32_t p : before.all) ++behind.ends[p];
  for (size_t i = 1; i < behind.ends.size(); ++i) behind.ends[i] += behind.ends[i - 1];
  behind.all.resize(before.all.size());
  std::vector<uint32_t> at = behind.ends;
  for (size_t i = before.size(); i-- > 0;)
    for (const uint32_t *p = before.begin(i); p != before.end(i); ++p) behind.all[--at[*p]] = static_cast<uint32_t>(i);
  find_moments();
}

// A task that ran on several workers, or again, counts by its last run; the others belong to it as well.
void History::match_runs() {
  std::unordered_map<uint64_t, uint32_t> number;
  number.reserve(trace.tasks.size());
  for (uint32_t i = 0; i < trace.tasks.size(); ++i) number.emplace(trace.tasks[i].id, i);
  run_of.assign(trace.tasks.size(), kNoIndex);
  task_of.assign(trace.runs.size(), kNoIndex);
  std::unordered_map<uint64_t, uint32_t> run_by_id;
  if (!trace.fetches.empty()) run_by_id.reserve(trace.runs.size());
  for (uint32_t r = 0; r < trace.runs.size(); ++r) {
    if (!trace.fetches.empty()) run_by_id[trace.runs[r].task] = r;
    const auto at = number.find(trace.runs[r].task);
    if (at == number.end()) continue;
    task_of[r] = at->second;
    uint32_t &known = run_of[at->second];
    if (known == kNoIndex || trace.runs[known].t1 <= trace.runs[r].t1) known = r;
  }
  fetch_from.assign(trace.runs.size(), 0);
  for (const Trace::Fetch &f : trace.fetches)
    if (const auto r = run_by_id.find(f.task); r != run_by_id.end() && trace.runs[r->second].worker == f.worker && f.t0 <= trace.runs[r->second].t0)
      fetch_from[r->second] = f.t0;
}

// Tasks stand in the order of submission, so predecessors come first.
void History::find_moments() {
  ready.resize(trace.tasks.size());
  for (uint32_t i = 0; i < ready.size(); ++i) {
    uint64_t at = trace.tasks[i].at ? trace.tasks[i].at : trace.begin;
    for (const uint32_t *p = before.begin(i); p != before.end(i); ++p) at = std::max(at, end_of(*p));
    // The driver's clock may differ from the runtime's by a little.
    ready[i] = run_of[i] == kNoIndex ? at : std::min(at, trace.runs[run_of[i]].t0);
  }
}

}  // namespace tool
