// round.hpp — one case, run once. A runtime is started, the programs take turns, and everything ends. All is compared
// with the oracle, and the runtime is stopped.
#pragma once
#include "storm/case.hpp"
#include "storm/coverage.hpp"

namespace storm {

struct Verdict {
  std::string complaint;  // "": all was as it should be
  std::string explained;  // the tasks and data for which unfinished tasks wait
};
// After a complaint the runtime is left as it is: the process is of no more use.
// `events`, if given, gets a line of each call, its answer and each body.
Verdict run(const Case &, Seen *seen, std::string *events = nullptr);

// A complaint without its numbers: two complaints of one kind have the same cause, most often.
std::string kind_of(const std::string &complaint);

}  // namespace storm
