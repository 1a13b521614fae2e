// quiescence.hpp — whether any task is ready or running. Detected by scanning the workers; no counter is kept.
//
// Any thread outside tasks. The answer holds for a moment during the call; concurrent actions of other threads may come
// after it.
#pragma once
#include "exec/execution.hpp"

namespace consort {

// Pushes the tasks held back by this thread, ends its lease, then scans. With a manual pump, pumps until nothing
// changes.
bool come_to_rest(Execution &, ThreadState &) noexcept;

// Returns whether pending tasks can end only if the application acts. Every worker rests, no device has work in flight,
// and all running bodies without a token sleep in a wait. For a thread outside tasks that holds no token, or rests with
// it (Worker::resting). Not with a manual pump.
bool stands_still(const Execution &) noexcept;

// Returns whether the application holds data.
bool anything_held(const Execution &) noexcept;

}  // namespace consort
