// Tiled Cholesky, LU and product in virtual time on a described machine: how fast a policy is there, and what it costs.
//
// One line of JSON per seed. Nothing is executed and no tile is touched: data are address space alone. Data begin in the
// host's memory; time goes from the first submission to the last task's end. One thread.
#include <consort/clock.h>
#include <consort/layouts.h>
#include <consort/shared/plain_file.hpp>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "../../plugins/drivers/sim/kernels.hpp"
#include "../../plugins/reports/bound/program.hpp"
#include "graph.hpp"
#include "timed.hpp"

namespace {

using namespace bench;

struct Options {
  std::string machine, app = "cholesky", policy = "lws", memory, only, trace, name;
  uint32_t tile = 960, n = 10, seed = 1, seeds = 1, repeats = 1;
  std::string noise = "0";
  bool levels = false, bound = true;
  std::vector<std::pair<std::string, std::string>> set;
};

[[noreturn]] void give_up(const std::string &text) {
  std::fprintf(stderr, "sim: %s\n", text.c_str());
  std::exit(1);
}
void must(consort_status s, const char *what) {
  if (s < 0) give_up(std::string(what) + ": " + consort_error());
}

constexpr char kUsage[] =
    "usage: sim-consort --machine FILE.toml [--app cholesky|lu|gemm] [--tile T] [--n N] [--policy P] [--noise X] [--seed S]\n"
    "  [--seeds K] [--repeats R] [--priorities none|levels] [--memory BYTES] [--only CLASS] [--set KEY=VALUE]... [--trace FILE] [--no-bound]\n";

uint32_t number(const std::string &option, const char *text, uint32_t least) {
  char *end = nullptr;
  const unsigned long x = std::strtoul(text, &end, 10);
  if (*end || end == text || x < least || x > 100'000'000) give_up(option + " " + text + " is no number from " + std::to_string(least));
  return static_cast<uint32_t>(x);
}

Options read_options(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--no-bound") {
      o.bound = false;
      continue;
    }
    if (i + 1 >= argc || a.rfind("--", 0) != 0) std::fputs(kUsage, stderr), std::exit(2);
    const char *v = argv[++i];
    if (a == "--machine") o.machine = v;
    else if (a == "--app") o.app = v;
    else if (a == "--policy") o.policy = v;
    else if (a == "--tile") o.tile = number(a, v, 1);
    else if (a == "--n") o.n = number(a, v, 1);
    else if (a == "--noise") o.noise = v;
    else if (a == "--seed") o.seed = number(a, v, 0);
    else if (a == "--seeds") o.seeds = number(a, v, 1);
    else if (a == "--repeats") o.repeats = number(a, v, 1);
    else if (a == "--memory") o.memory = v;
    else if (a == "--only") o.only = v;
    else if (a == "--trace") o.trace = v;
    else if (a == "--priorities" && (!std::strcmp(v, "none") || !std::strcmp(v, "levels"))) o.levels = v[0] == 'l';
    else if (a == "--set" && std::strchr(v, '=')) o.set.emplace_back(std::string(v, std::strchr(v, '=')), std::strchr(v, '=') + 1);
    else std::fputs(kUsage, stderr), std::exit(2);
  }
  if (o.machine.empty()) std::fputs(kUsage, stderr), std::exit(2);
  if (o.n > 1000) give_up("--n " + std::to_string(o.n) + ": 1000 tiles a side are the most");
  const size_t slash = o.machine.rfind('/') + 1, dot = o.machine.rfind('.');
  o.name = o.machine.substr(slash, dot > slash && dot != o.machine.npos ? dot - slash : o.machine.npos);
  return o;
}

struct Resource {                            // units that are alike
  std::string name;
  double units;
  std::vector<double> ns;                    // by kernel
};

// What the bound must know of the machine: the same file that the driver reads.
struct Described {
  std::vector<Resource> resources;
  std::vector<std::string> classes, spaces;  // spaces: of devices that are not the host
  std::string set;                           // of kernels; "": the file has none of this application
};

Described describe(const Options &o, const Graph &g) try {
  constexpr uint64_t kMost = 64 << 20;
  std::string text, why;
  if (!consort::shared::read_file(o.machine, kMost, &text, &why)) give_up(o.machine + " " + why);
  const auto tables = sim::read_tables(o.machine, text);
  std::vector<sim::KernelTable> kernels;
  for (const auto &t : tables)
    if (t.name == "kernel") kernels.push_back(sim::KernelTable::read(t));
  Described d;
  for (const auto &k : kernels)
    if (k.set == o.app + "_single") d.set = k.set;
  for (const auto &t : tables) {
    if (t.name != "device") continue;
    std::string name, klass = "gpu";
    double units = 1, count = 1;
    bool host = false;
    for (const auto &e : t.entries) {
      if (e.key == "name") name = e.value;
      else if (e.key == "class") klass = e.value;
      else if (e.key == "units") units = sim::read_number(e.where, e.value);
      else if (e.key == "count") count = sim::read_number(e.where, e.value);
      else if (e.key == "host") host = sim::read_flag(e.where, e.value);
    }
    if (std::find(d.classes.begin(), d.classes.end(), klass) == d.classes.end()) d.classes.push_back(klass);
    for (int i = 0; i < count; ++i) {
      const std::string one = count > 1 ? name + std::to_string(i) : name;
      if (!host) d.spaces.push_back(one + ":ram");
      if (!o.only.empty() && klass != o.only) continue;
      Resource r{one, units, {}};
      for (size_t k = 0; k < g.kernels.size(); ++k) {
        const uint64_t bytes = uint64_t{4} * o.tile * o.tile * g.operands[k];
        double ns = NAN;
        int best = 3;  // as the driver ranks them
        for (const auto &kt : kernels) {
          if (kt.team > 1 || kt.codelet != g.kernels[k] || (!kt.set.empty() && kt.set != o.app + "_single")) continue;
          const int rank = !kt.device.empty() ? (kt.device == one ? 0 : 3) : !kt.klass.empty() ? (kt.klass == klass ? 1 : 3) : 2;
          if (rank < best) best = rank, ns = kt.curve.ns(bytes);
        }
        r.ns.push_back(ns);
      }
      d.resources.push_back(std::move(r));
    }
  }
  for (size_t k = 0; k < g.kernels.size(); ++k)
    if (std::all_of(d.resources.begin(), d.resources.end(), [&](const Resource &r) { return std::isnan(r.ns[k]); }))
      give_up(o.machine + " does not say how long " + g.kernels[k] + " takes" + (o.only.empty() ? "" : " on " + o.only));
  return d;
} catch (const sim::Bad &b) {
  give_up(b.text);
}

std::vector<double> best_times(const Described &d, size_t kernels) {
  std::vector<double> best(kernels, INFINITY);
  for (const Resource &r : d.resources)
    for (size_t k = 0; k < kernels; ++k)
      if (r.ns[k] < best[k]) best[k] = r.ns[k];
  return best;
}

// The area with the critical chain, or the longest way through the graph at its best, whichever is longer.
double bound_ns(const Options &o, const Graph &g, const Described &d, const std::vector<double> &best) {
  const double n = o.n - 1;
  bound::Problem p;
  for (const Resource &r : d.resources) p.groups.push_back({r.name, r.units, 0});
  const auto counts = g.counts();
  for (size_t k = 0; k < g.kernels.size(); ++k) {
    p.kinds.push_back({g.kernels[k], counts[k], {}, false});
    for (const Resource &r : d.resources) p.kinds[k].ns.push_back(r.ns[k]);
  }
  auto &chain = p.chain;
  if (o.app == "cholesky") chain = {{0, true, 0}, {1, false, n}, {2, false, n}};
  else if (o.app == "lu") chain = {{0, true, 0}, {best[1] > best[2] ? 1u : 2u, false, n}, {3, false, n}};
  const auto levels = g.bottom_levels(best);
  constexpr double kSeconds = 60;
  const bound::Solution area = bound::solve(bound::formulate(p, bound::Level::kArea, false), kSeconds);
  if (!area.exact) give_up("no bound: " + (area.trouble.empty() ? "the solver did not end" : area.trouble));
  return std::max(area.least * 1e6, *std::max_element(levels.begin(), levels.end()));
}

struct Ran {
  double makespan_ns, wall_s;
  std::vector<float> calls;  // ns of each of the policy's
};

consort_status nothing(const consort_call *) { return CONSORT_OK; }  // is not called

Ran run(const Options &o, const Graph &g, const Described &d, consort_entry_fn *policy, uint32_t seed,
        const std::vector<double> &levels, double longest, char *home) {
  const auto from = std::chrono::steady_clock::now();
  const std::string seed_text = std::to_string(seed);
  std::vector<consort_setting> set{{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", o.policy.c_str()}, {"window", "0"},
                                   {"seed", seed_text.c_str()}, {"sim.machine", o.machine.c_str()}, {"sim.kernels", d.set.c_str()},
                                   {"sim.execute", "false"}, {"sim.move", "false"}, {"sim.runs", ""},
                                   {"sim.noise", o.noise.c_str()}, {"sim.seed", seed_text.c_str()}};
  std::string limits;
  for (const std::string &s : d.spaces) limits += (limits.empty() ? "" : ",") + s + "=" + o.memory;
  if (!o.memory.empty()) set.push_back({"limits", limits.c_str()});
  if (!o.trace.empty()) set.push_back({"sim.trace", o.trace.c_str()});
  for (const auto &[key, value] : o.set) set.push_back({key.c_str(), value.c_str()});
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set.data();
  settings.nset = static_cast<uint32_t>(set.size());
  settings.modules = &policy;
  settings.nmodules = 1;
  consort_runtime *rt = nullptr;
  must(consort_start(&settings, &rt), "start");

  std::vector<consort_codelet_id> codelets(g.kernels.size());
  for (size_t k = 0; k < g.kernels.size(); ++k) {
    std::vector<consort_impl> impls;
    for (const std::string &klass : d.classes)
      if (o.only.empty() || klass == o.only) impls.push_back({klass.c_str(), nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0});
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = g.kernels[k].c_str();
    c.impls = impls.data();
    c.nimpls = static_cast<uint32_t>(impls.size());
    must(consort_codelet_add(rt, &c, &codelets[k]), "codelet");
  }
  const uint64_t elements = uint64_t{o.tile} * o.tile;
  std::vector<consort_data_id> data(g.tiles);
  for (uint32_t i = 0; i < g.tiles; ++i)
    must(consort_register_vector(rt, home + i * elements * 4, elements, 4, &data[i]), "register");
  policy_calls();
  uint64_t begin = 0, end = 0;
  must(consort_now(rt, &begin), "clock");
  for (size_t i = 0; i < g.tasks.size(); ++i) {
    const TileTask &t = g.tasks[i];
    consort_use uses[3];
    for (uint32_t u = 0; u < t.nuses; ++u)
      uses[u] = {data[t.uses[u].tile], t.uses[u].writes ? uint32_t{CONSORT_M_RW} : uint32_t{CONSORT_M_R}, 0};
    consort_task_desc desc = CONSORT_TASK_INIT;
    desc.codelet = codelets[t.kernel];
    desc.uses = uses;
    desc.nuses = t.nuses;
    if (!levels.empty()) desc.priority = static_cast<int32_t>(levels[i] / longest * 1e6);
    must(consort_submit(rt, &desc, nullptr), "submit");
  }
  must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  must(consort_now(rt, &end), "clock");
  const double ran = static_cast<double>(end - begin);
  std::vector<float> calls = policy_calls();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  for (const consort_data_id x : data) must(consort_unregister(rt, x), "unregister");
  must(consort_stop(rt), "stop");
  return {ran, wall, std::move(calls)};
}

// ns of the policy's code per task: of runs of one seed, whose calls are the same, each call's median, so that what else the
// host did meanwhile does not count.
double decision_ns(const std::vector<Ran> &runs, size_t tasks) {
  static const double clock = clock_ns();
  const size_t ncalls = runs.front().calls.size();
  for (const Ran &r : runs)
    if (r.calls.size() != ncalls) give_up("two runs of one seed differ: " + std::to_string(ncalls) + " calls of the policy, then " + std::to_string(r.calls.size()));
  double all = 0;
  std::vector<float> one(runs.size());
  for (size_t i = 0; i < ncalls; ++i) {
    for (size_t k = 0; k < runs.size(); ++k) one[k] = runs[k].calls[i];
    std::nth_element(one.begin(), one.begin() + one.size() / 2, one.end());
    all += std::max(0.0, one[one.size() / 2] - clock);
  }
  return all / static_cast<double>(tasks);
}

}  // namespace

int main(int argc, char **argv) {
  const Options o = read_options(argc, argv);
  Graph g;
  if (o.app == "cholesky") g = cholesky(o.n, o.tile);
  else if (o.app == "lu") g = lu(o.n, o.tile);
  else if (o.app == "gemm") g = gemm(o.n, o.tile);
  else give_up("--app " + o.app + " is none of cholesky, lu, gemm");
  const Described d = describe(o, g);
  const auto best = best_times(d, g.kernels.size());
  std::vector<double> levels;
  double longest = 1;
  if (o.levels) {
    levels = g.bottom_levels(best);
    longest = *std::max_element(levels.begin(), levels.end());
  }
  const double bound = o.bound ? g.flops / bound_ns(o, g, d, best) : NAN;
  std::string error;
  consort_entry_fn *policy = timed_policy(o.policy, &error);
  if (!policy) give_up(error);
  const size_t bytes = size_t{4} * o.tile * o.tile * g.tiles;
  void *home = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (home == MAP_FAILED) give_up("no address space for " + std::to_string(bytes) + " bytes of tiles");
  for (uint32_t i = 0; i < o.seeds; ++i) {
    std::vector<Ran> runs;
    for (uint32_t k = 0; k < o.repeats; ++k) runs.push_back(run(o, g, d, policy, o.seed + i, levels, longest, static_cast<char *>(home)));
    std::sort(runs.begin(), runs.end(), [](const Ran &a, const Ran &b) { return a.wall_s < b.wall_s; });
    const Ran &r = runs[runs.size() / 2];
    std::printf("{\"machine\": \"%s\", \"app\": \"%s\", \"tile\": %u, \"n\": %u, \"policy\": \"%s\", \"seed\": %u, \"gflops\": %.2f, "
                "\"bound_gflops\": %.2f, \"decision_ns\": %.1f, \"wall_s\": %.4f}\n",
                o.name.c_str(), o.app.c_str(), o.tile, o.n, o.policy.c_str(), o.seed + i, g.flops / r.makespan_ns,
                std::isnan(bound) ? 0 : bound, decision_ns(runs, g.tasks.size()), r.wall_s);
    std::fflush(stdout);
  }
  return 0;
}
