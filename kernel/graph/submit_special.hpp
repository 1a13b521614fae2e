// submit_special.hpp — submissions without a body that use one datum: holds, invalidations, unregistrations, turns.
#pragma once
#include <consort/consort.h>

#include "task/task.hpp"

namespace consort {

struct TaskGraph;
struct ThreadState;

// The kernel's own: a task without codelet on one datum. kRetire also kills the datum's name, in the same step.
// kHold with `granted`: the application is told when its turn has come. kEmpty with `turn`: called where it ends, which
// nothing cancels.
struct Turn {
  consort_done_fn *fn;
  void *arg;
  const char *name;
};
// All memory that its turn needs is reserved here. A refusal leaves its reason in the error slot.
consort_status submit_special(TaskGraph &, ThreadState &, consort_data_id, uint32_t mode, TaskKind kind,
                              TaskName *name = nullptr, consort_granted_fn *granted = nullptr, void *arg = nullptr,
                              const Turn *turn = nullptr) noexcept;

}  // namespace consort
