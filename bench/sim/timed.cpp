#include "timed.hpp"

#include <consort/scheduler.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr size_t kMost = 32;  // policies in one process: the measured one, and the ones that it may name

std::vector<float> calls;     // ns of each call that counts, in their order

class Stopwatch {
 public:
  void stop() const { calls.push_back(static_cast<float>(ns())); }
  double ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from_).count();
  }

 private:
  const std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

struct Policy {
  const consort_scheduler_ops *real;
  consort_scheduler_ops ops;
  consort_plugin plugin;
};
std::array<Policy, kMost> policies;
const consort_plugin *list[kMost];
consort_module module{sizeof(consort_module), 0, list};
std::vector<consort_entry_fn *> entries;  // of the policies' own modules

// The functions of the policy in this place of the table.
template <size_t I>
struct Timed {
  static const consort_scheduler_ops &real() { return *policies[I].real; }

  static uint32_t push(void *s, const consort_push *p) {
    const Stopwatch w;
    const uint32_t n = real().push(s, p);
    w.stop();
    return n;
  }
  static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
    const Stopwatch w;
    const uint32_t n = real().pop(s, worker, out, max);
    if (n) w.stop();
    return n;
  }
  static void submitted(void *s, const consort_task *const *t, uint32_t n) {
    const Stopwatch w;
    real().submitted(s, t, n);
    w.stop();
  }
  static void started(void *s, uint32_t worker, const consort_task *const *t, uint32_t n) {
    const Stopwatch w;
    real().started(s, worker, t, n);
    w.stop();
  }
  static void finished(void *s, uint32_t worker, const consort_done *d, uint32_t n) {
    const Stopwatch w;
    real().finished(s, worker, d, n);
    w.stop();
  }
  static const char *direct(void *s, const consort_overview *view) {
    const Stopwatch w;
    const char *name = real().direct(s, view);
    w.stop();
    return name;
  }
  static void put_around(consort_scheduler_ops &ops) {
    ops.push = push;
    ops.pop = pop;
    if (CONSORT_HAS_FN(&real(), consort_scheduler_ops, submitted)) ops.submitted = submitted;
    if (CONSORT_HAS_FN(&real(), consort_scheduler_ops, started)) ops.started = started;
    if (CONSORT_HAS_FN(&real(), consort_scheduler_ops, finished)) ops.finished = finished;
    if (CONSORT_HAS_FN(&real(), consort_scheduler_ops, direct)) ops.direct = direct;
  }
};

template <size_t... I>
constexpr auto all_of(std::index_sequence<I...>) {
  return std::array<void (*)(consort_scheduler_ops &), sizeof...(I)>{Timed<I>::put_around...};
}
constexpr auto put_around = all_of(std::make_index_sequence<kMost>());

const consort_module *entry(const consort_host *host) {
  module.nplugins = 0;
  for (consort_entry_fn *real : entries) {
    const consort_module *m = real(host);
    if (!m || m->nplugins != 1) return nullptr;
    const size_t i = module.nplugins++;
    Policy &p = policies[i];
    p.plugin = {};
    std::memcpy(&p.plugin, m->plugins[0], std::min<size_t>(m->plugins[0]->size, sizeof p.plugin));
    p.real = static_cast<const consort_scheduler_ops *>(p.plugin.ops);
    p.ops = {};
    std::memcpy(&p.ops, p.real, std::min<size_t>(p.real->size, sizeof p.ops));
    p.ops.size = std::min<uint32_t>(p.real->size, sizeof p.ops);  // a newer table is cut to the size known here
    put_around[i](p.ops);
    p.plugin.ops = &p.ops;
    p.plugin.version = "999.0.0";
    list[i] = &p.plugin;
  }
  return &module;
}

struct Found { std::string name, path; };

consort_entry_fn *load(const Found &f, std::string *error) {
  void *library = dlopen(f.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "consort_plugin_entry") : nullptr;
  if (!found) *error = dlerror();
  return reinterpret_cast<consort_entry_fn *>(found);
}

}  // namespace

consort_entry_fn *timed_policy(const std::string &name, std::string *error) {
  std::vector<Found> found;
  consort_list_plugins(nullptr, 0, [](void *user, const consort_plugin_row *row) {
    if (row->kind == CONSORT_KIND_SCHEDULER && row->usable)
      static_cast<std::vector<Found> *>(user)->push_back({row->name, row->path});
  }, &found);
  const auto it = std::find_if(found.begin(), found.end(), [&](const Found &f) { return f.name == name; });
  if (it == found.end()) {
    *error = "there is no policy \"" + name + "\": consort plugins lists what there is";
    return nullptr;
  }
  std::iter_swap(it, found.begin());
  // The others, too: a policy may be a director, which names one of them for its tasks.
  for (const Found &f : found) {
    if (entries.size() == kMost) break;
    if (consort_entry_fn *e = load(f, error)) entries.push_back(e);
    else if (entries.empty()) return nullptr;
  }
  return entry;
}

std::vector<float> policy_calls() {
  std::vector<float> all;
  all.reserve(calls.size());  // no call is to wait for memory
  std::swap(all, calls);
  return all;
}

double clock_ns() {
  std::vector<double> empty(1001);
  for (double &x : empty) x = Stopwatch().ns();
  std::nth_element(empty.begin(), empty.begin() + 500, empty.end());
  return empty[500];
}

}  // namespace bench
