// commute.hpp — a popped task takes the tokens of all data that it uses in any order with others, or none.
//
// Tokens of several data are tried in the order of their addresses; on a refusal all are given back and the task is
// parked where it was refused. One that was refused often becomes the elder: it alone may keep what it has while it is
// parked, so it gets there, and no circle can form. A task of one token gets it handed over and keeps it while it waits
// to be popped again: it holds all that it needs.
#pragma once
#include "graph/task_graph.hpp"

namespace consort {

struct SubmissionDraft;

// Which tokens a draft's task will need; sorted, where there are several. False: no memory.
bool list_tokens(SubmissionDraft &) noexcept;
// False: parked; the task is not the caller's any more.
bool take_tokens(TaskGraph &, ThreadState &, Task *) noexcept;
// The task is over, its data settled. A task that has got its only token by it, to be run or pushed; others are pushed
// here.
Task *give_tokens(TaskGraph &, ThreadState &, Task *) noexcept;

}  // namespace consort
