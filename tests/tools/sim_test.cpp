// `consort sim`: a program that knows nothing of it, in virtual time on a described machine. The program is this one, called
// again for the test SimProgram.Runs.
#include <consort/consort.h>
#include <consort/contexts.h>
#include <consort/layouts.h>

#include <vector>

#include "support/trace_text.hpp"
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;
namespace fs = std::filesystem;

constexpr int kChains = 6, kLinks = 10;

consort_status add_one(const consort_call *c) {
  ++*static_cast<float *>(consort_ptr(static_cast<const consort_vector_view *>(c->views[0])->addr));
  return CONSORT_OK;
}

// Plain use of the library: chains of tasks that may run on a core or on an accelerator.
TEST(SimProgram, Runs) {
  const char *mode = getenv("AS_PROGRAM");
  if (!mode) GTEST_SKIP() << "run by the tests below";
  consort_runtime *rt = nullptr;
  ASSERT_EQ(consort_start(nullptr, &rt), CONSORT_OK) << consort_error();
  consort_impl impls[3] = {};
  impls[0].klass = "cpu";
  impls[1].klass = "cuda";
  impls[2].klass = "level_zero";
  impls[0].fn = impls[1].fn = impls[2].fn = add_one;
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "add";
  desc.impls = impls;
  desc.nimpls = 3;
  consort_codelet_id codelet;
  ASSERT_EQ(consort_codelet_add(rt, &desc, &codelet), CONSORT_OK) << consort_error();
  std::vector<std::vector<float>> v(kChains, std::vector<float>(250));
  std::vector<consort_data_id> data(kChains);
  for (int i = 0; i < kChains; ++i) ASSERT_EQ(consort_register_vector(rt, v[i].data(), 250, 4, &data[i]), CONSORT_OK);
  consort_context_id half{0};  // of the machine below: a core and the accelerator
  if (std::string(mode) == "contexts") {
    const uint32_t mine[] = {1, 2};
    consort_context_desc c = CONSORT_CONTEXT_DESC_INIT;
    c.scheduler = "dmda";
    c.workers = mine;
    c.nworkers = 2;
    ASSERT_EQ(consort_context_create(rt, &c, &half), CONSORT_OK) << consort_error();
  }
  for (int link = 0; link < kLinks; ++link)
    for (const consort_data_id x : data) {
      const bool inside = half.v && link % 2;
      if (inside) {
        ASSERT_EQ(consort_context_enter(rt, half), CONSORT_OK);
      }
      const consort_use use{x, CONSORT_M_RW, 0};
      consort_task_desc task = CONSORT_TASK_INIT;
      task.codelet = codelet;
      task.uses = &use;
      task.nuses = 1;
      ASSERT_EQ(consort_submit(rt, &task, nullptr), CONSORT_OK) << consort_error();
      if (inside) {
        ASSERT_EQ(consort_context_leave(rt), CONSORT_OK);
      }
    }
  for (const consort_data_id x : data) ASSERT_EQ(consort_unregister(rt, x), CONSORT_OK) << consort_error();
  ASSERT_EQ(consort_stop(rt), CONSORT_OK) << consort_error();
  for (const auto &one : v) EXPECT_EQ(one[0], std::string(mode) == "timed" || std::string(mode) == "contexts" ? 0 : kLinks);
}

class SimTool : public consort_test::Tools {
 protected:
  void SetUp() override {
    consort_test::Tools::SetUp();
    machine_ = folder_ / "m.toml";
    std::ofstream(machine_) << "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nunits = 2\ndepth = 1\nmemory = \"1G\"\n"
                               "[[device]]\nname = \"acc\"\nclass = \"cuda\"\ndepth = 2\nmemory = \"1G\"\n"
                               "[[kernel]]\nset = \"a\"\ncodelet = \"add\"\n1000 = \"1ms\"\n"
                               "[[kernel]]\nset = \"b\"\ncodelet = \"add\"\n1000 = \"2ms\"\n";
  }
  ToolAnswer sim(const std::string &options, const char *mode = "timed") const {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    return run("sim --machine " + machine_ + " " + options + " -- " + self + " --gtest_filter=SimProgram.Runs",
               std::string("AS_PROGRAM=") + mode + " CONSORT_PLUGIN_PATH=" CONSORT_PLUGIN_DIR);
  }
  std::string machine_;
};

// The number behind `before`; -1: there is none.
double number_behind(const ToolAnswer &a, const std::string &before) {
  const size_t at = a.out.find(before);
  return at == a.out.npos ? -1 : std::atof(a.out.c_str() + at + before.size());
}

TEST_F(SimTool, RunsUnchangedPrograms) {
  const ToolAnswer a = sim("--policy eager");
  ASSERT_EQ(a.status, 0) << a.out;
  const double time = number_behind(a, "simulated time");
  EXPECT_GE(time, kChains * kLinks * 1e-3 / 3) << "three units: " << a.out;
  EXPECT_LT(time, kChains * kLinks * 1e-3);
  EXPECT_TRUE(a.has("cpu")) << a.out;
  EXPECT_TRUE(a.has("host -> acc")) << a.out;
  const ToolAnswer b = sim("--policy eager --kernels b");
  EXPECT_GT(number_behind(b, "simulated time"), 1.5 * time) << b.out;
}

TEST_F(SimTool, ExecuteRunsTheFunctions) {
  const ToolAnswer a = sim("--execute --policy eager", "executed");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("acc -> host")) << "results come home: " << a.out;
}

// The examples go by the runtime's clock, and look at no result that was not computed.
TEST_F(SimTool, ExamplesReportSimulatedTime) {
  const std::string cholesky = CONSORT_BIN_DIR "/cholesky", axpy = CONSORT_BIN_DIR "/axpy";
  if (!fs::exists(cholesky) || !fs::exists(axpy)) GTEST_SKIP() << "the examples are not built here";
  std::ofstream(machine_) << "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nunits = 2\ndepth = 1\nmemory = \"1G\"\n"
                             "[[kernel]]\ncodelet = \"gemm\"\nclass = \"cpu\"\n49152 = \"10ms\"\n";
  const auto demo = [&](const std::string &options) {
    return run("sim --machine " + machine_ + options + " -- " + cholesky + " --n 512 --tile 64");
  };
  const ToolAnswer a = demo("");
  ASSERT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("residual        not computed")) << a.out;
  EXPECT_TRUE(a.has("s of the simulated machine")) << a.out;
  EXPECT_GE(number_behind(a, "\n  time"), 56 * 10e-3 / 2) << "56 products of 10 ms on two cores: " << a.out;
  const size_t share = a.out.find("% of the tasks, ");
  ASSERT_NE(share, a.out.npos) << a.out;
  EXPECT_LE(std::atof(a.out.c_str() + share + 16), 100.01) << a.out;
  const ToolAnswer executed = demo(" --execute");
  EXPECT_GE(number_behind(executed, "residual"), 0) << executed.out;
  EXPECT_LT(number_behind(executed, "residual"), 1e-3) << executed.out;
  const ToolAnswer other = run("sim --machine " + machine_ + " -- " + axpy);
  EXPECT_EQ(other.status, 0) << other.out;
  EXPECT_TRUE(other.has("simulated: no task was run, so no result is looked at")) << other.out;
  EXPECT_FALSE(other.has("WRONG")) << other.out;
}

// A user's program knows nothing of examples/example.hpp: it compares, finds its results wrong, and ends with 1.
TEST_F(SimTool, WarnsThatResultsAreNotComputed) {
  const ToolAnswer wrong = sim("", "compares");
  EXPECT_EQ(wrong.status, 1) << wrong.out;
  EXPECT_TRUE(wrong.has("results         not computed")) << wrong.out;
  EXPECT_TRUE(wrong.has(" ended with status 1: it may check results, which are not computed without --execute")) << wrong.out;
  EXPECT_TRUE(sim("").has("results         not computed"));
  EXPECT_FALSE(sim("--execute", "executed").has("not computed"));
}

TEST_F(SimTool, ReportIsAJsonObjectAfterTheProgramsOutput) {
  const ToolAnswer a = sim("--json");
  ASSERT_EQ(a.status, 0) << a.out;
  const size_t begin = a.out.find("\n{\n");
  ASSERT_NE(begin, a.out.npos) << a.out;
  const std::string object = a.out.substr(begin + 1);
  EXPECT_EQ(object.find("\n}\n") + 3, object.size()) << "nothing follows it: " << object;
  EXPECT_NE(object.find("\"time_ns\": "), object.npos) << object;
  EXPECT_FALSE(a.has("simulated time")) << a.out;
  const ToolAnswer b = sim("--json=" + folder_ / "report.json");
  EXPECT_TRUE(b.has("simulated time")) << b.out;
  EXPECT_FALSE(b.has("time_ns")) << b.out;
  EXPECT_EQ(read_file(folder_ / "report.json"), object);
}

TEST_F(SimTool, SameSeedGivesTheSameTrace) {
  const auto trace = [&](const std::string &seed, const char *file) {
    const ToolAnswer a = sim("--noise 0.1 --seed " + seed + " --policy eager --trace " + folder_ / file);
    EXPECT_EQ(a.status, 0) << a.out;
    return read_file(folder_ / file);
  };
  const std::string one = trace("7", "one");
  const std::string text = consort_test::trace_text(folder_ / "one");
  EXPECT_GE(std::count(text.begin(), text.end(), '\n'), kChains * kLinks);
  EXPECT_EQ(one, trace("7", "two"));
  EXPECT_NE(one, trace("8", "three"));
  const ToolAnswer shown = run("trace show " + (folder_ / "one"));
  EXPECT_EQ(shown.status, 0) << shown.out;
  EXPECT_TRUE(shown.has(std::to_string(kChains * kLinks) + " tasks, ")) << shown.out;
  EXPECT_TRUE(shown.has("virtual time, scheduler eager")) << shown.out;
}

// Half of its tasks belong to a context of one core and the accelerator, which the other half may not use.
TEST_F(SimTool, RunsProgramsWithContexts) {
  const auto once = [&](const char *file) {
    const ToolAnswer a = sim("--noise 0.1 --seed 5 --policy eager --trace " + folder_ / file, "contexts");
    EXPECT_EQ(a.status, 0) << a.out;
    return std::pair{number_behind(a, "simulated time"), read_file(folder_ / file)};
  };
  const auto [time, trace] = once("one");
  EXPECT_GE(time, kChains * kLinks / 2 * 1e-3 * 0.9) << "core 0 alone has half of it";
  EXPECT_LT(time, kChains * kLinks * 1e-3 * 1.1);
  EXPECT_EQ(trace, once("two").second) << "one seed, one run";
}

// Cores and accelerators of a class that no driver here is for; then these alone.
TEST_F(SimTool, SimulatesAnyClass) {
  const std::string acc = "[[device]]\nname = \"ze\"\nclass = \"level_zero\"\ncount = 2\ndepth = 2\nmemory = \"1G\"\n"
                          "[[kernel]]\ncodelet = \"add\"\n1000 = \"1ms\"\n";
  const std::string host = "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nunits = 1\ndepth = 1\nmemory = \"1G\"\n";
  std::ofstream(machine_) << host << acc;
  for (const char *policy : {"eager", "dmda", "graph-lookahead"}) {
    const ToolAnswer a = sim(std::string("--policy ") + policy);
    ASSERT_EQ(a.status, 0) << policy << a.out;
    EXPECT_GE(number_behind(a, "simulated time"), kChains * kLinks * 1e-3 / 3) << a.out;
    EXPECT_LT(number_behind(a, "simulated time"), kChains * kLinks * 1e-3 * 0.8) << policy << a.out;
    EXPECT_TRUE(a.has("host -> ze0")) << a.out;
  }
  std::ofstream(machine_) << "[[device]]\nname = \"host\"\nhost = true\nclass = \"cpu\"\nunits = 0\nmemory = \"1G\"\n" << acc;
  const ToolAnswer alone = sim("--policy dmdas");
  EXPECT_EQ(alone.status, 0) << alone.out;
  EXPECT_GE(number_behind(alone, "simulated time"), kChains * kLinks * 1e-3 / 2) << alone.out;
  EXPECT_TRUE(alone.has("ze1 -> host")) << alone.out;
}

TEST_F(SimTool, RefusesBadInput) {
  EXPECT_TRUE(run("sim --machine " + folder_ / "none.toml -- true").has("none.toml: No such file")) << "a file that is not there";
  const ToolAnswer nothing = run("sim --machine " + machine_ + " -- true");
  EXPECT_EQ(nothing.status, 1);
  EXPECT_TRUE(nothing.has("nothing was simulated: true started no runtime")) << nothing.out;
  const ToolAnswer absent = run("sim --machine " + machine_ + " -- " + folder_ / "absent");
  EXPECT_EQ(absent.status, 127);
  EXPECT_TRUE(absent.has("absent: No such file")) << absent.out;
  EXPECT_EQ(run("sim --machine " + machine_ + " -- false").status, 1) << "the program's own";
  EXPECT_EQ(run("sim -- true").status, 2);
  const ToolAnswer policy = sim("--policy nosuch");
  EXPECT_NE(policy.status, 0);
  EXPECT_TRUE(policy.has("nosuch")) << policy.out;
}

}  // namespace
