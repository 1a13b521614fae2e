// dmda.cpp — as dm, with transfer cost; data are prefetched at the
// decision.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmda", dm::Order::kArrival, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmda_policy, "dmda", "like dm, with transfer cost",
          traits, params);
