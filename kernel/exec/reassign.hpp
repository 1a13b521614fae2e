// reassign.hpp — tasks of a lost device go to other workers.
//
// The workers of a lost device can run nothing any more. A task that the policy still has for them is passed on. A task
// that ends there because of the loss runs again elsewhere, if what it read or changed is still valid in another space.
#pragma once

namespace consort {

struct Execution;
struct Task;
struct ThreadState;
struct Worker;

// For a task popped by a worker whose device is lost, of which nothing was begun. True: it is another worker's now. False:
// no other worker can run it.
bool give_away(Execution &, ThreadState &, const Worker &from, Task *) noexcept;
// For a task that was under way there, and whose predecessors are over. True: it is another worker's, and nothing of it
// has happened.
bool run_again(Execution &, ThreadState &, const Worker &from, Task *) noexcept;

}  // namespace consort
