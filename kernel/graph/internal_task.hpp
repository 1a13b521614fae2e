// internal_task.hpp — tasks of the kernel's own, put between those of the application.
//
// Made and sent under the submission right, by the thread that has it. They count in the group of the task for whose
// sake they are made, so that whoever waits for it waits for them. None has a callback.
#pragma once
#include "graph/access_order.hpp"
#include "graph/submission_draft.hpp"
#include "task/edges.hpp"

namespace consort {

// A record. nullptr: no memory, told. Without a body; then with one.
Task *make_internal(TaskGraph &, ThreadState &, Group &, TaskKind) noexcept;
Task *make_internal(TaskGraph &, ThreadState &, Group &, uint16_t bits, Codelet &) noexcept;

// Links it by its claims, and behind `first` (0: nobody), and sends it. On failure nothing is linked, and it is gone.
consort_status send_internal(SubmissionDraft &, Task *, const Claim *, uint32_t n, TaskName first) noexcept;

// Room for so many links. False: no memory, told; the task is gone.
bool reserve_internal(SubmissionDraft &, Task *, uint32_t links) noexcept;
// The record of the data that it brings when its turn comes, for up to so many. False: as above.
bool reserve_staging(SubmissionDraft &, Task *, size_t data) noexcept;
// Once it is linked: counted and sent. One without a body that nothing precedes is over at once, and never was counted:
// the draft's own task is not yet there, so nobody could tell.
void let_internal_go(SubmissionDraft &, Task *, Linker &) noexcept;

// A task that comes after all users of the datum, and that all later ones come after. Not where the datum has no user.
consort_status insert_junction(SubmissionDraft &, Datum &, TaskKind kind = TaskKind::kEmpty) noexcept;

// How many links an access of this mode needs at most.
inline uint32_t links_for(const Datum &d, uint32_t mode) noexcept {
  return !shares(mode) && d.nreaders ? d.nreaders : 1;
}

}  // namespace consort
