// record.hpp — a parsed record of a run (a trace's text, docs/trace.md): its tasks, and its time.
//
// Owned by its reader; one thread.
#pragma once
#include <string>
#include <vector>

#include "problem.hpp"

namespace bound {

struct Record {
  Problem problem;
  double took_ns = 0;                            // from the first submission to the last end
  std::vector<std::vector<uint64_t>> ran;        // tasks by kind and group
  std::vector<std::string> notes;                // limits on the bound's validity or strength
  bool graph = false;                            // dependencies are known
};

// Throws std::runtime_error with the line number.
Record read_record(const char *text, size_t bytes);

// The tasks with their predecessors, for Graphviz.
std::string dot_of(const Problem &);

}  // namespace bound
