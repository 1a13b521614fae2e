// dmdas.cpp — as dmda; a worker starts with the task of highest priority, then the one that
// lacks least data.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdas", dm::Order::kPriority, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdas_policy, "dmdas", "like dmda; a worker starts with the task of highest priority",
          traits, params);
