// `consort why-not NAME`: for each way of not being used the reason, in one line with the remedy, and status 1.
#include <consort/plugin.h>
#include <sched.h>

#include <vector>

#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;

class WhyNot : public consort_test::Tools {
 protected:
  void add(const std::string &fixture, std::string as = {}) const {
    std::filesystem::copy_file(CONSORT_TEST_PLUGIN_DIR "/loader/" + fixture + ".so",
                               folder_ / (as.empty() ? fixture : as) + ".so");
  }
  // A copy of "good" whose note has another byte at `offset`.
  void add_patched(size_t offset, char value) const {
    std::string bytes = read_file(CONSORT_TEST_PLUGIN_DIR "/loader/good.so");
    bytes[bytes.find(std::string("Consort\0", 8)) - offsetof(consort_note, owner) + offset] = value;
    std::ofstream(folder_ / "patched.so", std::ios::binary) << bytes;
  }
  std::string path() const { return "CONSORT_PLUGIN_PATH=" + folder_.path(); }
  // One line, which begins with `start` and has all `parts`, and nothing on stderr.
  void expect_line(const ToolAnswer &a, const std::string &start, std::initializer_list<const char *> parts,
                   int status = 1) const {
    EXPECT_EQ(a.status, status) << a.out;
    EXPECT_EQ(a.out.rfind(start, 0), 0u) << a.out;
    EXPECT_EQ(a.out.find('\n'), a.out.size() - 1) << "one line: " << a.out;
    for (const char *part : parts) EXPECT_TRUE(a.has(part)) << part << "\n" << a.out;
  }
};

uint32_t allowed_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 0;
}

TEST_F(WhyNot, UsedPluginsAreStatusZero) {
  expect_line(run("why-not cpu"), "driver \"cpu\" is used: it offers 1 device, ", {"`consort topo`"}, 0);
  expect_line(run("why-not auto"), "scheduler \"auto\" is used: scheduler = \"auto\" (default)", {}, 0);
  expect_line(run("why-not lws --set drivers=cpu"), "scheduler \"lws\" is used: scheduler = \"auto\" (default) selects it: ",
              {" like unit"}, 0);
  expect_line(run("why-not lws --set scheduler=lws"), "scheduler \"lws\" is used: scheduler = \"lws\" (code)", {}, 0);
  expect_line(run("why-not vector"), "interface \"vector\" is used: ", {"vector.so"}, 0);
  expect_line(run("why-not cpu0"), "worker cpu0 is used: it runs on os cpu ", {}, 0);
}

TEST_F(WhyNot, ExplainsAnotherAbiVersion) {
  add_patched(offsetof(consort_note, host_minor), 77);
  expect_line(run("why-not good", path()),
              "scheduler \"good\" is not used: ", {"was built for host ABI 0.77", "rebuild it"});
}

TEST_F(WhyNot, ExplainsAnotherSanitizer) {
  add_patched(offsetof(consort_note, sanitizer), 3);
  expect_line(run("why-not good", path()), "scheduler \"good\" is not used: ", {"is built with", "build both alike"});
}

TEST_F(WhyNot, ExplainsFilesThatAreNoPlugins) {
  std::ofstream(folder_ / "cut.so") << "\x7f"
                                        "ELF";
  add("foreign");
  for (const char *name : {"cut", "cut.so"})
    expect_line(run(std::string("why-not ") + name, path()),
                "file \"cut.so\" is not used: ", {"is no ELF file", "remove it"});
  expect_line(run("why-not foreign", path()),
              "file \"foreign.so\" is not used: ", {"no note of a Consort plugin", "consort_add_plugin"});
}

TEST_F(WhyNot, ExplainsMissingSymbolsAndLibraries) {
  add("unresolved");
  add("bad_no_ops");
  expect_line(run("why-not unresolved", path()),
              "driver \"unresolved\" is not used: ", {"a_symbol_that_nobody_has", "ldd -r"});
  expect_line(run("why-not bad_no_ops", path()),
              "interface \"bad_no_ops\" is not used: ", {"no function table: set ops"});
}

TEST_F(WhyNot, ExplainsUnselectedPlugins) {
  expect_line(run("why-not prio"), "scheduler \"prio\" is not used: scheduler = \"auto\" (default) selects another",
              {"CONSORT_SCHEDULER=prio"});
  expect_line(run("why-not lws", "CONSORT_SCHEDULER=prio"),
              "scheduler \"lws\" is not used: ", {"scheduler = \"prio\" (environment CONSORT_SCHEDULER)"});
  std::ofstream(folder_ / "x.toml") << "\nplugins = \"^eager\"\n";
  expect_line(run("why-not eager --config " + folder_ / "x.toml"),
              "scheduler \"eager\" is not used: ", {"left out by file ", "x.toml:2", "change that setting"});
  add("absent");
  expect_line(run("why-not absent --set drivers=cpu", path()),
              "driver \"absent\" is not used: drivers = \"cpu\" (code)", {"add absent there"});
  add("shy");
  expect_line(run("why-not shy", path()), "driver \"shy\" is not used: drivers = \"*\" (default)",
              {"starts only by its name", "add shy there"});
  add("probed_a");
  expect_line(run("why-not probed_a --set device_root=/nowhere", path()), "driver \"probed_a\" is not used: no device: nothing matches /dev/probed_a[0-9]",
              {"below /nowhere", "drivers = \"*, probed_a\""});
}

TEST_F(WhyNot, ExplainsShadowedFiles) {
  add("good");
  add("good_newer");
  expect_line(run("why-not good.so", path()), "scheduler \"good\" is not used: ",
              {"good.so gives way: good 1.10.0", "good_newer.so) is taken instead of 1.2.0", "plugins = \"+"});
  const ToolAnswer both = run("why-not good --set scheduler=good", path());
  EXPECT_EQ(both.status, 0) << both.out;
  EXPECT_TRUE(both.has("gives way") &&
              both.has("is used: scheduler = \"good\" (code), from " + folder_ / "good_newer.so"))
      << both.out;
}

TEST_F(WhyNot, ExplainsWhereItLooked) {
  expect_line(run("why-not vectr", path()), "\"vectr\" is not used: ",
              {"did you mean \"vector\"?", folder_.path().c_str(), "consort/plugins: ", "CONSORT_PLUGIN_PATH"});
  const ToolAnswer strange = run("why-not something-else");
  EXPECT_EQ(strange.status, 1);
  EXPECT_FALSE(strange.has("did you mean")) << strange.out;
}

TEST_F(WhyNot, ExplainsDriversWithoutDevices) {
  add("absent");
  expect_line(run("why-not absent", path()), "driver \"absent\" is not used: it started and found no device: ",
              {"no card on the bus; is it powered?"});
  const ToolAnswer worker = run("why-not absent0", path());
  EXPECT_EQ(worker.status, 1);
  EXPECT_TRUE(worker.has("worker absent0 does not exist\n") && worker.has("no card on the bus")) << worker.out;
}

TEST_F(WhyNot, ExplainsDriversThatDoNotStart) {
  add("moody");
  expect_line(run("why-not moody --set moody.mood=unsupported", path()),
              "driver \"moody\" is not used: it did not start: no such device in this machine", {"consort plugins -v"});
  expect_line(run("why-not moody --set moody.mood=broken", path()),
              "driver \"moody\" is not used: it did not start: ", {"the device answers nonsense"});
  expect_line(run("why-not moody", path()),
              "driver \"moody\" is not used: no runtime starts here: ", {"opening its device"});
}

TEST_F(WhyNot, ExplainsCoresOfSyntheticMachines) {
  const std::string machine = " --set 'cpu.topology=numa:1 core:4 pu:2'";
  const ToolAnswer many = run("why-not cpu3 --set workers=2" + machine);
  EXPECT_EQ(many.status, 1);
  EXPECT_TRUE(many.has("worker cpu3 is not used: there are 2 of class cpu, cpu0 to cpu1\n")) << many.out;
  EXPECT_TRUE(many.has("os cpus 4-7: cpu.workers (or workers) = 2; raise it")) << many.out;
  EXPECT_TRUE(many.has("os cpus 1,3: further hardware threads")) << many.out;
  expect_line(run("why-not os:5 --set workers=2" + machine), "os cpu 5 is not used: cpu.workers (or workers) = 2", {});
  expect_line(run("why-not os:1" + machine),
              "os cpu 1 is not used: further hardware threads of cores that have a worker", {"cpu.smt = true"});
  expect_line(run("why-not os:6 --set cpu.cores=0-1" + machine),
              "os cpu 6 is not used: their cores are not named by cpu.cores = \"0-1\"", {"add them"});
  expect_line(run("why-not os:8" + machine), "os cpu 8 is not used: no driver reports it", {"lscpu"});
  expect_line(run("why-not cpu7 --set cpu.smt=true" + machine), "worker cpu7 is used: ", {}, 0);
}

TEST_F(WhyNot, ExplainsCoresOutsideAffinityAndQuota) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "needs two cores";
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  const std::string first = std::to_string(cpus.front()), last = std::to_string(cpus.back());
  expect_line(run("why-not os:" + last, "taskset -c " + first),
              "os cpu " + last + " is not used: outside the affinity of the thread that starts the runtime",
              {"taskset"});
  expect_line(run("why-not os:" + first, "taskset -c " + first), "os cpu " + first + " is used: by worker cpu0", {}, 0);

  std::filesystem::create_directories(folder_ / "proc/self");
  std::filesystem::create_directories(folder_ / "sys/fs/cgroup");
  std::ofstream(folder_ / "proc/self/cgroup") << "0::/\n";
  std::ofstream(folder_ / "sys/fs/cgroup/cpu.max") << "50000 100000\n";
  const ToolAnswer a = run("why-not cpu1 --set cpu.root=" + folder_.path());
  EXPECT_EQ(a.status, 1);
  EXPECT_TRUE(a.has("the control group grants 0.50 cpus; raise its cpu.max")) << a.out;
}

TEST_F(WhyNot, RefusesWrongUse) {
  EXPECT_EQ(run("why-not").status, 2);
  const ToolAnswer core = run("why-not os:x");
  EXPECT_EQ(core.status, 2);
  EXPECT_TRUE(core.has("\"os:x\" is not a core; write os:3")) << core.out;
  const ToolAnswer file = run("why-not cpu --config /no/such.toml");
  EXPECT_EQ(file.status, 1);
  EXPECT_TRUE(file.has("/no/such.toml")) << file.out;
}

}  // namespace
