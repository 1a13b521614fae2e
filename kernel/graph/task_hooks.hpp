// task_hooks.hpp — the application's hooks of a task, and what its end does beside handing on its edges.
#pragma once
#include <consort/consort.h>

namespace consort {

struct Task;
struct TaskGraph;
struct ThreadState;
struct Worker;

void call_ready(ThreadState &, Task *) noexcept;
void call_begin(ThreadState &, Worker &, Task *) noexcept;
// A ready task of a bundle: the worker that it had better be offered to first; nullptr: where this thread is, or any.
Worker *bundle_worker(TaskGraph &, const ThreadState &, const Task *) noexcept;
// After `done`, while the task's name lives: arguments are dropped, its tag is reached, its next turn follows.
void end_more(TaskGraph &, ThreadState &, Task *, consort_status) noexcept;

}  // namespace consort
