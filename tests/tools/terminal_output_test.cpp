// Output for people: the tree and the picture of the machine, the page of the doctor, colours, the one form of errors.
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;

class TerminalOutput : public consort_test::Tools {};

TEST_F(TerminalOutput, TopoPrintsCachesMemoriesAndCores) {
  const ToolAnswer a = run("topo --set 'cpu.topology=package:2 numa:1 l3:1 l2:2 core:1 pu:2'");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"machine of cpu.topology \"package:2 numa:1 l3:1 l2:2 core:1 pu:2\": 4 cores, 8 hardware threads\n", "units, bound to no core of a given machine\n├─ unit 0 cpu0 on space 0\n", "├─ package 0\n", "└─ package 1\n", "NUMA node 0 1.0 GiB: space 0 ram\n",
                           "NUMA node 1 1.0 GiB: space 1 ram:1\n", "L3 ", "L2 4.0 MiB + core 0 (os cpu 0,1)", "core 3 (os cpu 6,7)",
                           "0 ram → 1 ram:1: ", "links\n"})
    EXPECT_TRUE(a.has(part)) << part << "\n" << a.out;
  EXPECT_FALSE(a.has("no worker")) << a.out;
  EXPECT_EQ(a.out.find('\x1b'), a.out.npos) << "no terminal, no colours";
}

TEST_F(TerminalOutput, TopoPrintsDevices) {
  const ToolAnswer a = run("topo --set drivers=cpu,sim --set sim.devices=2 --set workers=1");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"worker cpu0", "devices\n├─ space 1 sim0:ram of driver sim: 1.0 GiB", "gpu1 (class gpu, sim/gpu)", "0 ram → 2 sim1:ram: 12.0 GB/s, 10.0 us (driver sim declares it)"})
    EXPECT_TRUE(a.has(part)) << part << "\n" << a.out;
}

TEST_F(TerminalOutput, TopoWritesSvg) {
  const std::string svg = folder_ / "m.svg";
  const ToolAnswer a = run("topo --svg " + svg + " --set drivers=cpu,sim --set sim.devices=2");
  EXPECT_EQ(a.status, 0) << a.out;
  const std::string s = read_file(svg);
  EXPECT_EQ(s.find("<svg "), 0u);
  for (const char *part : {"machine: ", "core 0", "space 1 sim0:ram (1.0 GiB)", "12 GB/s in, 12 out", "class gpu", "</svg>"})
    EXPECT_NE(s.find(part), s.npos) << part;
  EXPECT_EQ(s.find("nan"), s.npos);
  EXPECT_EQ(run("topo --svg " + folder_ / "no/such.svg").status, 1);
  ASSERT_EQ(run("topo --svg " + svg + " --set 'cpu.topology=package:4 numa:2 l3:2 core:8 pu:2'").status, 0) << "128 cores in 16 memories";
  EXPECT_NE(read_file(svg).find("core 127"), std::string::npos);
}

TEST_F(TerminalOutput, DoctorListsPresentAndMissingParts) {
  const ToolAnswer a = run("doctor");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"machine\n", "cores", "memory", "limits\n", "membarrier", "plugins\n", "schedulers", "devices\n", "space ram", "libraries\n", "OpenCL"})
    EXPECT_TRUE(a.has(part)) << part << "\n" << a.out;
  EXPECT_TRUE(run("doctor", "PATH=/nowhere").has("apt-get install")) << "no compiler there";
  const ToolAnswer bad = run("doctor --set scheduler=nosuch");
  EXPECT_EQ(bad.status, 1);
  EXPECT_TRUE(bad.has("!!") && bad.has("nosuch")) << bad.out;
}

TEST_F(TerminalOutput, ColoursNeedATerminalOrTheOption) {
  EXPECT_EQ(run("plugins").out.find('\x1b'), std::string::npos);
  EXPECT_NE(run("plugins --color=always").out.find("\x1b[1m"), std::string::npos);
  EXPECT_NE(run("plugins --color=always", "NO_COLOR=1").out.find("\x1b[1m"), std::string::npos) << "what is said now goes over the environment";
  EXPECT_EQ(run("plugins --color=sometimes").status, 2);
  if (std::system("command -v script >/dev/null") != 0) return;
  const auto on_a_terminal = [&](const std::string &environment, const std::string &more) {
    return run("--version >/dev/null; " + environment + " TERM=xterm script -qec '" CONSORT_BIN_DIR "/consort plugins" + more + "' /dev/null").out;
  };
  EXPECT_NE(on_a_terminal("", "").find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(on_a_terminal("NO_COLOR=1", "").find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(on_a_terminal("", " --color=never").find("\x1b[1m"), std::string::npos);
}

TEST_F(TerminalOutput, ProgressNeedsATerminal) {
  std::filesystem::copy_file(CONSORT_TEST_PLUGIN_DIR "/loader/deadly_sleep.so", folder_ / "deadly_sleep.so");
  const std::string environment = "CONSORT_PLUGIN_PATH=" + folder_.path();
  if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "no terminal to be had";
  const ToolAnswer a = run("--version >/dev/null; " + environment + " TERM=xterm script -qec '" CONSORT_BIN_DIR "/consort why-not deadly_sleep' /dev/null");
  EXPECT_TRUE(a.has("\r\x1b[Kconsort: starting a runtime to query it (1 s)")) << a.out;
  const size_t last = a.out.rfind("\r\x1b[K"), answer = a.out.find("is not used");
  EXPECT_TRUE(last != a.out.npos && answer != a.out.npos && last < answer) << "it is gone before the answer: " << a.out;
}

TEST_F(TerminalOutput, ErrorsHaveOneForm) {
  const struct { const char *arguments, *text; int status;
  } cases[] = {{"", "consort: which command?; consort help lists all commands\n", 2},
               {"plugins --nothing", "consort: the following argument was not expected: --nothing; consort help plugins shows its options\n", 2},
               {"trace", "consort: trace: which of its commands?; consort help trace shows its options\n", 2},
               {"why-not", "consort: NAME is required; consort help why-not shows its options\n", 2},
               {"conform", "consort: conform checks FILE.so: give one\n", 2},
               {"bound --kind dreams x", "consort: --kind: ", 2},
               {"trace show /no/such", "consort: /no/such cannot be read: No such file or directory\n", 1},
               {"model show nothing --set model_folder=/nowhere", "consort: no model of \"nothing\" is stored", 1}};
  for (const auto &c : cases) {
    const ToolAnswer a = run(c.arguments);
    EXPECT_EQ(a.status, c.status) << c.arguments << a.out;
    EXPECT_EQ(a.out.find(c.text), 0u) << c.arguments << "\n" << a.out;
    EXPECT_EQ(a.out.find('\n'), a.out.size() - 1) << "one line: " << a.out;
  }
}

}  // namespace
