// plugin.hpp — the table, the settings and the entry of the policies of this family. A policy is one file with
// its name, its traits and its parameters:  DM_POLICY(name, "name", "summary", traits, params)
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
    if (!kTraits.ranks) o.submitted = nullptr, o.adopt = nullptr;  // avoids the cost of unused hooks
    return o;
  }();
};

}  // namespace dm

#define DM_PARAM_AHEAD \
  {"ahead", "u32", "2", "0..64", "tasks that a worker holds beyond those that it can have in flight"}
#define DM_PARAM_STEAL \
  {"steal", "bool", "true", nullptr, "an idle worker takes the last task of a like worker's queue if it ends sooner here"}
#define DM_PARAM_COST                                                                                             \
  {"alpha", "f64", "1", "0..1e6", "weight of a task's end"},                                                  \
      {"beta", "f64", "1", "0..1e6", "weight of its transfer time"},                                            \
      {"gamma", "f64", "0", "0..1e9", "microseconds per joule"},                                  \
      {"idle_power", "f64", "0", "0..1e6", "watts of the idle machine; used with gamma"}
#define DM_POLICY(id, text, summary_, traits_, params_)                                                           \
  namespace id {                                                                                                  \
  namespace {                                                                                                     \
  constexpr consort_plugin plugin = policies::record(text, summary_, dm::Table<traits_>::ops, dm::Table<traits_>::init, \
                                                     policies::fini_settings<dm::Settings>, params_);             \
  }                                                                                                               \
  }                                                                                                               \
  CONSORT_MODULE(id, SCHEDULER, POLICY_FLAGS, text, "0.1.0", id::plugin)
