// kept_tasks.hpp — ready tasks that a submitting thread keeps back for a moment (Worker::kept), handed over to the policy.
#pragma once

namespace consort {

struct Scheduling;
struct ThreadState;
struct Worker;

// By the holder of the worker's token, or of its lease inside a submission.
void push_kept(Scheduling &, Worker &) noexcept;

// Ends the lease that the thread has, if it has one: what was kept back is handed over, then the worker is free.
void end_lease(Scheduling &, ThreadState &) noexcept;

}  // namespace consort
