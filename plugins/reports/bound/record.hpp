// record.hpp — a run's record (a trace's text, docs/trace.md), read: what was to be done, and how long it took.
//
// Whoever read it owns it; one thread.
#pragma once
#include <string>
#include <vector>

#include "problem.hpp"

namespace bound {

struct Record {
  Problem problem;
  double took_ns = 0;                            // from the first submission to the last end
  std::vector<std::vector<uint64_t>> ran;        // tasks by kind and group
  std::vector<std::string> notes;                // what keeps the bound from being one, or makes it a weak one
  bool graph = false;                            // it is known what comes after what
};

// What is wrong with it comes out as std::runtime_error, with the line's number.
Record read_record(const char *text, size_t bytes);

// The tasks with what they come after, for Graphviz.
std::string dot_of(const Problem &);

}  // namespace bound
