// Compares the scheduler "new-name" with others over several graphs and machines, in virtual time: no task is run, no byte
// is moved, and the machine that this runs on does not matter. compare --help says what may be chosen.
#include <consort/clock.h>
#include <consort/consort.h>
#include <consort/layouts.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "graphs.hpp"
#include "results.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

constexpr uint64_t kTile = 256 * 256;  // floats
constexpr char kUsage[] =
    "usage: compare [--plugins FOLDER] [--machines FOLDER] [--policies A,B,...] [--seeds N] [--noise SHARE] [--out FOLDER] [--quick]\n"
    "The first policy is the one that the others are compared with. --quick: small graphs, two seeds; that it works.\n";

struct Options {
  std::string plugins = ".", machines = BENCH_MACHINES, out = ".", noise = "0.05";
  std::vector<std::string> policies = {"new-name", "eager", "lws", "prio", "dm", "dmda", "dmdas"};
  uint32_t seeds = 10;
  bool quick = false;
};

[[noreturn]] void failed(const std::string &what) { throw std::runtime_error(what); }
void must(consort_status s, const std::string &what) {
  if (s < 0) failed(what + ": " + consort_error());
}

std::vector<std::string> words(const std::string &list) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) all.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

Options read(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--quick") {
      o.quick = true, o.seeds = 2, o.policies = {"new-name", "eager", "dmda"};
      continue;
    }
    if (key == "--help") std::fputs(kUsage, stdout), std::exit(0);
    if (i + 1 == argc) std::fputs(kUsage, stderr), std::exit(2);
    const std::string value = argv[++i];
    if (key == "--plugins") o.plugins = value;
    else if (key == "--machines") o.machines = value;
    else if (key == "--policies") o.policies = words(value);
    else if (key == "--seeds") o.seeds = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    else if (key == "--noise") o.noise = value;
    else if (key == "--out") o.out = value;
    else std::fputs(kUsage, stderr), std::exit(2);
  }
  if (o.seeds < 2) failed("--seeds: at least two, or no error can be told");
  if (o.policies.size() < 2) failed("--policies: at least two");
  return o;
}

consort_status nothing(const consort_call *) { return CONSORT_OK; }  // is not called

// Ms of virtual time from the first submission to the last end; < 0: the policy cannot be used, and *why says why.
double run(const Options &o, const std::string &machine, const Graph &g, const std::string &policy, bool priorities,
           uint32_t seed, char *memory, std::string *why) {
  const std::string number = std::to_string(seed);
  const consort_setting set[] = {
      {"plugin_path", o.plugins.c_str()}, {"scheduler", policy.c_str()}, {"drivers", "sim"}, {"time", "virtual"},
      {"sim.machine", machine.c_str()},   {"sim.execute", "false"},      {"sim.move", "false"},
      {"sim.noise", o.noise.c_str()},     {"sim.seed", number.c_str()},  {"seed", number.c_str()}, {"window", "0"}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = std::size(set);
  consort_runtime *rt = nullptr;
  if (consort_start(&settings, &rt) < 0) return *why = consort_error(), -1;

  consort_codelet_id codelets[std::size(kKernels)];
  const consort_impl impls[] = {{"cpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                {"gpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  for (size_t k = 0; k < std::size(kKernels); ++k) {
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = kKernels[k];
    c.impls = impls;
    c.nimpls = std::size(impls);
    must(consort_codelet_add(rt, &c, &codelets[k]), "codelet");
  }
  std::vector<consort_data_id> data(g.tiles);
  for (uint32_t i = 0; i < g.tiles; ++i)
    must(consort_register_vector(rt, memory + i * kTile * 4, kTile, 4, &data[i]), "register");
  const std::vector<int32_t> levels = g.priorities();
  uint64_t begin = 0, end = 0;
  must(consort_now(rt, &begin), "clock");
  for (size_t i = 0; i < g.tasks.size(); ++i) {
    std::vector<consort_use> uses;
    for (const uint32_t x : g.tasks[i].uses) uses.push_back({data[x], CONSORT_M_R, 0});
    uses.back().mode = CONSORT_M_RW;
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = codelets[g.tasks[i].kernel];
    t.uses = uses.data();
    t.nuses = static_cast<uint32_t>(uses.size());
    t.priority = priorities ? levels[i] : 0;
    must(consort_submit(rt, &t, nullptr), "submit");
  }
  must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  must(consort_now(rt, &end), "clock");
  for (const consort_data_id x : data) must(consort_unregister(rt, x), "unregister");
  must(consort_stop(rt), "stop");
  return static_cast<double>(end - begin) * 1e-6;
}

int compare(Options o) {
  std::vector<std::string> machines;
  for (const auto &e : fs::directory_iterator(o.machines))
    if (e.path().extension() == ".toml") machines.push_back(e.path().string());
  if (machines.empty()) failed("no machine (*.toml) in " + o.machines);
  std::sort(machines.begin(), machines.end());
  const std::vector<Graph> graphs = all_graphs(o.quick);
  uint32_t tiles = 0;
  for (const Graph &g : graphs) tiles = std::max(tiles, g.tiles);
  void *memory = mmap(nullptr, tiles * kTile * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) failed("no address space for the tiles");  // none of it is touched

  std::vector<std::string> usable;
  for (const std::string &p : o.policies) {
    std::string why;
    if (run(o, machines[0], graphs[0], p, false, 1, static_cast<char *>(memory), &why) >= 0) usable.push_back(p);
    else if (p == o.policies[0]) failed(p + " cannot be used: " + why);
    else std::fprintf(stderr, "%s is left out: %s\n", p.c_str(), why.c_str());
  }
  if (usable.size() < 2) failed("nothing is left to compare with");
  Results results{usable, {}, o.seeds, o.noise};
  for (const std::string &m : machines)
    for (const Graph &g : graphs)
      for (const bool priorities : {false, true}) {
        Row row{fs::path(m).stem().string(), g.name, priorities, {}};
        for (const std::string &p : usable) {
          Sample sample;
          for (uint32_t seed = 1; seed <= o.seeds; ++seed) {
            std::string why;
            const double ms = run(o, m, g, p, priorities, seed, static_cast<char *>(memory), &why);
            if (ms < 0) failed(p + " on " + row.machine + ": " + why);
            sample.ms.push_back(ms);
          }
          row.of.push_back(sample);
        }
        std::fprintf(stderr, "%s\n", row.name().c_str());
        results.rows.push_back(row);
      }
  const std::string text = results.table() + "\n" + results.summary();
  const std::string file = o.out + "/compare.md", picture = o.out + "/compare.svg";
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) failed("cannot write " + file);
  if (!results.draw(picture)) failed("cannot write " + picture);
  std::printf("%s\n%s, %s\n", text.c_str(), file.c_str(), picture.c_str());
  return 0;
}

}  // namespace

int main(int argc, char **argv) try {
  return compare(read(argc, argv));
} catch (const std::exception &e) {
  std::fprintf(stderr, "compare: %s\n", e.what());
  return 1;
}
