// next_turn.hpp — submits the next turn of a repeating task (graph/repeat.hpp).
#pragma once
#include <consort/consort.h>

namespace consort {

struct Task;
struct TaskGraph;
struct ThreadState;

// The turn `t` has ended and its name is still valid: submits the next turn behind it, or ends the repetition.
void next_turn(TaskGraph &, ThreadState &, Task *t, consort_status) noexcept;

}  // namespace consort
