// critical_path.hpp — what decided how long a run took: back from its last task, the thing that each task waited for last.
#pragma once
#include "history.hpp"

namespace tool {

struct PathStep {
  uint32_t run;
  enum class Cause : uint8_t { kStart, kOrder, kWorker, kSubmission } cause;  // what its beginning waited for last
  uint64_t from;                       // the end of that; until the run's begin its data came or it was scheduled
  uint32_t datum = kNoIndex;           // kOrder: the datum that orders both
};

struct CriticalPath {
  explicit CriticalPath(const History &);
  std::vector<PathStep> steps;         // by begin
  double work = 0, fetching = 0, waiting = 0, late = 0;  // ns: runs; data; ready or worker's turn; before a submission
  double queued = 0;                   // ns: tasks of the longest chain were ready, and their worker did others
  double longest_chain = 0;            // ns: of runs that wait for each other; 0: no graph
  std::vector<uint32_t> chain;         // its runs, by begin
  std::vector<uint32_t> chain_data;    // the data that order them; kNoIndex among them
};

}  // namespace tool
