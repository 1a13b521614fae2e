// prepare.hpp — what stands between a popped task and its function: its data, its arguments, its permission.
//
// The token holder's. The plain case is one relaxed load per datum; whatever is out of the ordinary (unwritten,
// poisoned, homeless, out of reach, scratch) is looked at one by one.
#pragma once
#include "runtime.hpp"

namespace consort {

// Fills f.call. < 0: the task failed and that is recorded; it goes straight to complete().
consort_status prepare(Runtime &, Worker &, Frame &, Task *, uint32_t impl) noexcept;

// Of a task that was issued behind unfinished ones: could what it read be read after all? Recorded like prepare().
consort_status check_inputs(Runtime &, Worker &, Task *) noexcept;

// Cancelled, or after a task that failed: records it. OK: may run.
consort_status fail_if_doomed(Runtime &, Task *) noexcept;

// The function, with whatever exception it lets out made into a status.
consort_status guarded_call(consort_call_fn *, const consort_call *) noexcept;

// The call with its start and end told and timed.
consort_status observed_body(Runtime &, Worker &, Frame &, Task *, consort_call_fn *) noexcept;

}  // namespace consort
