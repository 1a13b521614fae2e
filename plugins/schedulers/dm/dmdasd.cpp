// dmdasd.cpp — as dmdas; a decision counts only work that the task would wait for, not
// work that it overtakes.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdasd", dm::Order::kPriority, true, true, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdasd_policy, "dmdasd", "like dmdas; a decision counts only work that the task waits for",
          traits, params);
