#include "critical_path.hpp"

#include <algorithm>

namespace tool {
namespace {

double took(const Trace::Run &r) { return static_cast<double>(r.t1 - r.t0); }

void find_chain(const History &h, CriticalPath *out) {
  const size_t n = h.trace.tasks.size();
  std::vector<double> longest(n);
  std::vector<uint32_t> from(n, kNoIndex), datum(n, kNoIndex);
  uint32_t last = kNoIndex;
  for (uint32_t i = 0; i < n; ++i) {
    for (const uint32_t *p = h.before.begin(i); p != h.before.end(i); ++p)
      if (longest[*p] > longest[i]) longest[i] = longest[*p], from[i] = *p, datum[i] = h.edge_datum[static_cast<size_t>(p - h.before.all.data())];
    if (h.run_of[i] != kNoIndex) longest[i] += took(h.trace.runs[h.run_of[i]]);
    if (last == kNoIndex || longest[i] > longest[last]) last = i;
  }
  if (last == kNoIndex) return;
  out->longest_chain = longest[last];
  for (uint32_t i = last; i != kNoIndex; i = from[i])
    if (h.run_of[i] != kNoIndex) out->chain.push_back(h.run_of[i]), out->chain_data.push_back(datum[i]);
  std::reverse(out->chain.begin(), out->chain.end());
  std::reverse(out->chain_data.begin(), out->chain_data.end());
  for (const uint32_t r : out->chain) {  // from its last predecessor's end to the end of what its worker did meanwhile
    const uint32_t p = h.previous[r];
    const uint64_t ready = h.ready[h.task_of[r]];
    if (p != kNoIndex && h.trace.runs[p].t1 > ready && h.trace.runs[p].t1 <= h.trace.runs[r].t0) out->queued += static_cast<double>(h.trace.runs[p].t1 - ready);
  }
}

// The predecessor's end is that of a run: tasks without a body are passed through.
struct Latest { uint32_t run = kNoIndex, datum = kNoIndex; uint64_t end = 0; };
Latest latest_before(const History &h, uint32_t task) {
  for (uint32_t datum = kNoIndex, hops = 0; hops < 64; ++hops) {
    uint32_t best = kNoIndex, best_datum = kNoIndex;
    for (const uint32_t *p = h.before.begin(task); p != h.before.end(task); ++p)
      if (best == kNoIndex || h.end_of(*p) > h.end_of(best)) best = *p, best_datum = h.edge_datum[static_cast<size_t>(p - h.before.all.data())];
    if (best == kNoIndex) return {};
    if (datum == kNoIndex) datum = best_datum;
    if (h.run_of[best] != kNoIndex) return {h.run_of[best], datum, h.end_of(best)};
    task = best;
  }
  return {};
}

}  // namespace

CriticalPath::CriticalPath(const History &h) {
  const Trace &t = h.trace;
  if (h.graph) find_chain(h, this);
  uint32_t at = kNoIndex;
  for (uint32_t r = 0; r < t.runs.size(); ++r)
    if (at == kNoIndex || t.runs[r].t1 > t.runs[at].t1) at = r;
  while (at != kNoIndex && steps.size() < t.runs.size()) {
    const Trace::Run &run = t.runs[at];
    const uint32_t task = h.task_of[at];
    PathStep step{at, PathStep::Cause::kStart, t.begin};
    uint32_t next = kNoIndex;
    const Latest order = task == kNoIndex ? Latest{} : latest_before(h, task);
    if (order.run != kNoIndex && order.end <= run.t0) {
      step = {at, PathStep::Cause::kOrder, order.end, order.datum};
      next = order.run;
    }
    if (const uint32_t p = h.previous[at]; p != kNoIndex && t.runs[p].t1 <= run.t0 && t.runs[p].t1 > step.from) {
      step = {at, PathStep::Cause::kWorker, t.runs[p].t1};
      next = p;
    }
    const uint64_t submitted = task == kNoIndex ? 0 : t.tasks[task].at;
    if (submitted > step.from && submitted <= run.t0) {
      late += static_cast<double>(submitted - step.from);
      step = {at, PathStep::Cause::kSubmission, submitted};
      next = h.previous[at];               // the path goes on with what this worker did before
      if (next != kNoIndex && t.runs[next].t1 > run.t0) next = kNoIndex;
    }
    work += took(run);
    const uint64_t fetch = h.fetch_from[at] ? std::max(h.fetch_from[at], step.from) : run.t0;
    fetching += static_cast<double>(run.t0 - fetch);
    waiting += static_cast<double>(fetch - std::min(step.from, fetch));
    steps.push_back(step);
    if (next != kNoIndex && t.runs[next].t0 >= run.t0 && next >= at) break;  // no way back in time
    at = next;
  }
  std::reverse(steps.begin(), steps.end());
}

}  // namespace tool
