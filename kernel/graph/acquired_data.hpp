// acquired_data.hpp — data acquired by the application: the holds of each thread, and the grants of later holds.
//
// The list is in the thread state of the acquiring thread; another thread may release. Any thread, under that thread
// state's lock.
#pragma once
#include "graph/task_graph.hpp"

namespace consort {

// Precondition: the datum is granted. Checks that there are contents to read, or memory to write to.
consort_status check_held(TaskGraph &, const Task &hold, Datum &, uint32_t mode) noexcept;

// Reserves one entry. May throw bad_alloc.
void expect_held(ThreadState &);
void stop_expecting_held(ThreadState &) noexcept;
void note_held(ThreadState &, TaskName, Datum &, uint32_t mode, bool later) noexcept;  // precondition: an entry was reserved
uint32_t let_go_held(ThreadState &, TaskName) noexcept;  // its mode; 0: not held (any more)

// The turn of a hold whose thread does not wait: calls its function. Returns true if it is over, because it could not
// be granted; otherwise it may be gone.
bool grant(TaskGraph &, ThreadState &, Task *) noexcept;

}  // namespace consort
