// dmda.cpp — like dm, and what the way of the data costs counts; the data are sent for when the
// decision is taken.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmda", dm::Order::kArrival, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmda_policy, "dmda", "like dm, and the way of the data counts",
          traits, params);
