// next_turn.hpp — submits the next turn of a task that repeats (graph/repeat.hpp).
#pragma once
#include <consort/consort.h>

namespace consort {

struct Task;
struct TaskGraph;
struct ThreadState;

// The turn `t` has ended, its name lives still: submits the next one behind it, or ends them all.
void next_turn(TaskGraph &, ThreadState &, Task *t, consort_status) noexcept;

}  // namespace consort
