// replay.hpp — a recording runs: as one task to the outside, by counting down edges inside.
//
// A replay as a whole is a task without a body, in its own record. It claims the data that the recording does not keep
// and comes after the recording's last replay; where it becomes ready its first nodes do, and where the final node ends
// it ends. Submitting: any thread. The rest: whoever ends the task that comes before. Nodes end in node.cpp.
#pragma once
#include <consort/consort.h>

#include <vector>

#include "replay/recording.hpp"

namespace consort {

struct Claim;
struct TaskGraph;
struct ThreadState;
struct Group;

// may throw bad_alloc
consort_status submit_replay(Replaying &, ThreadState &, consort_recording_id, Group &, consort_task_id *out);

// Of a replay as a whole, the last node, or the carrier. The first word of a carrier's payload is its NativeGraph.
inline Recording &recording_of(const Task &part) noexcept {
  Recording *r;
  __builtin_memcpy(&r, part.payload + (part.kind == TaskKind::kCarrier ? sizeof(void *) : 0), sizeof r);
  return *r;
}

// Gives the nodes what the whole has; then each of `roots` may run, or `carrier` in their place where there is one.
Recording &begin_replay(TaskGraph &, Task *whole) noexcept;
// All nodes have ended: the status of the whole, whose failure is recorded under its name. Now the recording may
// change.
consort_status end_replay(TaskGraph &, Task *whole) noexcept;

// Gives up all data, behind the last replay. Under `control`, and not live. room: for a claim of each, so nothing fails.
void let_all_go(Replaying &, ThreadState &, Recording &, std::vector<Claim> &room) noexcept;

}  // namespace consort
