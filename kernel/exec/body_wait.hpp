// body_wait.hpp — what a body that waits takes back of the report of its start (task/start_report.hpp).
//
// The thread's that runs the body. While the body waits its worker runs other tasks: the body is not work in flight.
#pragma once
#include <cstdint>

#include "task/task.hpp"

namespace consort {

struct ThreadState;
struct Execution;

// The body on top of this thread waits for as long as this lives. The policy is told `finished` once per start, at the
// first wait. The load of the worker is without the body meanwhile, and has it again if the body returns to its worker.
class BodyWaits {
 public:
  BodyWaits(Execution &, ThreadState &) noexcept;
  ~BodyWaits();
  BodyWaits(const BodyWaits &) = delete;
  BodyWaits &operator=(const BodyWaits &) = delete;

 private:
  Execution &rt_;
  ThreadState &h_;
  const TaskName task_;    // 0: nothing to do
  uint64_t began_ = 0;
};

// Takes back what was reported of the body on top, which will not return.
void untell(Execution &, ThreadState &) noexcept;

}  // namespace consort
