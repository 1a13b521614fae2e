// replay.hpp — runs a recording: to the outside one task, inside by decrementing the counts of the edges.
//
// A replay as a whole is a task without a body, in a record of its own. It claims the data that the recording does not
// keep, and follows the recording's last replay. When it becomes ready its first nodes do; when the final node ends it
// ends. Any thread may submit. The rest is called by the thread that ends a predecessor. Nodes end in node.cpp.
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

// Of the whole, the last node, or the carrier. The first word of a carrier's payload is its NativeGraph.
inline Recording &recording_of(const Task &part) noexcept {
  Recording *r;
  __builtin_memcpy(&r, part.payload + (part.kind == TaskKind::kCarrier ? sizeof(void *) : 0), sizeof r);
  return *r;
}

// Passes the attributes of the whole to the nodes; then the roots may run, or the carrier in their place.
Recording &begin_replay(TaskGraph &, Task *whole) noexcept;
// Precondition: all nodes have ended. Returns the status of the whole and records its failure under its name.
// Afterwards the recording may change.
consort_status end_replay(TaskGraph &, Task *whole) noexcept;

// Releases all data behind the last replay. Precondition: `control` is held, and the recording is not live. room:
// capacity for a claim of each datum, so that nothing fails.
void release_all_data(Replaying &, ThreadState &, Recording &, std::vector<Claim> &room) noexcept;

}  // namespace consort
