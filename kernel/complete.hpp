// complete.hpp — how a task leaves: its data settled, its name retired, its successors released.
//
// Called by whoever ran it, or made it ready if it has no body. Iterative: an empty task that becomes ready
// here is finished here, without recursion.
#pragma once
#include "runtime.hpp"

namespace consort {

// The task's end. Returns a successor to run in place, if `bypass_for` is a worker that may; else nullptr.
// After this the record belongs to somebody else.
Task *complete(Runtime &, Hand &, Task *, consort_status, Worker *bypass_for) noexcept;

// A submitted task that no policy is to see has no unfinished predecessor left: to a mailbox, or to its end. The
// caller holds no submission right: callbacks may run.
void release_ready(Runtime &, Hand &, Task *) noexcept;

// Records why; poisons what the task would have written. `datum`: the one it failed on, may be nullptr.
void record_failure(Runtime &, Task *, consort_status, const std::string &text, Datum *datum, uint32_t worker,
                    std::shared_ptr<const Failure> cause) noexcept;

// A hand that has nothing to do gives back what it holds for others, and tells those who wait.
void settle_down(Runtime &, Hand &) noexcept;

const char *task_label(const Task &) noexcept;  // its own name or its codelet's

}  // namespace consort
