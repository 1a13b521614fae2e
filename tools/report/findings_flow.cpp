// findings_flow.cpp — rules about the order of tasks: what is submitted when, chains, priorities, an uneven end.
#include <algorithm>
#include <map>

#include "../commands.hpp"
#include "finding.hpp"

namespace tool {

void find_submission(const Analysis &a, RunFindings *out) {
  const double share = a.idle.share(Reason::kSubmission);
  if (!a.history.submissions || share < 0.15) return;
  uint64_t first = UINT64_MAX, last = 0;
  for (const Trace::Task &t : a.trace.tasks) first = std::min(first, t.at), last = std::max(last, t.at);
  const double n = static_cast<double>(a.trace.tasks.size());
  out->push_back({"submission", share, "The program submits too slowly",
                  "Workers had no task for " + share_words(share) + " of their time while the program had not submitted its next: " +
                      count_words(n, "task", "tasks") + " came in " + time_words(static_cast<double>(last - first)) + ", " +
                      time_words(static_cast<double>(last - first) / std::max(1.0, n)) + " each.",
                  "Do not wait between submissions (consort_wait_all, reads of data) where the order of data suffices; compute what the "
                  "program computes between two submissions in tasks; or submit from several threads. For repeated graphs, record and replay.",
                  0, 0, kNoIndex, kNoIndex});
}

namespace {

// The codelet with the most time on the chain, and the datum that orders most of it.
std::string chain_words(const Analysis &a, uint32_t *codelet) {
  std::map<uint32_t, double> time;
  std::map<uint32_t, size_t> through;
  for (size_t i = 0; i < a.path.chain.size(); ++i) {
    const Trace::Run &r = a.trace.runs[a.path.chain[i]];
    time[r.codelet] += static_cast<double>(r.t1 - r.t0);
    if (a.path.chain_data[i] != kNoIndex) ++through[a.path.chain_data[i]];
  }
  *codelet = std::max_element(time.begin(), time.end(), [](const auto &x, const auto &y) { return x.second < y.second; })->first;
  std::string words = "mostly of " + a.codelet(*codelet);
  if (through.empty()) return words;
  const auto most = std::max_element(through.begin(), through.end(), [](const auto &x, const auto &y) { return x.second < y.second; });
  if (most->second * 2 <= a.path.chain.size()) return words;
  return words + ", ordered by " + a.datum_words(a.trace.data[most->first].id);
}

}  // namespace

// A chain as long as the run: more workers do not help. A chain that could have begun earlier: its tasks waited in queues.
void find_chain(const Analysis &a, RunFindings *out) {
  const double order = a.idle.share(Reason::kOrder) + a.idle.share(Reason::kEnd), span = std::max(1.0, a.summary.span);
  if (!a.history.graph || a.path.chain.size() < 3 || order < 0.15) return;
  uint32_t codelet = 0;
  const std::string chain = count_words(static_cast<double>(a.path.chain.size()), "task", "tasks") + " that wait for each other take " +
                            time_words(a.path.longest_chain);
  if (a.path.longest_chain > 0.75 * span) {
    const std::string mostly = chain_words(a, &codelet);
    out->push_back({"serial-chain", order, "A chain of tasks is as long as the run",
                    chain + ", " + share_words(a.path.longest_chain / span) + " of the whole run, " + mostly + "; workers waited for it " +
                        share_words(order) + " of their time.",
                    "Shorten the chain: divide its tasks, make them faster, or remove an order that the program does not need. A datum that "
                    "tasks only add to can be a reduction; one that they change in any order, commuting; one that some only read, read.",
                    0, 0, kNoIndex, codelet});
  } else if (a.path.queued > 0.15 * span) {
    const std::string mostly = chain_words(a, &codelet);
    bool priorities = false;
    for (const Trace::Task &t : a.trace.tasks) priorities |= t.priority != a.trace.tasks[0].priority;
    out->push_back({"missing-priority", order * 1.1, "Tasks of the longest chain waited behind others",
                    chain + " (" + mostly + "). They were ready, and their worker ran others first, for " + time_words(a.path.queued) + " of " +
                        time_words(span) + "; for " + share_words(order) + " of their time workers waited for other tasks or had none left.",
                    priorities ? "Use a scheduler that observes priorities (prio, lws, dmdas), or one that sees the graph ahead (graph-lookahead)."
                               : "Give the tasks of this chain a higher priority, with a scheduler that observes it (prio, lws, dmdas), or use one "
                                 "that sees the graph ahead (graph-lookahead).",
                    0, 0, kNoIndex, codelet});
  }
}

// Few workers end later than all others.
void find_uneven_end(const Analysis &a, RunFindings *out) {
  const size_t end = static_cast<size_t>(Reason::kEnd), n = a.trace.workers.size();
  double lost = 0, most = 0;
  uint32_t last = 0, count = 0;
  uint64_t latest = 0;
  for (uint32_t w = 0; w < n; ++w) {
    if (!a.summary.tasks[w]) continue;
    ++count;
    lost += a.idle.by_worker[w][end];
    most = std::max(most, a.idle.by_worker[w][end]);
    for (const uint32_t r : a.history.runs_of[w])
      if (a.trace.runs[r].t1 > latest) latest = a.trace.runs[r].t1, last = r;
  }
  const double share = lost / std::max(1.0, a.idle.worker_time);
  if (count < 2 || share < 0.15 || a.path.longest_chain > 0.75 * a.summary.span) return;
  const Trace::Run &r = a.trace.runs[last];
  out->push_back({"uneven-end", share, "Most workers end early and wait for the last",
                  "After their last task, workers waited " + time_words(most) + " at most and " + share_words(share) + " of all their time for " +
                      a.trace.workers[r.worker].name + ", whose last task of " + a.codelet(r.codelet) + " took " +
                      time_words(static_cast<double>(r.t1 - r.t0)) + ".",
                  "Divide the long tasks at the end, or let them begin first by their priority. If the last worker had a queue of its own "
                  "left, use a scheduler that balances (lws, ws, dmda).",
                  r.t0, r.t1, r.worker, r.codelet});
}

// Ready tasks beside workers that could run them and had none.
void find_withheld_tasks(const Analysis &a, RunFindings *out) {
  const double share = a.idle.share(Reason::kScheduling);
  if (!a.history.graph || share < 0.2) return;
  // By models, a scheduler may keep a task for a unit that is busy and faster.
  bool on_purpose = false;
  for (const char *name : {"dm", "heft", "lookahead"}) on_purpose |= a.trace.scheduler.find(name) != std::string::npos;
  bool unlike = false;
  for (const Trace::Worker &w : a.trace.workers) unlike |= w.klass != a.trace.workers[0].klass;
  if (on_purpose && unlike) {
    out->push_back({"withheld-tasks", share * 0.4, "Workers had no task while tasks were ready that they can run",
                    "That was " + share_words(share) + " of their time: " + a.trace.scheduler + " kept the tasks for units that it expects to be done sooner.",
                    "Compare with the bound (below). If there is much to gain, divide tasks, so that slow units have some that they end in time, or "
                    "try graph-lookahead, which sees the tasks that follow.",
                    0, 0, kNoIndex, kNoIndex});
    return;
  }
  out->push_back({"withheld-tasks", share * 0.8, "Workers had no task while tasks were ready for them",
                  "That was " + share_words(share) + " of their time, with the scheduler " + a.trace.scheduler + ".",
                  "Try a scheduler that keeps workers busy: lws, ws or eager where tasks take equally long everywhere, dmda with models where "
                  "they do not. If it keeps tasks for a faster worker on purpose, the bound (below) says whether that pays.",
                  0, 0, kNoIndex, kNoIndex});
}

}  // namespace tool
