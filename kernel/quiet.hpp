// quiet.hpp — is any task ready, or running? What nobody counts is found out by looking whether all workers rest.
//
// Any thread outside tasks. The answer is of a moment while this call ran; what others do at the same time may come after.
#pragma once
#include "runtime.hpp"

namespace consort {

// Lets go of what this thread keeps back and of its lease, and looks. With a manual pump it pumps until nothing moves.
bool come_to_rest(Runtime &, Hand &) noexcept;

// Does the application hold data?
bool anything_held(const Runtime &) noexcept;

}  // namespace consort
