// Bytes moved into a memory that holds a quarter of the working set, against an optimal (Belady) replacement.
#include "belady.hpp"
#include "machine.hpp"

#include <kernel/api/runtime.hpp>

namespace bench {
namespace {

struct Order {                   // in which tasks began
  std::vector<uint64_t> tasks;
  static void note(void *user, const consort_trace_event *e) {
    if (e->what == 0) static_cast<Order *>(user)->tasks.push_back(e->task);
  }
};

void run(const std::string &name, const std::vector<Step> &steps, int tiles, const char *scheduler) {
  constexpr uint64_t kBytes = 16384;
  const size_t room = static_cast<size_t>(tiles) / 4;
  const Machine m({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.memory", std::to_string(room * kBytes)},
                   {"sim.times", "step=200us"}, {"sim.runs", ""}, {"scheduler", scheduler}, {"window", "0"}});
  if (!m) return std::fprintf(stderr, "%s is left out: %s\n", name.c_str(), m.why().c_str()), void();
  const auto step = m.codelet("step", "gpu", nothing);
  std::vector<char> memory(kBytes * static_cast<size_t>(tiles));
  std::vector<consort_data_id> data;
  for (int t = 0; t < tiles; ++t) {
    consort_data_id d{0};
    must(consort_register_vector(m, memory.data() + kBytes * static_cast<size_t>(t), kBytes, 1, &d), "register");
    data.push_back(d);
  }
  Order order;
  must(consort_trace(m, Order::note, &order), "trace");
  std::map<uint64_t, size_t> step_of;
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<consort_use> uses;
    for (const Use &u : steps[i]) uses.push_back({data[static_cast<size_t>(u.tile)], mode(u), 0});
    step_of[m.submit(step, uses).v] = i;
  }
  m.wait();
  const uint32_t far = m.space("sim");
  const Traffic seen = traffic(m, far);
  std::vector<Step> ran;
  for (const uint64_t t : order.tasks)
    if (const auto it = step_of.find(t); it != step_of.end()) ran.push_back(steps[it->second]);
  if (ran.size() != steps.size()) std::fprintf(stderr, "%s: %zu of %zu tasks were seen\n", name.c_str(), ran.size(), steps.size()), std::exit(1);
  const double best = static_cast<double>(optimal_loads(ran, room)) * kBytes;
  row(name + ", " + scheduler + ": bytes loaded", seen.in / 1e6, "MB", best / 1e6, "<= 1.25");
  row(name + ", " + scheduler + ": written back (no reference)", seen.saved / 1e6, "MB", 0, "");
  row(name + ", " + scheduler + ": evictions of what a task needed", seen.needed_evictions, "evictions", static_cast<double>(steps.size()), "<= 0");
  for (const auto d : data) must(consort_unregister(m, d), "unregister");
}

} // namespace

void replacement(const Options &o) {
  const int n = o.tiles ? o.tiles : o.smoke ? 8 : 20, small = o.tiles ? o.tiles : o.smoke ? 6 : 12;
  for (const char *scheduler : {"lws", "eager"}) {
    run("Cholesky of " + std::to_string(n) + "x" + std::to_string(n) + " tiles, room for a quarter", cholesky(n), n * (n + 1) / 2, scheduler);
    run("product of " + std::to_string(small) + "x" + std::to_string(small) + " tiles, room for a quarter", product(small), 3 * small * small,
        scheduler);
  }
}

} // namespace bench
