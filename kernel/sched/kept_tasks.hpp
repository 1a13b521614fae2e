// kept_tasks.hpp — passes the ready tasks that a submitting thread holds back (Worker::kept) to the policy.
#pragma once

namespace consort {

struct Scheduling;
struct ThreadState;
struct Worker;

// Precondition: the caller holds the worker's token, or its lease inside a submission.
void push_kept(Scheduling &, Worker &) noexcept;

// Ends the thread's lease, if any: pushes the tasks held back, then frees the worker.
void end_lease(Scheduling &, ThreadState &) noexcept;

}  // namespace consort
