// `consort new`: the files that it makes, and its refusals. tests/checks/stranger.sh shows that the plugins build, load
// and run.
#include <cmath>
#include <vector>

#include "../../sdk/new/scheduler/all/bench/results.hpp"

#include "tools/command.hpp"

namespace consort_test {
namespace {

namespace fs = std::filesystem;

struct NewPlugin : Tools {};

TEST_F(NewPlugin, MakesEveryKindInBothLanguages) {
  for (const char *kind : {"scheduler", "driver", "interface", "transport"})
    for (const char *language : {"c", "cpp"}) {
      const std::string root = folder_ / (std::string(kind) + language);
      const ToolAnswer a = run("new " + std::string(kind) + " my-own_plug --lang " + language + " -o " + root);
      ASSERT_EQ(a.status, 0) << a.out;
      EXPECT_TRUE(a.has(root + "/my-own_plug." + language)) << a.out;
      for (const char *file :
           {"CMakeLists.txt", "README.md", "LICENSE", ".gitignore", ".github/workflows/ci.yml", "tests/runs.c"})
        EXPECT_TRUE(fs::is_regular_file(fs::path(root) / file)) << kind << " " << language << ": " << file;
      EXPECT_FALSE(fs::exists(root + "/my-own_plug." + (*language == 'c' && language[1] ? "c" : "cpp")));
      size_t files = 0;
      for (const auto &entry : fs::recursive_directory_iterator(root)) {
        if (!entry.is_regular_file()) continue;
        ++files;
        const std::string all = read_file(entry.path());
        EXPECT_FALSE(all.empty()) << entry.path();
        for (const char *word : {"new-name", "new_name", "NEW_NAME", "NewName"}) {
          EXPECT_EQ(all.find(word), all.npos) << entry.path() << " still says " << word;
          EXPECT_EQ(entry.path().string().find(word), std::string::npos);
        }
      }
      EXPECT_GE(files, 7u);
      const std::string source = read_file(root + "/my-own_plug." + language);
      EXPECT_NE(source.find("\"my-own_plug\", \"0.1.0\""), source.npos);
      EXPECT_NE(source.find("(my_own_plug, "), source.npos);  // an identifier where one must be
    }
}

TEST_F(NewPlugin, SchedulersComeWithAComparison) {
  const std::string root = folder_ / "mine";
  ASSERT_EQ(run("new scheduler mine -o " + root).status, 0);
  for (const char *file : {"compare.cpp", "graphs.hpp", "results.hpp", "machines/cores.toml", "machines/accelerators.toml", "machines/little-memory.toml"})
    EXPECT_TRUE(fs::is_regular_file(fs::path(root) / "bench" / file)) << file;
  EXPECT_NE(read_file(root + "/bench/compare.cpp").find("policies = {\"mine\", "), std::string::npos);
  EXPECT_NE(read_file(root + "/CMakeLists.txt").find("add_custom_target(mine-bench"), std::string::npos);
  ASSERT_EQ(run("new driver other -o " + (folder_ / "other")).status, 0);
  EXPECT_FALSE(fs::exists(folder_ / "other/bench"));
}

bench::Sample times(double mean, double spread) { return {{mean - spread, mean, mean, mean + spread}}; }

TEST(PolicyComparison, NeedsTwoStandardErrors) {
  const bench::Sample a{{9, 10, 11}};
  EXPECT_DOUBLE_EQ(a.mean(), 10);
  EXPECT_NEAR(a.error(), 1 / std::sqrt(3.0), 1e-12);
  EXPECT_FALSE(bench::Difference(a, a).told_apart());
  EXPECT_FALSE(bench::Difference(a, {{9.5, 10.5, 11.5}}).told_apart()) << "0.5 with a standard error of 0.8";
  const bench::Difference d(a, {{11.9, 12, 12.1}});
  EXPECT_TRUE(d.told_apart());
  EXPECT_NEAR(d.percent, 20, 1e-9);
  EXPECT_NEAR(d.error, std::hypot(a.error(), 0.1 / std::sqrt(3.0)) * 10, 1e-9);
  EXPECT_TRUE(bench::Difference({{10, 10}}, {{10.1, 10.1}}).told_apart()) << "without chance each difference is one";
}

TEST(PolicyComparison, NotesWherePrioritiesHideADifference) {
  bench::Results r{{"mine", "other", "third"}, {}, 4, "0.05"};
  r.rows.push_back({"cores", "tree", false, {times(100, 1), times(120, 1), times(120, 1)}});
  r.rows.push_back({"cores", "tree", true, {times(100, 1), times(100.2, 1), times(80, 1)}});
  r.rows.push_back({"cores", "chain", false, {times(100, 1), times(120, 1), times(120, 1)}});
  r.rows.push_back({"cores", "chain", true, {times(100, 1), times(120, 1), times(120, 1)}});
  r.rows.push_back({"cores", "wave", false, {times(100, 1), times(104.8, 3), times(100, 1)}});  // told apart, and not:
  r.rows.push_back({"cores", "wave", true, {times(100, 1), times(102.3, 3), times(100, 1)}});   // by less than chance
  const std::string s = r.summary();
  EXPECT_NE(s.find("mine against other: better in 4, worse in 0, not told apart in 2 of 6\n"), s.npos) << s;
  EXPECT_NE(s.find("priorities of the program hide the difference to other on cores, tree: +20.0 % without, +0.2 % with (not told apart)\n"), s.npos) << s;
  EXPECT_NE(s.find("priorities of the program turn the difference to third on cores, tree: +20.0 % without, -20.0 % with\n"), s.npos) << s;
  EXPECT_EQ(s.find("chain"), s.npos) << s;
  EXPECT_EQ(s.find("wave"), s.npos) << "the change itself could be chance: " << s;
  const std::string t = r.table();
  EXPECT_NE(t.find("| cores, tree, with priorities | 100.00 ± 0.41 | +0.2 ± 0.6 % = | -20.0 ± 0.6 % |"), t.npos) << t;
  EXPECT_NE(t.find("Differences below twice the standard error are not told apart"), t.npos) << t;
}

TEST_F(NewPlugin, DefaultsToCppAndTheNamedFolder) {
  const ToolAnswer a = run("new scheduler mine -o " + (folder_ / "x"));
  ASSERT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(fs::exists(folder_ / "x/mine.cpp"));
  EXPECT_TRUE(a.has("a scheduler in C++")) << a.out;
  EXPECT_TRUE(a.has("ctest")) << a.out;
}

TEST_F(NewPlugin, RefusalsNameTheRemedy) {
  const std::string where = " -o " + (folder_ / "no");
  const auto refuses = [&](const std::string &words, int status, std::vector<std::string> parts) {
    const ToolAnswer a = run("new " + words + where);
    EXPECT_EQ(a.status, status) << words << ": " << a.out;
    for (const std::string &part : parts) EXPECT_TRUE(a.has(part)) << words << ": " << a.out;
    EXPECT_FALSE(fs::exists(folder_ / "no")) << words;
  };
  refuses("shceduler mine", 2, {"\"shceduler\"", "did you mean \"scheduler\"", "driver, interface, transport"});
  refuses("scheduler mine --lang rust", 2, {"\"rust\"", "c, cpp"});
  refuses("scheduler 9lives", 2, {"\"9lives\"", "letter"});
  refuses("scheduler my/own", 2, {"'/'", "letters, digits"});
  refuses("scheduler ..", 2, {"'.'"});
  refuses("scheduler 'my plug'", 2, {"' '"});
  refuses("scheduler 'a$(id)'", 2, {"'$'"});
  refuses("scheduler mine-", 2, {"end"});
  refuses("scheduler consort_vector", 2, {"another"});
  refuses("scheduler a23456789012345678901234567890123", 2, {"at most 31"});
  refuses("scheduler", 2, {"NAME"});
}

TEST_F(NewPlugin, KeepsExistingFiles) {
  fs::create_directories(folder_ / "there");
  std::ofstream(folder_ / "there/mine") << "mine";
  const ToolAnswer a = run("new driver mine -o " + (folder_ / "there"));
  EXPECT_EQ(a.status, 1);
  EXPECT_TRUE(a.has("exists already") && a.has("-o")) << a.out;
  EXPECT_EQ(read_file(folder_ / "there/mine"), "mine");
  std::ofstream(folder_ / "file") << "mine";
  EXPECT_EQ(run("new driver mine -o " + (folder_ / "file")).status, 1);
  EXPECT_EQ(run("new driver mine -o " + (folder_ / "file/below")).status, 1);  // cannot be made
  EXPECT_EQ(read_file(folder_ / "file"), "mine");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(run("new driver mine -o " + (folder_ / "empty")).status, 0);
}

}  // namespace
}  // namespace consort_test
