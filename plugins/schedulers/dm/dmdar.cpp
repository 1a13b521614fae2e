// dmdar.cpp — like dmda, and a worker begins with the task of which least data are missing there.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdar", dm::Order::kResident, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdar_policy, "dmdar", "like dmda; a worker begins with what has most data there",
          traits, params);
