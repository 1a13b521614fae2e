// heft.cpp — as dmdas, with ranks: among equal priorities, the task with the longest
// critical path starts first.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"heft", dm::Order::kPriority, true, false, true};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(heft_policy, "heft", "like dmdas; among equal priorities, by critical path",
          traits, params);
