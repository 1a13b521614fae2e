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
    s.weights.read(host);
    const char *orders = host->param ? host->param(host, "orders") : nullptr;
    const std::string wrong = s.orders.read(orders ? orders : "");
    return wrong.empty() ? CONSORT_OK : host->fail(host, CONSORT_E_INVAL, wrong.c_str());
  });
}

constexpr consort_param params[] = {
    {"orders", "list", "", nullptr, "codelets by class, in order: \"cuda: gemm syrk, cpu: potrf\""},
    {"bucket", "f64", "1.5", "1..1000", "kinds whose advantages differ by a smaller factor share a bucket"},
    {"critical", "f64", "0.8", "0..100", "share of the remaining time: tasks with a larger rank precede other buckets"},
    {"near", "f64", "8", "0..1000", "weight of transfer time while units stall for data"},
    {"look", "u32", "32", "1..64", "tasks of a kind that are compared for their data"},
    {"ahead", "u32", "2", "1..16", "long tasks that a worker holds at a time"},
    POLICY_PARAM_WEIGHTS,
};

constexpr consort_scheduler_ops ops = policies::table_of<Instance, Settings>(CONSORT_SF_AHEAD);

constexpr consort_plugin plugin =
    policies::record("heteroprio", "each class of units first runs the kinds at which it is better than the others",
                     ops, init, policies::fini_settings<Settings>, params);

}  // namespace
}  // namespace heteroprio

CONSORT_MODULE(heteroprio, SCHEDULER, POLICY_FLAGS, "heteroprio", "0.1.0", heteroprio::plugin);
