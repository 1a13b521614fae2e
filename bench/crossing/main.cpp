// What it costs to go through a plugin's table: a scheduler that does next to nothing, handed tasks and asked for them again.
//   crossing-consort PLUGIN.so...   a line of JSON for each plugin and batch: ns per task and call, median of 15
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "ring.hpp"

namespace {

constexpr uint64_t kWant = 2'000'000;  // tasks of a repetition
constexpr int kReps = 15;

consort_status said(const consort_host *, consort_status code, const char *text) {
  std::fprintf(stderr, "%s\n", text);
  return code;
}

template <class Push, class Pop>
double ns_of(uint32_t batch, Push push, Pop pop) {
  std::vector<consort_task> tasks(batch);
  std::vector<consort_task *> ready;
  for (auto &t : tasks) ready.push_back(&t);
  std::vector<consort_pick> picks(batch);
  const consort_push p = {0, CONSORT_NONE, CONSORT_PUSH_NEW, ready.data(), batch, 0, nullptr};
  std::vector<double> ns;
  for (int r = 0; r < kReps; ++r) {
    uint64_t came = 0;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t n = 0; n < kWant; n += batch) push(p), came += pop(picks.data(), batch);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (came < kWant) return std::fprintf(stderr, "tasks are lost\n"), -1;
    ns.push_back(took.count() / static_cast<double>(came) / 2);
  }
  std::nth_element(ns.begin(), ns.begin() + kReps / 2, ns.end());
  return ns[kReps / 2];
}

const consort_plugin *open(const char *file, const consort_host &host) {
  void *so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!so) return std::fprintf(stderr, "%s\n", dlerror()), nullptr;
  const auto entry = reinterpret_cast<consort_entry_fn *>(dlsym(so, "consort_plugin_entry"));
  const consort_module *m = entry ? entry(&host) : nullptr;
  if (!m || !m->nplugins || m->plugins[0]->kind != CONSORT_KIND_SCHEDULER) return std::fprintf(stderr, "%s is no scheduler\n", file), nullptr;
  return m->plugins[0];
}

}  // namespace

int main(int argc, char **argv) {
  consort_host host{};
  host.size = sizeof host, host.major = CONSORT_HOST_MAJOR, host.minor = CONSORT_HOST_MINOR, host.fail = said;
  bool good = argc > 1;
  for (int i = 1; i < argc; ++i) {
    const consort_plugin *plugin = open(argv[i], host);
    void *self = nullptr, *s = nullptr;
    const consort_worker worker{0, 0, 0, 0, 1, 0};
    const char *const klass = "cpu";
    consort_topology t{};
    t.size = sizeof t, t.nworkers = t.nspaces = t.nclasses = 1, t.workers = &worker, t.classes = &klass;
    if (!plugin || (plugin->init && plugin->init(&host, &self) < 0)) return 1;
    const auto *ops = static_cast<const consort_scheduler_ops *>(plugin->ops);
    if (ops->create(self, &host, &t, 0, &s) < 0) return 1;
    for (const uint32_t batch : {1u, 16u}) {
      const double ns = ns_of(batch, [&](const consort_push &p) { return ops->push(s, &p); },
                              [&](consort_pick *out, uint32_t max) { return ops->pop(s, 0, out, max); });
      good &= ns > 0;
      std::printf("{\"plugin\": \"%s\", \"batch\": %u, \"ns\": %.2f, \"budget\": %.1f}\n", plugin->summary, batch, ns, batch == 1 ? 5.4 : 1.5);
    }
    ops->destroy(s);
    if (plugin->fini) plugin->fini(self);
  }
  return good ? 0 : 1;
}
