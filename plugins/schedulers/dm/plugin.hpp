// plugin.hpp — the table, the settings and the entry that every policy of this family has. A policy is one file that
// names itself, its traits and its parameters:  DM_POLICY(name, "name", "summary", traits, params)
#pragma once
#include <cstdlib>
#include <new>

#include "instance.hpp"

namespace dm {

inline Instance &self(void *s) noexcept { return *static_cast<Instance *>(s); }

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return host->fail(host, CONSORT_E_NOMEM, "out of memory for the workers' queues");
  }
}

inline float real_param(const consort_host *host, const char *key, float fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? std::strtof(text, nullptr) : fallback;
}
inline bool flag_param(const consort_host *host, const char *key, bool fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? *text == 't' || *text == '1' : fallback;
}

inline consort_status start(const consort_host *host, const Traits &traits, void **out) noexcept {
  auto *s = new (std::nothrow) Settings;
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "out of memory for the settings");
  s->traits = traits;
  s->alpha = real_param(host, "alpha", 1);
  s->beta = real_param(host, "beta", 1);
  s->gamma = real_param(host, "gamma", 0);
  s->idle_power = real_param(host, "idle_power", 0);
  s->ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", 2));
  s->steal = flag_param(host, "steal", true);
  *out = s;
  return CONSORT_OK;
}

template <const Traits &kTraits>
struct Table {
  static consort_status init(const consort_host *host, void **out) noexcept { return start(host, kTraits, out); }
  static void fini(void *plugin) noexcept { delete static_cast<Settings *>(plugin); }

  static constexpr consort_scheduler_ops ops = {
      .size = sizeof(consort_scheduler_ops),
      .flags = CONSORT_SF_NO_BYPASS,
      .create = [](void *plugin, const consort_host *host, const consort_topology *t, uint64_t epoch,
                   void **out) noexcept -> consort_status {
        return guarded(host, [&] {
          *out = new Instance(*static_cast<const Settings *>(plugin), host, *t, epoch);
          return CONSORT_OK;
        });
      },
      .destroy = [](void *s) noexcept { delete &self(s); },
      .workers = [](void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                    uint32_t nd) noexcept -> consort_status {
        return guarded(self(s).host(), [&] { return self(s).workers(*t, add, na, del, nd); });
      },
      .push = [](void *s, const consort_push *p) noexcept -> uint32_t { return self(s).push(*p); },
      .pop = [](void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept -> uint32_t {
        return self(s).pop(worker, out, max);
      },
      .drain = [](void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept -> uint32_t {
        return self(s).drain(epoch, out, max);
      },
      .quiesce = [](void *s, uint64_t deadline) noexcept -> consort_status { return self(s).quiesce(deadline); },
      .submitted = kTraits.ranks ? +[](void *s, const consort_task *const *t, uint32_t n) { self(s).submitted(t, n); }
                                 : nullptr,
      .adopt = kTraits.ranks ? +[](void *s, const consort_task *const *t, uint32_t n) { self(s).submitted(t, n); }
                             : nullptr,
      .dropped = [](void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept -> uint32_t {
        return self(s).dropped(tasks, n, held);
      },
      .started = [](void *s, uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
        self(s).started(worker, tasks, n);
      },
      .finished = [](void *s, uint32_t worker, const consort_done *done, uint32_t n) noexcept {
        self(s).finished(worker, done, n);
      },
      .flush = nullptr,
      .urgency = nullptr,
      .victim = nullptr,
      .next_event = nullptr,
  };
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
      .quiesce = policies::quiet_already, .fini = dm::Table<traits_>::fini, .get = nullptr};                      \
  }                                                                                                               \
  }                                                                                                               \
  CONSORT_MODULE(id, SCHEDULER, DM_FLAGS, text, "0.1.0", id::plugin)
