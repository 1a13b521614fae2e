// Bytes moved into a memory that holds a quarter of the working set, against what somebody would load who knows the future.
#include "machine.hpp"

#include <kernel/runtime.hpp>

#include <map>
#include <set>

namespace bench {
namespace {

struct Use { int tile; bool reads, writes; };
using Step = std::vector<Use>;
uint32_t mode(const Use &u) { return (u.reads ? uint32_t{CONSORT_M_R} : 0u) | (u.writes ? uint32_t{CONSORT_M_W} : 0u); }

// Tiles that an optimal replacement loads for these steps in this order, with room for so many.
uint64_t optimal_loads(const std::vector<Step> &steps, size_t room) {
  std::map<int, std::vector<size_t>> uses;  // places in the order, the last first
  for (size_t i = steps.size(); i-- > 0;)
    for (const Use &u : steps[i]) uses[u.tile].push_back(i);
  std::set<int> there;
  uint64_t loads = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto needed = [&](int tile) {
      return std::any_of(steps[i].begin(), steps[i].end(), [&](const Use &u) { return u.tile == tile; });
    };
    for (const Use &u : steps[i]) {
      if (there.contains(u.tile)) continue;
      if (there.size() == room) {
        int victim = -1;
        size_t farthest = 0;
        for (const int t : there) {
          const auto &later = uses[t];
          const size_t next = later.empty() ? SIZE_MAX : later.back();
          if (!needed(t) && (victim < 0 || next > farthest)) victim = t, farthest = next;
        }
        there.erase(victim);
      }
      there.insert(u.tile);
      loads += u.reads;
    }
    for (const Use &u : steps[i]) uses[u.tile].pop_back();
  }
  return loads;
}

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

std::vector<Step> cholesky(int n) {
  std::vector<Step> steps;
  const auto at = [](int i, int j) { return i * (i + 1) / 2 + j; };
  for (int k = 0; k < n; ++k) {
    steps.push_back({{at(k, k), true, true}});
    for (int i = k + 1; i < n; ++i) steps.push_back({{at(k, k), true, false}, {at(i, k), true, true}});
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j < i; ++j) steps.push_back({{at(i, k), true, false}, {at(j, k), true, false}, {at(i, j), true, true}});
      steps.push_back({{at(i, k), true, false}, {at(i, i), true, true}});
    }
  }
  return steps;
}

std::vector<Step> product(int n) {
  std::vector<Step> steps;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        steps.push_back({{i * n + k, true, false}, {n * n + k * n + j, true, false}, {2 * n * n + i * n + j, true, true}});
  return steps;
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
