// acquired_data.hpp — data that the application has entered: who holds what, and those who are told when their turn comes.
//
// The list stands in the thread state that asked; another thread may let go. Any thread, under that thread state's lock.
#pragma once
#include "graph/task_graph.hpp"

namespace consort {

// With the datum granted: is there something to read, or memory to write to?
consort_status check_held(TaskGraph &, const Task &hold, Datum &, uint32_t mode) noexcept;

// Room for one more. May throw bad_alloc.
void expect_held(ThreadState &);
void stop_expecting_held(ThreadState &) noexcept;
void note_held(ThreadState &, TaskName, Datum &, uint32_t mode, bool later) noexcept;  // that was expected
uint32_t let_go_held(ThreadState &, TaskName) noexcept;  // its mode; 0: not held (any more)

// A hold of somebody who did not wait has its turn: tells. True: it is over, for it could not be granted; else it may
// be gone.
bool grant(TaskGraph &, ThreadState &, Task *) noexcept;

}  // namespace consort
