// history.hpp — what a trace tells about each task together: its run, moments, predecessors and dependents.
//
// Needs the graph (the setting trace_graph) for all but the runs. One thread; the trace must outlive it.
#pragma once
#include <cstdint>
#include <vector>

#include "../trace.hpp"

namespace tool {

constexpr uint32_t kNoIndex = UINT32_MAX;

// IndexLists of numbers, one for each item, in one array.
struct IndexLists {
  std::vector<uint32_t> ends, all;
  size_t size() const { return ends.size(); }
  const uint32_t *begin(size_t i) const { return all.data() + (i ? ends[i - 1] : 0); }
  const uint32_t *end(size_t i) const { return all.data() + ends[i]; }
};

struct History {
  explicit History(const Trace &);

  const Trace &trace;
  bool graph;                              // the trace has what was submitted
  bool submissions;                        // and when
  IndexLists before, behind;                    // by task: its predecessors; its dependents
  std::vector<uint32_t> edge_datum;        // beside before.all: the datum (in Trace::data) that orders both; kNoIndex: told so
  std::vector<uint32_t> run_of;            // by task; kNoIndex: it did not run
  std::vector<uint32_t> task_of;           // by run; kNoIndex: not in the graph
  std::vector<uint64_t> ready;             // by task: when its last predecessor had ended
  std::vector<uint64_t> fetch_from;        // by run: since when its worker waited for its data; 0: it did not
  std::vector<uint32_t> previous;          // by run: the one before on its worker; kNoIndex: none
  std::vector<std::vector<uint32_t>> runs_of;  // by worker, by begin

  uint64_t end_of(uint32_t task) const {   // of its run; of a task without one, when it could have run
    return run_of[task] == kNoIndex ? ready[task] : trace.runs[run_of[task]].t1;
  }

 private:
  void match_runs();
  void find_moments();
};

// Predecessors of each task, from the uses of its data in the order of submission and from what it was told.
void derive_order(const Trace &, IndexLists *before, std::vector<uint32_t> *edge_datum);

}  // namespace tool
