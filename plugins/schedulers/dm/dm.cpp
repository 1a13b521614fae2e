// dm.cpp — a task goes to the worker where it ends first by the models; transfer cost is not
// counted.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dm", dm::Order::kArrival, false, false, false};
constexpr consort_param params[] = {DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dm_policy, "dm", "each task to the worker where it ends first by the models",
          traits, params);
