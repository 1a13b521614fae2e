// pheft.cpp — as heft, with teams: a task that teams may run goes to the worker or team of any size where it ends first.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"pheft", dm::Order::kPriority, true, false, true, true};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(pheft_policy, "pheft", "like heft, with teams of cores of the size that ends a task first",
          traits, params);
