// graph_observer.hpp — the interface through which a trace records submissions.
//
// The room observe implements it. A runtime that keeps no graph has none: callers test the pointer, which is set before
// the first worker starts and does not change.
#pragma once
#include "task/task.hpp"

namespace consort {

struct Claim;

class GraphObserver {
 public:
  // A task at its linking: its data and its explicit predecessors. Called under the submission right over the data, so
  // tasks on one datum arrive in the order in which they are linked. Never fails.
  virtual void submitted(const Task &, const Claim *, uint32_t n, const TaskName *after, uint32_t nafter) noexcept = 0;

 protected:
  ~GraphObserver() = default;  // its owner destroys it as its own class
};

}  // namespace consort
