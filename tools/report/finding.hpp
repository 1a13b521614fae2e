// finding.hpp — what cost a run time, in plain words, with what helps.
//
// Each rule is a function that looks at the whole analysis and adds what it finds. A rule that finds nothing is silent.
#pragma once
#include <string>
#include <vector>

#include "critical_path.hpp"
#include "idle.hpp"
#include "summary.hpp"

namespace tool {

struct Analysis {
  explicit Analysis(const Trace &t) : trace(t), history(t), idle(history), path(history), summary(history) {}
  const Trace &trace;
  History history;
  Idle idle;
  CriticalPath path;
  Summary summary;

  std::string codelet(uint32_t number) const { return trace.codelet(number); }
  std::string datum_words(uint64_t id) const;   // "datum 2b (1.0 MiB)"
};

struct RunFinding {
  std::string rule;                        // a stable name: docs/report.md lists them
  double share;                            // of the workers' time that it cost, about; orders the findings
  std::string title, evidence, remedy;
  uint64_t t0 = 0, t1 = 0;                 // where it shows best; 0, 0: everywhere
  uint32_t worker = kNoIndex, codelet = kNoIndex;
};

using RunFindings = std::vector<RunFinding>;

// -- rules --
void find_small_tasks(const Analysis &, RunFindings *);
void find_slow_workers(const Analysis &, RunFindings *);
void find_failures(const Analysis &, RunFindings *);
void find_wrong_estimates(const Analysis &, RunFindings *);
void find_wrong_policy(const Analysis &, RunFindings *);
void find_missing_implementations(const Analysis &, RunFindings *);
void find_submission(const Analysis &, RunFindings *);
void find_chain(const Analysis &, RunFindings *);
void find_uneven_end(const Analysis &, RunFindings *);
void find_withheld_tasks(const Analysis &, RunFindings *);
void find_memory_limit(const Analysis &, RunFindings *);
void find_ping_pong(const Analysis &, RunFindings *);
void find_full_links(const Analysis &, RunFindings *);
void find_slow_copies(const Analysis &, RunFindings *);

RunFindings find_all(const Analysis &);       // of all rules, the most costly first

// -- words --
std::string id_words(uint64_t id);         // "2b", as in the trace
std::string time_words(double ns);         // "3.2 ms"
std::string share_words(double share);     // "23 %"
std::string count_words(double n, const char *one, const char *many);  // "1 task", "12,345 tasks"

}  // namespace tool
