// dmdar.cpp — as dmda; a worker starts with the task that lacks least data.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdar", dm::Order::kResident, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdar_policy, "dmdar", "like dmda; a worker starts with the task that lacks least data",
          traits, params);
