// eligible_worker.hpp — finds a worker for a task whose codelet asks, or whose device is lost (task/eligibility.hpp).
//
// Any thread that owns the task. Callbacks of the application may run.
#pragma once
#include "task/eligibility.hpp"

namespace consort {

struct TaskGraph;

// Before the task is sent: is there a worker for it, or can the one that it is bound to? Says what is wrong.
consort_status check_able(TaskGraph &, const Task *) noexcept;

// The task met a worker that cannot run it: to one that can. > 0: done, it is that one's now. < 0: nobody can, which is
// recorded.
consort_status pass_on(TaskGraph &, const Worker &from, Task *) noexcept;
consort_status refuse_everywhere(TaskGraph &, const Worker &from, Task *) noexcept;  // no worker can run it: it has failed
// Another worker that can, as far as one knows; none, where the task is bound. Callbacks may run.
Worker *another_able(TaskGraph &, const Worker &from, const Task *) noexcept;

}  // namespace consort
