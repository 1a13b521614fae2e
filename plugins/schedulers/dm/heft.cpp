// heft.cpp — like dmdas, with ranks: of one priority, the task begins first on which most work
// hangs, one after the other.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"heft", dm::Order::kPriority, true, false, true};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(heft_policy, "heft", "like dmdas; what hangs on a task makes it urgent",
          traits, params);
