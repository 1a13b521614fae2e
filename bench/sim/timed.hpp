// timed.hpp — a policy with a clock around it: how long its own code takes, in the world's time.
//
// The policy's plugin is loaded as it is and offered to the runtime once more, under its own name and a higher version,
// with push, pop and the hooks that tell it of tasks measured. A pop that answers nothing is no decision and is not
// counted: under one pump every idle worker asks at each event. Reading the clock twice a call is counted in.
// One per process, for one runtime in virtual time, whose calls come from one thread.
#pragma once
#include <consort/consort.h>

#include <cstdint>
#include <string>

namespace bench {

// nullptr: no such policy, or it cannot be loaded; why, in *error.
consort_entry_fn *timed_policy(const std::string &name, std::string *error);
uint64_t policy_ns() noexcept;  // since the last call

}  // namespace bench
