// process.hpp — cases run in child processes: a crash or an endless loop ends one child, and the parent knows the case.
#pragma once
#include <sys/types.h>

#include <functional>

#include "storm/round.hpp"

namespace storm {

// The report of a child to its parent; lies in memory that both share.
struct Board {
  std::atomic<uint64_t> seed{0}, cases{0};  // the present one; how many are over
  std::atomic<uint64_t> beats{0};           // counts: a child that hangs counts no further
  std::atomic<bool> failed{false};          // `complaint` says how
  char complaint[4096] = {}, explained[12000] = {};
  Coverage coverage;
};
Board *new_board();

struct Failure {
  uint64_t seed = 0;
  std::string complaint, explained;
};

// Waits for a child, as long as conform::Patience allows it; then kills it, and *over says why. Returns its status.
int wait_for(pid_t, int limit_s, std::string *over);
// Runs one case in a child. No failure: an empty complaint.
Failure try_in_child(const Case &, int limit_s);

struct Plan {
  uint64_t from = 0, to = 0;  // seeds, `to` excluded
  int jobs = 1, limit_s = 20, most_failures = 5;
  double seconds = 0;         // 0: no limit
  Wishes wishes;
};
// Runs all; each failure is told as it comes. Answers how many cases were run.
uint64_t run_all(const Plan &, const std::function<void(const Failure &)> &failed, Coverage *);

}  // namespace storm
