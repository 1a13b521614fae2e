// `consort trace show`: the contents of a trace, as tables and as a drawing; other files are refused with the line at
// fault.
#include "tools/binary_trace.hpp"
#include "tools/command.hpp"

namespace {

using consort_test::BinaryTrace, consort_test::ToolAnswer, consort_test::read_file;

constexpr const char *kHead = "consort trace 1\nclock\treal\nscheduler\tdmda\nworker\t0\tcpu0\tcpu\nworker\t1\tgpu<0>\tgpu\n"
                              "space\t0\tram\nspace\t1\tgpu:ram\ncodelet\t0\tgemm\ncodelet\t2\tgeqrt\n";

class TraceTool : public consort_test::Tools {
 protected:
  ToolAnswer show(const std::string &lines, const std::string &more = "", const std::string &end = "end\t0\n") const {
    std::ofstream(folder_ / "trace") << kHead << lines << end;
    return run("trace show " + folder_ / "trace" + more);
  }
};

constexpr const char *kRuns = "run\t0\t1000000\t3000000\t0\ta1\t0\t1000000\t0\n"
                              "run\t1\t1000000\t2000000\t2\ta2\t0\t-1\t-5\n"
                              "run\t1\t4000000\t11000000\t0\ta3\t1\t7000000\t0\n"
                              "copy\t0\t1\t2000000\t4000000\t1048576\t11\t0\n"
                              "copy\t0\t1\t3000000\t5000000\t1048576\t12\t0\n"
                              "decision\t500000\ta1\t0\t1000000\t2000000\n"
                              "decision\t500000\ta3\t0\t1000000\t11000000\n";

TEST_F(TraceTool, ReportsWorkersAndCodelets) {
  const ToolAnswer a = show(kRuns, " --width 10", "end\t7\n");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part :
       {"3 tasks, 2 copies in 10 ms of real time, scheduler dmda", "20.0 %  gg........", "80.0 %  e..ggggggg", "g gemm   e geqrt",
        "50.0 %",                    // an estimate of 1 ms for 2 ms
        "2.0 MiB", "30.0 %",         // two copies at once count once
        "2 decisions of dmda; 1 of 2 tasks ran elsewhere; they ended 500 us later", "7 events were dropped"})
    EXPECT_TRUE(a.has(part)) << part << "\nis not in\n" << a.out;
}

TEST_F(TraceTool, ReportsEnergy) {  // POW-04
  const std::string graph = "kind\t0\tgemm\tab\t8\ntime\t0\t0\t5\nenergy\t0\t0\t250000\nenergy\t0\t1\t1500000\nkind\t1\tgeqrt\tac\t8\n"
                            "datum\td1\t8\t0\t0\ntask\ta1\t0\t0\trd1\t\ntask\ta2\t1\t0\trd1\t\ntask\ta3\t0\t0\trd1\t\nsubmitted\t1\t0\n";
  const ToolAnswer a = show(graph + kRuns);
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"cpu0      250 mJ", "gpu<0>     1.5 J", "all       1.75 J", "(1 tasks without an energy model)"})
    EXPECT_TRUE(a.has(part)) << part << "\nis not in\n" << a.out;
  EXPECT_FALSE(show(kRuns).has("CONSUMED"));
}

TEST_F(TraceTool, WritesSvg) {
  const std::string svg = folder_ / "a.svg";
  const ToolAnswer a = show(kRuns, " --svg " + svg);
  EXPECT_EQ(a.status, 0) << a.out;
  const std::string text = read_file(svg);
  for (const char *part : {"<svg ", "</svg>", "gpu&lt;0&gt;", "ram &gt; gpu:ram", "gemm, 2000.0 us from 0.0 us; expected 1000.0 us", "; failed"})
    EXPECT_NE(text.find(part), text.npos) << part;
  EXPECT_EQ(text.find("nan"), text.npos);
  EXPECT_EQ(show(kRuns, " --svg " + folder_ / "no/such.svg").status, 1);
}

TEST_F(TraceTool, ReportsEmptyTraces) {
  const ToolAnswer a = show("");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("0 tasks, 0 copies in 0 ns")) << a.out;
  EXPECT_EQ(show("", " --svg " + folder_ / "a.svg").status, 0);
}

// The runs of kRuns as a runtime writes them: two with ticks of half a ns, and one that failed.
BinaryTrace binary_runs() {
  BinaryTrace t;
  std::string head = kHead;
  t.lines(head.substr(head.find('\n') + 1));
  t.point(2000, 1000000);
  t.run(0, 0xa1, 2000, 4000000, 0);
  t.failed_run(1, 0xa2, 1000000, 2000000, 2, -5, -1);
  t.run(1, 0xa3, 6002000, 14000000, 0);
  t.record(9, {0, 1500000, 4096, 8192});
  t.point(2002000, 2000000);
  return t;
}

TEST_F(TraceTool, ReadsRecords) {
  const std::string file = folder_ / "binary";
  std::ofstream(file) << binary_runs().ended(3);
  const ToolAnswer a = run("trace show " + file + " --width 10");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"3 tasks, 0 copies in 10 ms of real time, scheduler dmda", "20.0 %  gg........", "80.0 %  e..ggggggg", "3 events were dropped"})
    EXPECT_TRUE(a.has(part)) << part << "\nis not in\n" << a.out;
  EXPECT_FALSE(a.has("no end")) << a.out;
  const ToolAnswer text = run("trace export " + file + " --format text -o " + folder_ / "text");
  EXPECT_EQ(text.status, 0) << text.out;
  const std::string written = read_file(folder_ / "text");
  for (const char *line : {"consort trace 1\n", "run\t0\t1000000\t3000000\t0\ta1\t0\t-1\t0\n", "run\t1\t1000000\t2000000\t2\ta2\t0\t-1\t-5\n",
                           "used\t0\t1500000\t4096\t8192\n", "end\t3\n"})
    EXPECT_NE(written.find(line), written.npos) << line << written;
  EXPECT_EQ(run("trace show " + folder_ / "text" + " --width 10").out, a.out) << "both forms say the same";
}

TEST_F(TraceTool, ReadsCutFilesUpToTheLastRecord) {
  const std::string all = binary_runs().bytes(), file = folder_ / "cut";
  for (const size_t less : {0, 8, 60, 100}) {
    std::ofstream(file) << all.substr(0, all.size() - less);
    const ToolAnswer a = run("trace show " + file);
    EXPECT_EQ(a.status, 0) << a.out;
    EXPECT_TRUE(a.has("warning: " + file + " has no end: its program was killed, or had no room for it")) << a.out;
    EXPECT_TRUE(a.has(less < 100 ? "3 tasks" : "2 tasks")) << less << a.out;
    EXPECT_EQ(run("report " + file).status, 0);
  }
}

TEST_F(TraceTool, RefusesRecordsThatCannotBe) {
  const auto refused = [&](const BinaryTrace &t, const char *why) {
    std::ofstream(folder_ / "binary") << t.ended();
    const ToolAnswer a = run("trace show " + folder_ / "binary");
    EXPECT_EQ(a.status, 1) << a.out;
    EXPECT_TRUE(a.has(why)) << why << "\nis not in\n" << a.out;
  };
  const auto with = [](auto change) {
    BinaryTrace t = binary_runs();
    change(t);
    return t;
  };
  refused(with([](BinaryTrace &t) { t.run(9, 1, 1, 1, 0); }), "a record \"run\": 9 is not a valid number here");
  refused(with([](BinaryTrace &t) { t.failed_run(0, 1, 5, 2, 0, 0, 0); }), "it ends before it begins");
  refused(with([](BinaryTrace &t) { t.run(0, 1, 1, 1, 1 << 20); }), "1048576 is not a valid number here");
  refused(with([](BinaryTrace &t) { t.record(12, {7, 1, 1, 0, 0, 0}); }), "a record \"task\": 7 is not a valid number here");
  refused(with([](BinaryTrace &t) {
            t.lines("kind\t0\tgemm\t1\t1\n");
            t.record(12, {0, 1, 1, uint64_t{5} << 32, 0});
          }),
          "its lists are longer than it");
  refused(with([](BinaryTrace &t) { t.lines("what\n"); }), "\"what\" is not a kind of line");
  refused(with([](BinaryTrace &t) { t.chunk(2, std::string(8, '\0')); }), "no record begins there");
}

TEST_F(TraceTool, RefusesOtherFiles) {
  const auto refused = [&](const std::string &lines, const char *why, const char *end = "end\t0\n") {
    const ToolAnswer a = show(lines, "", end);
    EXPECT_EQ(a.status, 1) << lines;
    EXPECT_TRUE(a.has(why)) << why << "\nis not in\n" << a.out;
  };
  refused("run\t9\t1\t2\t0\ta\t0\t-1\t0\n", "trace:10: \"9\" is not a valid number here");
  refused("run\t0\t5\t2\t0\ta\t0\t-1\t0\n", "it ends before it begins");
  refused("run\t0\t5\n", "has 8 fields, this line 2");
  refused("copy\t0\t7\t1\t2\t3\t4\t0\n", "\"7\" is not a valid number here");
  refused("what\n", "\"what\" is not a kind of line");
  refused("", "it is truncated", "");
  refused("", "behind the end", "end\t0\nend\t0\n");
  std::ofstream(folder_ / "other") << "hello\n";
  EXPECT_TRUE(run("trace show " + folder_ / "other").has("not a trace: the setting trace"));
  EXPECT_TRUE(run("trace show " + folder_ / "none").has("cannot be read"));
  EXPECT_EQ(run("trace").status, 2);
}

}  // namespace
