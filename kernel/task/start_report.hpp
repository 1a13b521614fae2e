// start_report.hpp — records how the start of a body was reported: to the policy (started), and in the load of its
// worker.
//
// A StartReport belongs to the thread that runs the body (ThreadState::told). The end of the body withdraws the report.
// A body that waits withdraws it when its wait begins (exec/body_wait.hpp).
#pragma once
#include <cstdint>

#include "task/task.hpp"

namespace consort {

// The instance that was told of a start, with its epoch; the end is reported to no other. nullptr: none.
struct ReportedInstance {
  const void *instance = nullptr;
  uint64_t epoch = 0;
};

struct StartReport {
  TaskName task = 0;       // 0: no body, or its start is not reported
  uint32_t worker = 0;
  bool counted = false;    // in the worker's load, as `expected`
  bool waited = false;
  uint64_t waited_ns = 0;  // measured with the setting `profile`: its worker ran other tasks, or none
  int64_t expected = -1;   // ns; < 0: unknown
  ReportedInstance watcher;
};

}  // namespace consort
