// run_observer.hpp — the interface through which a trace records runs, copies, decisions, and waits of workers.
//
// The room observe implements it. A runtime without a trace has none: callers test the pointer, which is set before the
// first worker starts and does not change, and Core::traces() whether there is something to record. No function fails.
#pragma once
#include <consort/bodies.h>

#include "task/task.hpp"

namespace consort {

enum class Stamps : uint8_t { kNs, kTicks };  // of the runtime's clock; of Core::ticks
enum class CopyReason : uint8_t { kDemand, kPrefetch, kSave };  // a task waits; a request; memory is to be freed

class RunObserver {
 public:
  // The run of a task on a worker. expected: the time that its model estimated, ns; < 0: unknown.
  virtual void ran(uint32_t worker, const Task &, TaskName, uint32_t impl, int64_t expected, uint64_t t0, uint64_t t1,
                   consort_status, Stamps) noexcept = 0;
  // The end of a copy between two spaces.
  virtual void copied(const Datum &, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1,
                      consort_status, CopyReason) noexcept = 0;
  // A decision of the policy: the task is to run on that worker for `run` ns and to end at `end`. NaN, 0: unknown.
  virtual void decided(TaskName, uint32_t worker, float run, uint64_t end) noexcept = 0;
  // The data of a task that a worker has taken were incomplete from t0 to its start.
  virtual void fetched(TaskName, uint32_t worker, uint64_t t0, uint64_t t1) noexcept = 0;
  // The worker's thread slept, because it found no task. [any]
  virtual void slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept = 0;

  // The watch that runs bodies in the kernel's place (consort/bodies.h). nullptr: none.
  virtual const consort_body_watch *bodies() const noexcept { return nullptr; }

 protected:
  ~RunObserver() = default;  // its owner destroys it as its own class
};

inline const consort_body_watch *bodies_of(const RunObserver *o) noexcept { return o ? o->bodies() : nullptr; }

}  // namespace consort
