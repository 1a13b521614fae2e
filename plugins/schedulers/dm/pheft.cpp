// pheft.cpp — like heft, with teams: a task that a team may run goes where it ends soonest, of teams of every size, too.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"pheft", dm::Order::kPriority, true, false, true, true};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(pheft_policy, "pheft", "like heft, by teams of cores, too: of the size that ends a task soonest",
          traits, params);
