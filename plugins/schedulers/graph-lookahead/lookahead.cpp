// lookahead.cpp — the table, the settings and the entry of the policy graph-lookahead.
#include "../table.hpp"
#include "instance.hpp"

namespace lookahead {
namespace {

consort_status init(const consort_host *host, void **out) noexcept {
  return policies::init_settings<Settings>(host, out, [&](Settings &s) {
    s.near = policies::real_param(host, "near", s.near);
    s.slack = policies::real_param(host, "slack", s.slack);
    s.look = static_cast<uint32_t>(policies::number_param(host, "look", s.look));
    s.beta = policies::real_param(host, "beta", s.beta);
    s.urgency.strict = policies::flag_param(host, "strict", s.urgency.strict);
    s.urgency.worth = policies::real_param(host, "priority", s.urgency.worth);
    s.weights.read(host);
    s.ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", s.ahead));
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"near", "f64", "4", "0..1000", "weight of transfer time while units stall for data"},
    {"slack", "f64", "1", "0..10", "share of the remaining time that a task may take on a slow unit"},
    {"look", "u32", "64", "1..64", "tasks of a kind that are compared for their data"},
    {"ahead", "u32", "2", "1..16", "long tasks that a worker holds at a time"},
    {"beta", "f64", "1", "0..1e6", "weight of transfer time"},
    {"priority", "f64", "0.1", "0..1e6", "worth of the highest priority: rank, in run times of the task"},
    {"strict", "bool", "false", nullptr, "a task precedes all tasks of lower priority"},
    POLICY_PARAM_WEIGHTS,
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>(CONSORT_SF_AHEAD);

constexpr consort_plugin plugin =
    policies::record("graph-lookahead", "late binding, by the rank of each task and the loss of each class on it",
                     ops, init, policies::fini_settings<Settings>, params);

}  // namespace
}  // namespace lookahead

CONSORT_MODULE(lookahead, SCHEDULER, POLICY_FLAGS, "graph-lookahead", "0.1.0", lookahead::plugin);
