// darts.cpp — the table, the settings and the entry of the policy darts.
#include "../table.hpp"
#include "instance.hpp"

namespace darts {
namespace {

consort_status init(const consort_host *host, void **out) noexcept {
  return policies::init_settings<Settings>(host, out, [&](Settings &s) {
    s.look = static_cast<uint32_t>(policies::number_param(host, "look", s.look));
    s.plan = static_cast<uint32_t>(policies::number_param(host, "plan", s.plan));
    s.near = policies::real_param(host, "near", s.near);
    s.critical = policies::real_param(host, "critical", s.critical);
    s.ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", s.ahead));
    s.least_used = policies::flag_param(host, "least_used", s.least_used);
    s.urgency.strict = policies::flag_param(host, "strict", s.urgency.strict);
    s.urgency.worth = policies::real_param(host, "priority", s.urgency.worth);
    s.weights.read(host);
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"look", "u32", "256", "1..512", "ready tasks of each kind that a choice compares"},
    {"plan", "u32", "16", "1..64", "tasks per plan"},
    {"near", "f64", "4", "0..1000", "weight of transfer time while units stall for data, if memory is not short"},
    {"critical", "f64", "0.3", "0..100", "share of the remaining time: tasks with a larger rank precede all others"},
    {"ahead", "u32", "2", "1..16", "long tasks that a worker holds at a time"},
    {"least_used", "bool", "false", nullptr, "evict the least used data first; false: the kernel's order"},
    {"priority", "f64", "1", "0..1e6", "worth of the highest priority: rank, in run times of the task"},
    {"strict", "bool", "false", nullptr, "a task precedes all tasks of lower priority"},
    POLICY_PARAM_WEIGHTS,
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>(CONSORT_SF_AHEAD);

constexpr consort_plugin plugin =
    policies::record("darts", "loads the data that enable most tasks, if memory is short",
                     ops, init, policies::fini_settings<Settings>, params);

}  // namespace
}  // namespace darts

CONSORT_MODULE(darts, SCHEDULER, POLICY_FLAGS, "darts", "0.1.0", darts::plugin);
