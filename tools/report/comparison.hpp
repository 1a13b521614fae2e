// comparison.hpp — what made one run longer than another: codelets, and workers without a task, in time of the whole run.
//
// A run lasts as long as each of its workers, which are busy or idle. So the difference of two spans is the sum of the
// differences of these times, each divided by the workers of its run.
#pragma once
#include <string>
#include <vector>

#include "finding.hpp"

namespace tool {

struct Change {
  // A codelet's runs take longer; there are more of them; the same work is for fewer workers; these have no task.
  enum class Kind : uint8_t { kSlower, kMore, kWorkers, kIdle } kind;
  std::string codelet, klass;              // of a codelet's
  Reason why{};                            // of idle time
  double ns = 0;                           // of the span; < 0: the second run saved it
  double mean[2] = {0, 0};                 // ns of a run; of a codelet's
  uint64_t tasks[2] = {0, 0};              // or workers
  double share[2] = {0, 0};                // of the workers' time; of idle time
};

struct LinkChange {
  std::string from, to;
  uint64_t copies[2] = {0, 0}, bytes[2] = {0, 0};
  double busy[2] = {0, 0};                 // ns
};

struct WorkerChange {
  std::string name;
  bool in[2] = {false, false};             // whether the run has a worker of that name
  uint64_t tasks[2] = {0, 0};
  double busy[2] = {0, 0};                 // share of the run
};

struct Comparison {
  Comparison(const Analysis &first, const Analysis &second);
  double span[2];                          // ns
  std::vector<Change> changes;             // the largest first; together the difference of the spans
  std::vector<LinkChange> links;           // most bytes first
  std::vector<WorkerChange> workers;       // in the order of the runs
  std::vector<std::string> come, gone;     // rules that find something in one run alone
};

std::string change_words(const Change &);

}  // namespace tool
