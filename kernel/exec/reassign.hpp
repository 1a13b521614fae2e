// reassign.hpp — moves tasks of a lost device to other workers.
//
// The workers of a lost device can run nothing any more. A task that the policy still assigns to them is passed on. A
// task that ends there because of the loss runs again elsewhere, if the data that it read or changed are still valid in
// another space.
#pragma once

namespace consort {

struct Execution;
struct Task;
struct ThreadState;
struct Worker;

// For a task popped by a worker of a lost device, before it is begun. Returns true if it was passed to another worker,
// false if no other worker can run it.
bool give_away(Execution &, ThreadState &, const Worker &from, Task *) noexcept;
// For a task that was issued there, and whose predecessors have ended. Returns true if it was passed to another worker,
// without any effect so far.
bool run_again(Execution &, ThreadState &, const Worker &from, Task *) noexcept;

}  // namespace consort
