// internal_task.hpp — internal tasks of the kernel, inserted between those of the application.
//
// Made and sent under the submission right, by the thread that has it. They count in the group of the task for which
// they are made, so a wait for that group includes them. They have no callbacks.
#pragma once
#include "graph/access_order.hpp"
#include "graph/submission_draft.hpp"
#include "task/edges.hpp"

namespace consort {

// Returns a record, or nullptr if out of memory, error text set. First without a body, second with one.
Task *make_internal(TaskGraph &, ThreadState &, Group &, TaskKind) noexcept;
Task *make_internal(TaskGraph &, ThreadState &, Group &, uint16_t bits, Codelet &) noexcept;

// Links it by its claims and behind `first` (0: none), and sends it. On failure nothing is linked, and it is freed.
consort_status send_internal(SubmissionDraft &, Task *, const Claim *, uint32_t n, TaskName first) noexcept;

// Reserves links. Returns false if out of memory, error text set; the task is freed.
bool reserve_internal(SubmissionDraft &, Task *, uint32_t links) noexcept;
// Makes its staging record for up to `data` data. Returns false as above.
bool reserve_staging(SubmissionDraft &, Task *, size_t data) noexcept;
// After linking: counts and sends it. A task without a body and without predecessors ends at once and is never counted.
// The draft's own task is not visible yet, so no thread could tell the difference.
void let_internal_go(SubmissionDraft &, Task *, Linker &) noexcept;

// Inserts a task after all users of the datum and before all later ones. Not if the datum has no user.
consort_status insert_junction(SubmissionDraft &, Datum &, TaskKind kind = TaskKind::kEmpty) noexcept;

// Upper bound of the links for an access of this mode.
inline uint32_t links_for(const Datum &d, uint32_t mode) noexcept {
  return !shares(mode) && d.nreaders ? d.nreaders : 1;
}

}  // namespace consort
