// dmdas.cpp — like dmda, and a worker begins with the most urgent task, among equals with what has
// its data there.
#include "plugin.hpp"

namespace {
constexpr dm::Traits traits = {"dmdas", dm::Order::kPriority, true, false, false};
constexpr consort_param params[] = {DM_PARAM_COST, DM_PARAM_AHEAD, DM_PARAM_STEAL};
}  // namespace

DM_POLICY(dmdas_policy, "dmdas", "like dmda; a worker begins with the most urgent",
          traits, params);
