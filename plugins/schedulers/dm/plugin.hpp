// plugin.hpp — the table, the settings and the entry that every policy of this family has. A policy is one file that
// names itself, its traits and its parameters:  DM_POLICY(name, "name", "summary", traits, params)
#pragma once
#include "../table.hpp"
#include "instance.hpp"

namespace dm {

template <const Traits &kTraits>
struct Table {
  static consort_status init(const consort_host *host, void **out) noexcept {
    return init_settings<Settings>(host, out, [&](Settings &s) {
      s.traits = kTraits;
      s.alpha = static_cast<float>(real_param(host, "alpha", 1));
      s.beta = static_cast<float>(real_param(host, "beta", 1));
      s.gamma = static_cast<float>(real_param(host, "gamma", 0));
      s.idle_power = static_cast<float>(real_param(host, "idle_power", 0));
      s.ahead = static_cast<uint32_t>(number_param(host, "ahead", 2));
      s.steal = flag_param(host, "steal", true);
      return CONSORT_OK;
    });
  }

  static constexpr consort_scheduler_ops ops = [] {
    consort_scheduler_ops o = table_of<Instance, Settings>();
    if (!kTraits.ranks) o.submitted = nullptr, o.adopt = nullptr;  // then nothing is told, which costs nothing
    return o;
  }();
};

}  // namespace dm

#define DM_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
#define DM_PARAM_AHEAD \
  {"ahead", "u32", "2", "0..64", "tasks that a worker is given beyond those that it can have in flight"}
#define DM_PARAM_STEAL \
  {"steal", "bool", "true", nullptr, "an idle worker takes the last of a like one's queue, where it ends sooner"}
#define DM_PARAM_COST                                                                                             \
  {"alpha", "f64", "1", "0..1e6", "weight of when a task ends"},                                                  \
      {"beta", "f64", "1", "0..1e6", "weight of the way of its data"},                                            \
      {"gamma", "f64", "0", "0..1e9", "what a joule is worth, in microseconds"},                                  \
      {"idle_power", "f64", "0", "0..1e6", "watts of the machine while it waits; counts with gamma"}
#define DM_POLICY(id, text, summary_, traits_, params_)                                                           \
  namespace id {                                                                                                  \
  namespace {                                                                                                     \
  constexpr consort_plugin plugin = {                                                                             \
      .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER, .abi_major = CONSORT_SCHEDULER_MAJOR,       \
      .abi_minor = CONSORT_SCHEDULER_MINOR, .flags = DM_FLAGS, .name = text, .version = "0.1.0",                  \
      .summary = summary_, .license = "Apache-2.0", .params = params_, .nparams = sizeof params_ / sizeof *params_, \
      .reserved = 0, .ops = &dm::Table<traits_>::ops, .init = dm::Table<traits_>::init,                           \
      .quiesce = policies::quiet_already, .fini = policies::fini_settings<dm::Settings>, .get = nullptr};           \
  }                                                                                                               \
  }                                                                                                               \
  CONSORT_MODULE(id, SCHEDULER, DM_FLAGS, text, "0.1.0", id::plugin)
