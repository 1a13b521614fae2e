// Any graph of tasks on a described machine, in virtual time: how long it takes under each of several policies.
//
// Reads a graph as text (graph_file.hpp) and takes the runs from the command line; writes one line of JSON per run. Nothing is
// executed and no datum is touched. Data begin in the host's memory; time goes from the first submission to the last task's end.
#include <consort/clock.h>
#include <consort/layouts.h>
#include <consort/model.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "graph_file.hpp"

namespace {

using campaign::GraphFile, campaign::Kernel, campaign::give_up;

void must(consort_status s, const char *what) {
  if (s < 0) give_up(std::string(what) + ": " + consort_error());
}

struct Run {
  std::string policy;
  uint32_t window, column, seed;  // column: of the graph's priorities; 0: none
};

struct Options {
  std::string machine, graph, noise = "0", limits, plugins;
  std::vector<Run> runs;
  std::vector<std::pair<std::string, std::string>> set;
};

constexpr uint32_t kDefaultWindow = 2048;  // means that the setting is not given: a policy may ask for more

constexpr char kUsage[] =
    "usage: campaign-consort --machine FILE.toml --graph FILE [--noise X] [--limits SPACE=BYTES,...] [--plugin-path "
    "FOLDER]\n"
    "  [--set KEY=VALUE]... --run POLICY,WINDOW,PRIORITIES,SEED...\n";

Options read_options(int argc, char **argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string a = argv[i], v = argv[i + 1];
    if (a == "--machine")
      o.machine = v;
    else if (a == "--graph")
      o.graph = v;
    else if (a == "--noise")
      o.noise = v;
    else if (a == "--limits")
      o.limits = v;
    else if (a == "--plugin-path")
      o.plugins = v;
    else if (a == "--set" && v.find('=') != v.npos)
      o.set.emplace_back(v.substr(0, v.find('=')), v.substr(v.find('=') + 1));
    else if (a == "--run" && v.find(',') != v.npos) {
      Run r{v.substr(0, v.find(',')), 0, 0, 0};
      if (std::sscanf(v.c_str() + r.policy.size(), ",%u,%u,%u", &r.window, &r.column, &r.seed) != 3)
        give_up("--run " + v + ": not POLICY,WINDOW,PRIORITIES,SEED");
      o.runs.push_back(r);
    } else {
      give_up(std::string("unknown: ") + a + "\n" + kUsage);
    }
  }
  if (o.machine.empty() || o.graph.empty() || o.runs.empty() || argc % 2 == 0) give_up(kUsage);
  return o;
}

// What the models say of one kernel in a run: a share of the true time, or nothing until enough tasks ran on the class.
class Told {
 public:
  Told(const Kernel &k) : kernel_(k), ended_(k.on.size()) {}
  bool exact() const {
    for (const auto &c : kernel_.on)
      if (c.told_ns != c.ns) return false;
    return true;
  }
  void ended(const std::string &klass) {
    for (size_t i = 0; i < ended_.size(); ++i) ended_[i] += kernel_.on[i].klass == klass;
  }
  double ns(const char *klass) const {
    constexpr uint32_t kEnough = 10;  // as the default of calibrate_samples
    for (size_t i = 0; i < ended_.size(); ++i) {
      const auto &c = kernel_.on[i];
      if (c.klass == klass) return c.told_ns > 0 ? c.told_ns : ended_[i] >= kEnough ? c.ns : NAN;
    }
    return NAN;
  }

 private:
  const Kernel &kernel_;
  std::vector<uint32_t> ended_;
};

struct Observed {  // by the callback of the trace
  std::vector<Told> told;
  std::vector<uint64_t> codelets;     // by kernel
  std::vector<std::string> klass_of;  // by worker
};

double makespan_ns(const Options &o, const GraphFile &g, const Run &r, char *home) {
  const std::string seed = std::to_string(r.seed), window = std::to_string(r.window);
  std::vector<consort_setting> set{{"drivers", "sim"},
                                   {"time", "virtual"},
                                   {"scheduler", r.policy.c_str()},
                                   {"seed", seed.c_str()},
                                   {"sim.machine", o.machine.c_str()},
                                   {"sim.execute", "false"},
                                   {"sim.move", "false"},
                                   {"sim.runs", ""},
                                   {"sim.noise", o.noise.c_str()},
                                   {"sim.seed", seed.c_str()},
                                   {"keep_models", "no"}};
  if (r.window != kDefaultWindow) set.push_back({"window", window.c_str()});
  if (!o.limits.empty()) set.push_back({"limits", o.limits.c_str()});
  if (!o.plugins.empty()) set.push_back({"plugin_path", o.plugins.c_str()});
  for (const auto &[key, value] : o.set) set.push_back({key.c_str(), value.c_str()});
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set.data();
  settings.nset = static_cast<uint32_t>(set.size());
  consort_runtime *rt = nullptr;
  must(consort_start(&settings, &rt), "start");

  Observed seen;
  seen.told.reserve(g.kernels.size());
  std::vector<consort_codelet_id> codelets(g.kernels.size());
  bool watched = false;
  for (size_t k = 0; k < g.kernels.size(); ++k) {
    std::vector<consort_impl> impls;
    for (const auto &c : g.kernels[k].on)
      impls.push_back({c.klass.c_str(), [](const consort_call *) -> consort_status { return CONSORT_OK; }, nullptr,
                       nullptr, nullptr, nullptr, nullptr, 0});
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = g.kernels[k].name.c_str();
    c.impls = impls.data();
    c.nimpls = static_cast<uint32_t>(impls.size());
    must(consort_codelet_add(rt, &c, &codelets[k]), "codelet");
    seen.told.emplace_back(g.kernels[k]);
    if (seen.told[k].exact()) continue;  // the history, which begins with the machine's times
    watched = true;
    consort_model m = CONSORT_MODEL_INIT;
    m.kind = CONSORT_MODEL_PER_CLASS;
    m.user = &seen.told[k];
    m.cost = [](void *user, const consort_model_ask *ask) { return static_cast<Told *>(user)->ns(ask->klass); };
    must(consort_codelet_set_model(rt, codelets[k], CONSORT_MODEL_TIME, &m), "model");
  }
  if (watched) {
    consort_worker_info w{};
    w.size = sizeof w;
    for (uint32_t i = 0; consort_get_worker(rt, i, &w) == CONSORT_OK; ++i) seen.klass_of.push_back(w.klass);
    for (const consort_codelet_id c : codelets) seen.codelets.push_back(c.v);
    must(consort_trace(
             rt,
             [](void *user, const consort_trace_event *e) {
               Observed &seen = *static_cast<Observed *>(user);
               for (size_t k = 0; e->what == 1 && e->worker < seen.klass_of.size() && k < seen.codelets.size(); ++k)
                 if (seen.codelets[k] == e->codelet) seen.told[k].ended(seen.klass_of[e->worker]);
             },
             &seen),
         "trace");
  }
  std::vector<consort_data_id> data(g.bytes.size());
  size_t at = 0;
  for (size_t i = 0; i < data.size(); at += g.bytes[i++])
    must(consort_register_vector(rt, home + at, g.bytes[i] / 4, 4, &data[i]), "register");
  uint64_t begin = 0, end = 0;
  must(consort_now(rt, &begin), "clock");
  std::vector<consort_use> uses;
  for (const auto &t : g.tasks) {
    uses.clear();
    for (const auto &u : t.uses)
      uses.push_back({data[u.datum], u.writes ? uint32_t{CONSORT_M_RW} : uint32_t{CONSORT_M_R}, 0});
    consort_task_desc desc = CONSORT_TASK_INIT;
    desc.codelet = codelets[t.kernel];
    desc.uses = uses.data();
    desc.nuses = static_cast<uint32_t>(uses.size());
    if (r.column) desc.priority = t.priorities[r.column - 1];
    must(consort_submit(rt, &desc, nullptr), "submit");
  }
  must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  must(consort_now(rt, &end), "clock");
  for (const consort_data_id x : data) must(consort_unregister(rt, x), "unregister");
  must(consort_stop(rt), "stop");
  return static_cast<double>(end - begin);
}

}  // namespace

int main(int argc, char **argv) {
  const Options o = read_options(argc, argv);
  const GraphFile g = campaign::read_graph(o.graph);
  size_t bytes = 0;
  for (const uint64_t b : g.bytes) bytes += b;
  void *home = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (home == MAP_FAILED) give_up("no address space for " + std::to_string(bytes) + " bytes of data");
  for (const Run &r : o.runs) {
    std::printf("{\"policy\": \"%s\", \"window\": %u, \"priorities\": %u, \"seed\": %u, \"makespan_ns\": %.0f}\n",
                r.policy.c_str(), r.window, r.column, r.seed, makespan_ns(o, g, r, static_cast<char *>(home)));
    std::fflush(stdout);
  }
  return 0;
}
