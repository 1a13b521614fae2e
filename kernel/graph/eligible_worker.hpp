// eligible_worker.hpp — finds a worker for a task whose codelet has can_execute, or whose device is lost
// (task/eligibility.hpp).
//
// For the thread that owns the task. Callbacks of the application may run.
#pragma once
#include "task/eligibility.hpp"

namespace consort {

struct TaskGraph;

// Before the task is sent: checks that a worker can run it, or that the bound one can. Sets the error text.
consort_status check_able(TaskGraph &, const Task *) noexcept;

// The worker `from` cannot run the task: passes it to one that can. > 0: it belongs to that worker now. < 0: none can;
// the failure is recorded.
consort_status pass_on(TaskGraph &, const Worker &from, Task *) noexcept;
consort_status refuse_everywhere(TaskGraph &, const Worker &from, Task *) noexcept;  // records that no worker can run it
// Returns another worker that can run it as far as is known; none if the task is bound. Callbacks may run.
Worker *another_able(TaskGraph &, const Worker &from, const Task *) noexcept;

}  // namespace consort
