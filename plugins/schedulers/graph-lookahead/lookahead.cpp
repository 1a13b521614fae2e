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
    s.weights.alpha = policies::real_param(host, "alpha", s.weights.alpha);
    s.weights.gamma = policies::real_param(host, "gamma", s.weights.gamma);
    s.weights.idle_power = policies::real_param(host, "idle_power", s.weights.idle_power);
    s.ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", s.ahead));
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"near", "f64", "4", "0..1000", "how much more the way of data counts where units wait for theirs"},
    {"slack", "f64", "1", "0..10", "part of the time to the end that a task may take up where it is slow"},
    {"look", "u32", "64", "1..64", "tasks of one kind that are compared for their data"},
    {"ahead", "u32", "2", "1..16", "tasks that a worker is given at once, if they take long"},
    {"alpha", "f64", "1", "0..1e6", "weight of time, where a joule is worth something; 0: energy alone"},
    {"beta", "f64", "1", "0..1e6", "weight of the way of data"},
    {"gamma", "f64", "0", "0..1e9", "what a joule is worth, in microseconds"},
    {"idle_power", "f64", "0", "0..1e6", "watts of the machine while it is at work; counts with gamma"},
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>();

#define LOOKAHEAD_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = LOOKAHEAD_FLAGS, .name = "graph-lookahead", .version = "0.1.0",
    .summary = "binds late, by what hangs on each task and what each class loses on it", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = policies::quiet_already, .fini = policies::fini_settings<Settings>, .get = nullptr,
};

}  // namespace
}  // namespace lookahead

CONSORT_MODULE(lookahead, SCHEDULER, LOOKAHEAD_FLAGS, "graph-lookahead", "0.1.0", lookahead::plugin);
