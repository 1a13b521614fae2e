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
    s.weights.alpha = policies::real_param(host, "alpha", s.weights.alpha);
    s.weights.gamma = policies::real_param(host, "gamma", s.weights.gamma);
    s.weights.idle_power = policies::real_param(host, "idle_power", s.weights.idle_power);
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"look", "u32", "256", "1..512", "ready tasks that a choice looks at, of each kind"},
    {"plan", "u32", "16", "1..64", "tasks that are planned at once"},
    {"near", "f64", "4", "0..1000", "where memory is not short: weight of the way of data where units wait for theirs"},
    {"critical", "f64", "0.3", "0..100", "of the time to the end: on what so much hangs goes before all else"},
    {"ahead", "u32", "2", "1..16", "tasks that a worker is given at once, if they take long"},
    {"least_used", "bool", "false", nullptr, "what is used least makes room first; else the kernel's order"},
    {"alpha", "f64", "1", "0..1e6", "weight of time, where a joule is worth something; 0: energy alone"},
    {"gamma", "f64", "0", "0..1e9", "what a joule is worth, in microseconds"},
    {"idle_power", "f64", "0", "0..1e6", "watts of the machine while it is at work; counts with gamma"},
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>();

#define DARTS_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = DARTS_FLAGS, .name = "darts", .version = "0.1.0",
    .summary = "loads what makes most tasks possible, where memory is short", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = policies::quiet_already, .fini = policies::fini_settings<Settings>, .get = nullptr,
};

}  // namespace
}  // namespace darts

CONSORT_MODULE(darts, SCHEDULER, DARTS_FLAGS, "darts", "0.1.0", darts::plugin);
