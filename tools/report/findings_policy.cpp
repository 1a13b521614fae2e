// findings_policy.cpp — rules about placement: estimates, the scheduler, workers that no codelet knows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "finding.hpp"

namespace tool {

// Estimates that are far from what is measured, of a share of the work that counts.
void find_wrong_estimates(const Analysis &a, RunFindings *out) {
  constexpr double kFactor = 1.8;
  double wrong = 0, worst = 0;
  const CodeletSummary *most = nullptr;
  for (const CodeletSummary &c : a.summary.codelets) {
    if (c.estimated < 10 || c.estimated * 2 < c.tasks || c.off <= 0) continue;
    const double factor = std::max(c.off, 1 / c.off);
    if (factor < kFactor) continue;
    wrong += c.sum;
    if (const double cost = c.sum * std::log(factor); cost > worst) worst = cost, most = &c;
  }
  const double share = wrong / std::max(1.0, a.summary.work);
  if (!most || share < 0.05) return;
  char factor[24];
  std::snprintf(factor, sizeof factor, "%.2g", std::max(most->off, 1 / most->off));
  const double idle = 1 - a.summary.work / std::max(1.0, a.idle.worker_time);
  out->push_back({"wrong-estimates", 0.05 + share * (0.3 + idle), "The models expect wrong times of " + a.codelet(most->codelet),
                  "On " + most->klass + " it takes " + factor + " times as " + (most->off > 1 ? "long" : "little") + " as expected (" +
                      time_words(most->median) + " in the middle). Such estimates stood behind " + share_words(share) +
                      " of the work, and " + a.trace.scheduler + " placed by them.",
                  "Measure anew: remove the model (consort model list shows its file), and run once with a machine that does nothing else. "
                  "If times depend on more than sizes, give the codelet a footprint of its own, or arguments that the model sees.",
                  0, 0, kNoIndex, most->codelet});
}

namespace {

bool asks_models(const std::string &scheduler) {
  for (const char *name : {"dm", "heft", "lookahead", "peft", "auto", "heteroprio", "late"})
    if (scheduler.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

// Work on units that take much longer for it than others, placed by a scheduler that does not know.
void find_wrong_policy(const Analysis &a, RunFindings *out) {
  constexpr double kFaster = 2.5;
  if (asks_models(a.trace.scheduler)) return;
  std::map<uint32_t, const CodeletSummary *> fastest;
  for (const CodeletSummary &c : a.summary.codelets) {
    const CodeletSummary *&best = fastest[c.codelet];
    if (!best || c.median < best->median) best = &c;
  }
  double lost = 0, worst = 0;
  const CodeletSummary *most = nullptr;
  for (const CodeletSummary &c : a.summary.codelets) {
    const CodeletSummary &best = *fastest[c.codelet];
    if (c.median < kFaster * best.median) continue;
    const double cost = c.sum - static_cast<double>(c.tasks) * best.median;
    lost += cost;
    if (cost > worst) worst = cost, most = &c;
  }
  const double share = lost / std::max(1.0, a.idle.worker_time);
  if (!most || share < 0.1) return;
  const CodeletSummary &best = *fastest[most->codelet];
  char factor[24];
  std::snprintf(factor, sizeof factor, "%.2g", most->median / std::max(1.0, best.median));
  out->push_back({"wrong-policy", share + a.idle.share(Reason::kEnd), "The scheduler " + a.trace.scheduler + " does not know which units are fast",
                  count_words(static_cast<double>(most->tasks), "task", "tasks") + " of " + a.codelet(most->codelet) + " ran on " + most->klass + " in " +
                      time_words(most->median) + " each; on " + best.klass + " they take " + time_words(best.median) + ", a " + factor +
                      "th. Of the workers' time, " + share_words(share) + " went there.",
                  "Use a scheduler that compares expected times: CONSORT_SCHEDULER=dmda, or auto. It measures in a first run.",
                  0, 0, kNoIndex, most->codelet});
}

// A class of workers that idles, because the codelets with the work have no implementation for it.
void find_missing_implementations(const Analysis &a, RunFindings *out) {
  const Trace &t = a.trace;
  if (t.times.empty() || !a.history.graph) return;
  std::map<std::string, std::set<uint32_t>> workers, kinds;  // by class
  for (uint32_t w = 0; w < t.workers.size(); ++w) workers[t.workers[w].klass].insert(w);
  for (const Trace::Time &one : t.times) kinds[t.workers[one.worker].klass].insert(one.kind);
  std::map<uint32_t, double> work;         // by kind
  double all = 0;
  for (uint32_t i = 0; i < t.tasks.size(); ++i)
    if (const uint32_t r = a.history.run_of[i]; r != kNoIndex) {
      const auto took = static_cast<double>(t.runs[r].t1 - t.runs[r].t0);
      work[t.tasks[i].kind] += took, all += took;
    }
  for (const auto &[klass, own] : workers) {
    double busy = 0, unable = 0, most = 0;
    for (const uint32_t w : own) busy += a.summary.busy[w];
    const double could = static_cast<double>(own.size()) * std::max(1.0, a.summary.span);
    uint32_t kind = kNoIndex;
    for (const auto &[k, ns] : work)
      if (!kinds[klass].count(k)) {
        unable += ns;
        if (ns > most) most = ns, kind = k;
      }
    if (busy > 0.25 * could || all <= 0 || unable < 0.6 * all || kind >= t.kinds.size()) continue;
    const double share = (could - busy) / std::max(1.0, a.idle.worker_time);
    if (share < 0.08) continue;
    // Others must have had enough to do, or the idle worker would have had nothing to take over.
    if (a.summary.work - busy < 0.5 * (a.idle.worker_time - could)) continue;
    out->push_back({"missing-implementation", share, "Codelet " + t.kinds[kind].codelet + " has no implementation for " + klass,
                    count_words(static_cast<double>(own.size()), "worker", "workers") + " of the class " + klass + " had work for " + share_words(busy / could) +
                        " of the time. " + share_words(unable / all) + " of the work cannot run there; most of it is of " + t.kinds[kind].codelet +
                        " (" + share_words(most / all) + ").",
                    "Add an implementation of it for " + klass + ". If there cannot be one, leave these units out, so that they use no memory.",
                    0, 0, *own.begin(), kNoIndex});
  }
}

}  // namespace tool
