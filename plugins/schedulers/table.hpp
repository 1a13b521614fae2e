// table.hpp — the function table of a policy class whose member functions have the table's names, and parsing of its
// parameters. table_of_statics() serves classes with static functions. Optional functions (victim, or a static
// dropped) are in the table only if the class has them.
#pragma once
#include <consort/scheduler.h>

#include <new>
#include <span>

#include "members.hpp"

namespace policies {

inline double real_param(const consort_host *host, const char *key, double fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? std::strtod(text, nullptr) : fallback;
}
inline bool flag_param(const consort_host *host, const char *key, bool fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? *text == 't' || *text == '1' : fallback;
}

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return consort::plugin::caught(host, "out of memory for the instance");
  }
}

// The plugin's state is its settings alone, constant once read. read(settings) → consort_status.
template <class Settings, class Read>
consort_status init_settings(const consort_host *host, void **out, Read read) noexcept {
  auto *s = new (std::nothrow) Settings;
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "out of memory for the settings");
  const consort_status status = guarded(host, [&]() -> consort_status { return read(*s); });
  if (status < 0) delete s;
  else *out = s;
  return status;
}
template <class Settings>
void fini_settings(void *plugin) noexcept {
  delete static_cast<Settings *>(plugin);
}

// Flags of every policy here. A constant, because the plugin's note needs one.
#define POLICY_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)

// The plugin record of a policy. Default: no state, no parameters.
constexpr consort_plugin record(const char *name, const char *summary, const consort_scheduler_ops &ops,
                                consort_status (*init)(const consort_host *, void **) = init_nothing,
                                void (*fini)(void *) = fini_nothing, std::span<const consort_param> params = {}) {
  return {
      .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
      .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
      .flags = POLICY_FLAGS, .name = name, .version = "0.1.0", .summary = summary, .license = "Apache-2.0",
      .params = params.data(), .nparams = static_cast<uint32_t>(params.size()), .reserved = 0, .ops = &ops,
      .init = init, .quiesce = quiet_already, .fini = fini, .get = nullptr,
  };
}

template <class Instance>
Instance &self(void *s) noexcept {
  return *static_cast<Instance *>(s);
}

// Requires Instance(const Settings &, host, topology, epoch) and host().
template <class Instance, class Settings>
constexpr consort_scheduler_ops table_of(uint32_t flags = 0) {
  consort_scheduler_ops ops = {
      .size = sizeof(consort_scheduler_ops),
      .flags = CONSORT_SF_NO_BYPASS | flags,
      .create = [](void *plugin, const consort_host *host, const consort_topology *t, uint64_t epoch,
                   void **out) noexcept -> consort_status {
        return guarded(host, [&] {
          *out = new Instance(*static_cast<const Settings *>(plugin), host, *t, epoch);
          return CONSORT_OK;
        });
      },
      .destroy = [](void *s) noexcept { delete static_cast<Instance *>(s); },
      .workers = [](void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                    uint32_t nd) noexcept -> consort_status {
        return guarded(self<Instance>(s).host(), [&] { return self<Instance>(s).workers(*t, add, na, del, nd); });
      },
      .push = [](void *s, const consort_push *p) noexcept -> uint32_t { return self<Instance>(s).push(*p); },
      .pop = [](void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept -> uint32_t {
        return self<Instance>(s).pop(worker, out, max);
      },
      .drain = [](void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept -> uint32_t {
        return self<Instance>(s).drain(epoch, out, max);
      },
      .quiesce = [](void *s, uint64_t deadline) noexcept -> consort_status {
        return self<Instance>(s).quiesce(deadline);
      },
      .submitted = [](void *s, const consort_task *const *t, uint32_t n) noexcept {
        self<Instance>(s).submitted(t, n);
      },
      .adopt = [](void *s, const consort_task *const *t, uint32_t n) noexcept { self<Instance>(s).submitted(t, n); },
      .dropped = [](void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept -> uint32_t {
        return self<Instance>(s).dropped(tasks, n, held);
      },
      .started = [](void *s, uint32_t worker, const consort_task *const *t, uint32_t n) noexcept {
        self<Instance>(s).started(worker, t, n);
      },
      .finished = [](void *s, uint32_t worker, const consort_done *done, uint32_t n) noexcept {
        self<Instance>(s).finished(worker, done, n);
      },
      .flush = nullptr,
      .urgency = nullptr,
      .victim = nullptr,
      .next_event = nullptr,
      .direct = nullptr,
      .directed = nullptr,
  };
  if constexpr (requires(Instance &i) { i.victim(0u, uint64_t{0}, nullptr, 0u, nullptr); })
    ops.victim = [](void *s, uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n,
                    uint32_t *order) noexcept -> uint32_t {
      return self<Instance>(s).victim(space, bytes, replicas, n, order);
    };
  return ops;
}

// Of the hooks, only dropped() is set; a policy sets others itself.
template <class Instance>
constexpr consort_scheduler_ops table_of_statics(uint32_t flags) {
  consort_scheduler_ops ops = {
      .size = sizeof(consort_scheduler_ops), .flags = flags,
      .create = Instance::create, .destroy = Instance::destroy, .workers = Instance::workers, .push = Instance::push,
      .pop = Instance::pop, .drain = Instance::drain, .quiesce = Instance::quiesce, .submitted = nullptr,
      .adopt = nullptr, .dropped = nullptr, .started = nullptr, .finished = nullptr, .flush = nullptr,
      .urgency = nullptr, .victim = nullptr, .next_event = nullptr, .direct = nullptr,
      .directed = nullptr,
  };
  if constexpr (requires { Instance::dropped; }) ops.dropped = Instance::dropped;
  return ops;
}

}  // namespace policies
