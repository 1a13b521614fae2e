// lookahead.cpp — the table, the settings and the entry of the policy graph-lookahead.
#include <cstdlib>
#include <new>

#include "instance.hpp"

namespace lookahead {
namespace {

Instance &self(void *s) noexcept { return *static_cast<Instance *>(s); }

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return host->fail(host, CONSORT_E_NOMEM, "out of memory for the instance");
  }
}

double real(const consort_host *host, const char *key, double fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? std::strtod(text, nullptr) : fallback;
}

consort_status init(const consort_host *host, void **out) noexcept {
  auto *s = new (std::nothrow) Settings;
  if (!s) return host->fail(host, CONSORT_E_NOMEM, "out of memory for the settings");
  s->near = real(host, "near", s->near);
  s->slack = real(host, "slack", s->slack);
  s->look = static_cast<uint32_t>(policies::number_param(host, "look", s->look));
  s->ahead = static_cast<uint32_t>(policies::number_param(host, "ahead", s->ahead));
  *out = s;
  return CONSORT_OK;
}
void fini(void *plugin) noexcept { delete static_cast<Settings *>(plugin); }

constexpr consort_param params[] = {
    {"near", "f64", "8", "0..1000", "how much more the way of data counts where units wait for theirs"},
    {"slack", "f64", "1", "0..10", "part of the time to the end that a task may take up where it is slow"},
    {"look", "u32", "64", "1..64", "tasks of one kind that are compared for their data"},
    {"ahead", "u32", "2", "1..16", "tasks that a worker is given at once, if they take long"},
};

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops), .flags = CONSORT_SF_NO_BYPASS,
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
    .submitted = [](void *s, const consort_task *const *t, uint32_t n) noexcept { self(s).submitted(t, n); },
    .adopt = [](void *s, const consort_task *const *t, uint32_t n) noexcept { self(s).submitted(t, n); },
    .dropped = [](void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept -> uint32_t {
      return self(s).dropped(tasks, n, held);
    },
    .started = [](void *s, uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
      self(s).started(worker, tasks, n);
    },
    .finished = [](void *s, uint32_t worker, const consort_done *done, uint32_t n) noexcept {
      self(s).finished(worker, done, n);
    },
    .flush = nullptr, .urgency = nullptr, .victim = nullptr, .next_event = nullptr,
};

#define LOOKAHEAD_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = LOOKAHEAD_FLAGS, .name = "graph-lookahead", .version = "0.1.0",
    .summary = "binds late, by what hangs on each task and what each class loses on it", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = policies::quiet_already, .fini = fini, .get = nullptr,
};

}  // namespace
}  // namespace lookahead

CONSORT_MODULE(lookahead, SCHEDULER, LOOKAHEAD_FLAGS, "graph-lookahead", "0.1.0", lookahead::plugin);
