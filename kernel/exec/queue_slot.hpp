// queue_slot.hpp — one task in flight on a queue: its operation, and what its end needs.
#pragma once
#include <consort/driver.h>

#include <cstddef>

#include "model/models.hpp"
#include "task/frame.hpp"
#include "task/portable.hpp"
#include "task/start_report.hpp"

namespace consort {

class NativeGraph;
struct Executor;
struct Gang;
struct Task;

struct QueueSlot {
  QueueSlot(const Worker &w, Executor *e) : frame(w), worker(e) {}  // the same one

  Frame frame;  // first member, and its call first in it: run_host_code() finds the slot by the call
  Executor *const worker;
  Task *task = nullptr;
  Gang *gang = nullptr;       // set for a task of the team that this worker leads
  consort_call own_call{};    // frame.call, while that of the gang replaces it
  NativeGraph *captured = nullptr;  // the native graph that `task` carries
  consort_op op{};
  consort_call_fn *fn = nullptr;
  Portable::Launch launch;  // of a task whose implementation is a kernel's text
  Models::Run run{};          // the measurement of the task
  ReportedInstance watcher{};  // the policy that was told of its start; none: instance nullptr
  bool recorded = false;      // its failure is recorded, and nothing of it was issued
  char text[256] = {};
};

static_assert(offsetof(QueueSlot, frame) == 0 && offsetof(Frame, call) == 0);

}  // namespace consort
