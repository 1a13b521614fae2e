// commute.hpp — takes the commute tokens of a popped task: all of them, or none.
//
// Tokens of several data are tried in the order of their addresses. On a refusal all are returned, and the task is
// parked where it was refused. A task that was refused often becomes the elder. Only the elder may keep its tokens
// while it is parked, so it succeeds, and no cycle can form. A task with one token receives it directly and keeps it
// until it is popped again, since it needs nothing else.
#pragma once
#include "graph/task_graph.hpp"

namespace consort {

struct SubmissionDraft;

// Lists the tokens that a draft's task will need, sorted, if there are several. Returns false if out of memory.
bool list_tokens(SubmissionDraft &) noexcept;
// Returns false if the task was parked; it then no longer belongs to the caller.
bool take_tokens(TaskGraph &, ThreadState &, Task *) noexcept;
// Precondition: the task has ended and its data are settled. Returns a task that thereby has its only token, to be run
// or pushed; others are pushed here.
Task *give_tokens(TaskGraph &, ThreadState &, Task *) noexcept;

}  // namespace consort
