// submit_special.hpp — submissions without a body that use one datum: holds, invalidations, unregistrations, turns.
#pragma once
#include <consort/consort.h>

#include "task/task.hpp"

namespace consort {

struct TaskGraph;
struct ThreadState;

// Submits an internal task without a codelet on one datum. kRetire also invalidates the datum's name in the same step.
// kHold with `granted`: that is called at its turn. kEmpty with `turn`: that is called at its end; nothing cancels it.
struct Turn {
  consort_done_fn *fn;
  void *arg;
  const char *name;
};
// Reserves all memory that its turn needs. On a refusal the error text is set.
consort_status submit_special(TaskGraph &, ThreadState &, consort_data_id, uint32_t mode, TaskKind kind,
                              TaskName *name = nullptr, consort_granted_fn *granted = nullptr, void *arg = nullptr,
                              const Turn *turn = nullptr) noexcept;

// kMessage and kStored (remote/message.hpp, remote/checkpoints.hpp): on one datum, or on none (a null handle). `own` is kept in its record, own_at bytes into
// the payload. Nothing cancels it.
struct MessageTask {
  consort_data_id data;
  uint32_t mode;
  consort_group_id group;                 // null: as of a task
  consort_done_fn *done;
  void *done_arg;
  void *own;
  size_t own_at;
  TaskKind kind = TaskKind::kMessage;
};
consort_status submit_message(TaskGraph &, ThreadState &, const MessageTask &, TaskName *name) noexcept;

}  // namespace consort
