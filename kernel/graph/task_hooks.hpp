// task_hooks.hpp — hooks of a task that the application provides, and the actions at its end besides its edges.
#pragma once
#include <consort/consort.h>

namespace consort {

struct Task;
struct TaskGraph;
struct ThreadState;
struct Worker;

void call_ready(ThreadState &, Task *) noexcept;
void call_begin(ThreadState &, Worker &, Task *) noexcept;
// Returns the worker that should first be offered a ready task of a bundle; nullptr: this thread's, or any.
Worker *bundle_worker(TaskGraph &, const ThreadState &, const Task *) noexcept;
// After `done`, while the task's name is valid: drops arguments, reaches its tag, submits its next turn.
void end_more(TaskGraph &, ThreadState &, Task *, consort_status) noexcept;

}  // namespace consort
