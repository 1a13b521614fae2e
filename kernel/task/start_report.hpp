// start_report.hpp — the start of a body as it was reported: to the policy (started), to the load of its worker.
//
// A Told belongs to the thread that runs the body (Hand::told). The end of the body takes the report back. A body that
// waits takes it back when its wait begins: from then on its worker runs other tasks, so the body is not work in flight.
#pragma once
#include <cstdint>

#include "task/task.hpp"

namespace consort {

struct Hand;
struct Runtime;

// The instance that was told of a start, in that life of it; the end is reported to no other. nullptr: none was told.
struct Watcher {
  const void *instance = nullptr;
  uint64_t epoch = 0;
};

struct Told {
  TaskName task = 0;       // 0: no body, or one whose start is not reported
  uint32_t worker = 0;
  bool counted = false;    // in the worker's load, as `expected`
  bool waited = false;
  uint64_t waited_ns = 0;  // counted with the setting `profile`: its worker ran other tasks, or none
  int64_t expected = -1;   // ns; < 0: unknown
  Watcher watcher;
};

// The body on top of this thread waits for as long as this lives. The policy is told `finished` once per start, at the
// first wait. The load of the worker is without the body meanwhile, and has it again if the body returns to its worker.
class BodyWaits {
 public:
  BodyWaits(Runtime &, Hand &) noexcept;
  ~BodyWaits();
  BodyWaits(const BodyWaits &) = delete;
  BodyWaits &operator=(const BodyWaits &) = delete;

 private:
  Runtime &rt_;
  Hand &h_;
  const TaskName task_;    // 0: nothing to do
  uint64_t began_ = 0;
};

// Takes back what was reported of the body on top, which will not return.
void untell(Runtime &, Hand &) noexcept;

}  // namespace consort
