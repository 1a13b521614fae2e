// timed.hpp — a policy with a clock around it: how long its own code takes, in the world's time.
//
// All policies' plugins are loaded as they are and offered to the runtime once more, under their own names and a higher
// version, with push, pop and the hooks that tell of tasks measured, also of policies that a director names. A pop
// that answers nothing is no decision and is not counted: under one pump every idle worker asks at each event.
// One per process, for one runtime in virtual time, whose calls come from one thread.
#pragma once
#include <consort/consort.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// nullptr: no such policy, or it cannot be loaded; why, in *error.
consort_entry_fn *timed_policy(const std::string &name, std::string *error);
std::vector<float> policy_calls();  // since it was last asked: ns of each, in their order
double clock_ns();                  // that a call takes in which nothing happens: two looks at the clock

}  // namespace bench
