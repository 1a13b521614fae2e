// `consort bound`: the report on a file, and the files that it writes.
#include "support/glpk.hpp"
#include "tools/command.hpp"

namespace {

class BoundTool : public consort_test::Tools {};

constexpr const char *kRecord =
    "consort trace 1\nclock\tvirtual\nscheduler\tdmda\nworker\t0\tcpu0\tcpu\nworker\t1\tgpu0\tgpu\nspace\t0\tram\nspace\t1\tcard\nhome\t0\nat\t0\t0\nat\t1\t1\n"
    "link\t0\t1\t1000000000\t0\nkind\t0\twork\tab\t4000000\ntime\t0\t0\t4000000\ntime\t0\t1\t1000000\ndatum\td1\t4000000\t0\t0\n"
    "task\ta0\t0\t0\trd1\t\ntask\ta1\t0\t0\trd1\t\ntask\ta2\t0\t0\tud1\t\nsubmitted\t0\t0\n"
    "run\t1\t4000000\t5000000\t0\ta0\t0\t1000000\t0\nrun\t1\t5000000\t6000000\t0\ta1\t0\t1000000\t0\n"
    "run\t1\t6000000\t8000000\t0\ta2\t0\t1000000\t0\nend\t0\n";

TEST_F(BoundTool, ReportsTheBoundOfARun) {  // BND-02, BND-03, BND-04, BND-05
  if (!consort_test::kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  const std::string file = folder_ / "run.trace";
  std::ofstream(file) << kRecord;
  const auto a = run("bound " + file);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("work: 0 ran on cpu (4 ms each), best 0.6; 3 ran on gpu (1 ms each), best 2.4")) << a.out;
  EXPECT_TRUE(a.has("no schedule of these 3 tasks takes less than 2.4 ms here (counted: the work alone")) << a.out;
  EXPECT_TRUE(a.has("this run took 8 ms: 30.0 % of the best possible speed; a perfect schedule is at most 3.33 times faster")) << a.out;
  const auto deps = run("bound --kind deps --integer " + file);
  EXPECT_TRUE(deps.has("takes less than 3 ms here (counted: the work, and which task waits for which, each on one unit)")) << deps.out;
  const auto ways = run("bound --kind transfers --integer --lp " + folder_ / "a.lp --mps " + folder_ / "a.mps --dot " + folder_ / "a.dot " + file);
  EXPECT_TRUE(ways.has("takes less than 4 ms here (counted: the work, which task waits for which, and copies between memories, each on one unit)")) << ways.out;
  const auto starts = [&](const char *name, const char *with) {
    std::string text = consort_test::read_file(folder_ / name);
    EXPECT_NE(text.find(with), text.npos) << name << ":\n" << text;
  };
  starts("a.lp", "Minimize\n obj: + 1 T\nSubject To\n");
  starts("a.mps", "NAME bound\nROWS\n N obj\n");
  starts("a.dot", "t0 -> t2;");
  EXPECT_TRUE(run("trace show " + file).has("3 tasks, 0 copies")) << "the same file";
}

TEST_F(BoundTool, RefusesWrongUse) {
  const std::string file = folder_ / "run.trace";
  std::ofstream(file) << "consort trace 1\nworker\t0\tcpu0\tcpu\nspace\t0\tram\nrun\t0\t1\t2\t0\ta\t0\t-1\t0\nend\t0\n";
  const auto no_graph = run("bound --kind deps " + file);
  EXPECT_EQ(no_graph.status, 1);
  EXPECT_TRUE(no_graph.has("set trace_graph = true")) << no_graph.out;
  EXPECT_EQ(run("bound " + file).status, 0) << "the area of the measured tasks";
  EXPECT_EQ(run("bound --kind dreams " + file).status, 2);
  EXPECT_EQ(run("bound").status, 2);
  const auto none = run("bound /no/such/file");
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(none.has("/no/such/file")) << none.out;
  const auto unwritten = run("bound --lp /no/such/a.lp " + file);
  EXPECT_EQ(unwritten.status, 1);
  EXPECT_TRUE(unwritten.has("cannot write /no/such/a.lp")) << unwritten.out;
  EXPECT_EQ(run("bound --seconds never " + file).status, 1);
}

}  // namespace
