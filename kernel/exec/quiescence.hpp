// quiescence.hpp — is any task ready, or running? What nobody counts is found out by looking whether all workers rest.
//
// Any thread outside tasks. The answer is of a moment while this call ran; what others do at the same time may come
// after.
#pragma once
#include "exec/execution.hpp"

namespace consort {

// Lets go of what this thread keeps back and of its lease, and looks. With a manual pump it pumps until nothing moves.
bool come_to_rest(Execution &, ThreadState &) noexcept;

// Can nothing that is pending end, unless the application does something? Every worker rests, no device has anything in
// flight, and all bodies that have begun and have no worker's turn sleep in a wait. For a thread outside tasks that has
// no worker's turn, or rests with it (Worker::resting); not with a manual pump.
bool stands_still(const Execution &) noexcept;

// Does the application hold data?
bool anything_held(const Execution &) noexcept;

}  // namespace consort
