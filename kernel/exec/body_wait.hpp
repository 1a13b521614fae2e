// body_wait.hpp — withdraws the report of a body's start while that body waits (task/start_report.hpp).
//
// Used by the thread that runs the body. While the body waits its worker runs other tasks, so the body does not count
// as running.
#pragma once
#include <cstdint>

#include "task/task.hpp"

namespace consort {

struct ThreadState;
struct Execution;

// Scope of a wait of the innermost body on this thread. The policy is told `finished` once for each start, at the first
// wait. The worker's load excludes the body meanwhile, and includes it again if the body returns to its worker.
class BodyWaits {
 public:
  BodyWaits(Execution &, ThreadState &) noexcept;
  ~BodyWaits();
  BodyWaits(const BodyWaits &) = delete;
  BodyWaits &operator=(const BodyWaits &) = delete;

 private:
  Execution &rt_;
  ThreadState &h_;
  const TaskName task_;    // 0: nothing was reported
  uint64_t began_ = 0;
};

// Withdraws the report of the innermost body, which will not return.
void untell(Execution &, ThreadState &) noexcept;

}  // namespace consort
