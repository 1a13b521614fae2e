// heteroprio.cpp — the table, the settings and the entry of the policy heteroprio.
#include "../table.hpp"
#include "instance.hpp"

namespace heteroprio {
namespace {

consort_status init(const consort_host *host, void **out) noexcept {
  return policies::init_settings<Settings>(host, out, [&](Settings &s) -> consort_status {
    s.bucket = policies::real_param(host, "bucket", s.bucket);
    s.critical = policies::real_param(host, "critical", s.critical);
    s.near = policies::real_param(host, "near", s.near);
    s.look = static_cast<uint32_t>(policies::number_param(host, "look", s.look));
    s.ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", s.ahead));
    s.weights.alpha = policies::real_param(host, "alpha", s.weights.alpha);
    s.weights.gamma = policies::real_param(host, "gamma", s.weights.gamma);
    s.weights.idle_power = policies::real_param(host, "idle_power", s.weights.idle_power);
    const char *orders = host->param ? host->param(host, "orders") : nullptr;
    const std::string wrong = s.orders.read(orders ? orders : "");
    return wrong.empty() ? CONSORT_OK : host->fail(host, CONSORT_E_INVAL, wrong.c_str());
  });
}

constexpr consort_param params[] = {
    {"orders", "list", "", nullptr, "codelets by class, the first to go first: \"cuda: gemm syrk, cpu: potrf\""},
    {"bucket", "f64", "1.5", "1..1000", "kinds whose advantages differ by less are one bucket"},
    {"critical", "f64", "0.8", "0..100", "of the time to the end: on what so much hangs goes before other buckets"},
    {"near", "f64", "8", "0..1000", "how much more the way of data counts where units wait for theirs"},
    {"look", "u32", "32", "1..64", "tasks of one kind that are compared for their data"},
    {"ahead", "u32", "2", "1..16", "tasks that a worker is given at once, if they take long"},
    {"alpha", "f64", "1", "0..1e6", "weight of time, where a joule is worth something; 0: energy alone"},
    {"gamma", "f64", "0", "0..1e9", "what a joule is worth, in microseconds"},
    {"idle_power", "f64", "0", "0..1e6", "watts of the machine while it is at work; counts with gamma"},
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>();

#define HETEROPRIO_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = HETEROPRIO_FLAGS, .name = "heteroprio", .version = "0.1.0",
    .summary = "each class of units first does what it is better at than the others", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = policies::quiet_already, .fini = policies::fini_settings<Settings>, .get = nullptr,
};

}  // namespace
}  // namespace heteroprio

CONSORT_MODULE(heteroprio, SCHEDULER, HETEROPRIO_FLAGS, "heteroprio", "0.1.0", heteroprio::plugin);
