// case.hpp — a case: a machine, and programs that run on it in turns. A seed makes one; a text says one.
#pragma once
#include "storm/machine.hpp"
#include "stress/mixed_program.hpp"

namespace storm {

struct Case {
  uint64_t seed = 0;
  Machine machine;
  std::vector<mixed::Program> programs;  // each of a submitter of its own
  int turns = 1;                         // seed of the order in which programs take turns
};

struct Wishes {  // of the command line
  std::vector<std::string> policies;  // of these alone; empty: all there are
  std::vector<std::string> faults{"allocation", "plugin", "oom", "copy", "kernel", "slow", "lost", "disk"};  // of these alone
  bool threads = false;
};
Case make_case(uint64_t seed, const Wishes &);

// The case as a text, of those steps that the oracle does not skip; and back. For a wrong text the second returns a
// complaint.
std::string text_of(const Case &);
std::string parse(const std::string &text, Case *out);
// Without the steps that were dropped or that the oracle skips, and without data that nothing uses.
Case compact(const Case &);

}  // namespace storm
