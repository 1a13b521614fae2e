#include "timed.hpp"

#include <consort/scheduler.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace bench {
namespace {

uint64_t spent;
consort_entry_fn *real_entry;
const consort_scheduler_ops *real;
consort_scheduler_ops ops;
consort_plugin plugin;
const consort_plugin *list[] = {&plugin};
const consort_module module{sizeof(consort_module), 1, list};

struct Stopwatch {
  const std::chrono::steady_clock::time_point from = std::chrono::steady_clock::now();
  uint64_t ns() const {
    return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - from).count());
  }
};

uint32_t push(void *s, const consort_push *p) {
  const Stopwatch w;
  const uint32_t n = real->push(s, p);
  spent += w.ns();
  return n;
}
uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  const Stopwatch w;
  const uint32_t n = real->pop(s, worker, out, max);
  if (n) spent += w.ns();
  return n;
}
void submitted(void *s, const consort_task *const *t, uint32_t n) {
  const Stopwatch w;
  real->submitted(s, t, n);
  spent += w.ns();
}
void started(void *s, uint32_t worker, const consort_task *const *t, uint32_t n) {
  const Stopwatch w;
  real->started(s, worker, t, n);
  spent += w.ns();
}
void finished(void *s, uint32_t worker, const consort_done *d, uint32_t n) {
  const Stopwatch w;
  real->finished(s, worker, d, n);
  spent += w.ns();
}

const consort_module *entry(const consort_host *host) {
  const consort_module *m = real_entry(host);
  if (!m || m->nplugins != 1) return nullptr;
  plugin = {};
  std::memcpy(&plugin, m->plugins[0], std::min<size_t>(m->plugins[0]->size, sizeof plugin));
  real = static_cast<const consort_scheduler_ops *>(plugin.ops);
  ops = {};
  std::memcpy(&ops, real, std::min<size_t>(real->size, sizeof ops));
  ops.size = std::min<uint32_t>(real->size, sizeof ops);  // of a newer one what is known here
  ops.push = push;
  ops.pop = pop;
  if (CONSORT_HAS_FN(real, consort_scheduler_ops, submitted)) ops.submitted = submitted;
  if (CONSORT_HAS_FN(real, consort_scheduler_ops, started)) ops.started = started;
  if (CONSORT_HAS_FN(real, consort_scheduler_ops, finished)) ops.finished = finished;
  plugin.ops = &ops;
  plugin.version = "999.0.0";
  return &module;
}

}  // namespace

consort_entry_fn *timed_policy(const std::string &name, std::string *error) {
  struct Found { const std::string &name; std::string path; } found{name, ""};
  consort_list_plugins(nullptr, 0, [](void *user, const consort_plugin_row *row) {
    auto &f = *static_cast<Found *>(user);
    if (row->kind == CONSORT_KIND_SCHEDULER && row->usable && f.name == row->name) f.path = row->path;
  }, &found);
  if (found.path.empty()) return *error = "there is no policy \"" + name + "\": consort plugins lists what there is", nullptr;
  void *library = dlopen(found.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  real_entry = library ? reinterpret_cast<consort_entry_fn *>(dlsym(library, "consort_plugin_entry")) : nullptr;
  if (!real_entry) return *error = dlerror(), nullptr;
  return entry;
}

uint64_t policy_ns() noexcept { return std::exchange(spent, 0); }

}  // namespace bench
