// dmdasd.cpp — like dmdas, and a decision counts only the work that the task would wait for, not
// what it overtakes.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdasd", dm::Order::kPriority, true, true, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdasd_policy, "dmdasd", "like dmdas; the decision counts only the work that the task waits for",
          traits, params);
