// The report "bound": its programs against enumerated schedules, its texts against a reader of the same form, and
// damaged records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include "plugins/reports/bound/deps.hpp"
#include "plugins/reports/bound/record.hpp"
#ifdef CONSORT_HAS_GLPK
#include <glpk.h>
#endif

namespace {

using namespace bound;

#ifdef CONSORT_HAS_GLPK

constexpr double kSeconds = 30;

// Two cores and a card, in memories of their own: 1 byte per ns into the card's.
Problem machine(std::vector<Kind> kinds) {
  Problem p;
  p.groups = {{"cpu", 2, 0}, {"gpu", 1, 1}};
  p.places = {{"ram", 1}, {"card", 1}};
  p.kinds = std::move(kinds);
  return p;
}

double least(const Problem &p, Level level, bool whole = false) {
  const Solution s = solve(formulate(p, level, whole), kSeconds);
  EXPECT_EQ(s.trouble, "");
  EXPECT_TRUE(s.exact);
  return s.least;
}

TEST(BoundProgram, BoundsTheAreaOfTwoClasses) {  // BND-06: per kernel and unit
  const Problem p = machine({{"work", 10, {4e6, 1e6}, false}});
  EXPECT_NEAR(least(p, Level::kArea), 10 / 1.5, 1e-6);
  EXPECT_NEAR(least(p, Level::kArea, true), 7, 1e-6) << "seven on the card, three on the cores";
  const Problem only = machine({{"here", 10, {4e6, NAN}, false}, {"there", 3, {NAN, 1e6}, false}, {"not", 0, {NAN, NAN}, false}});
  EXPECT_NEAR(least(only, Level::kArea), 20, 1e-6);
}

TEST(BoundProgram, CountsAChainGivenByKinds) {
  Problem p = machine({{"head", 4, {2e6, 8e6}, false}, {"body", 4, {100e6, 1e6}, false}});
  p.chain = {{0, true, 0}, {1, false, 3}};
  EXPECT_NEAR(least(p, Level::kArea), 4 * 2 + 3 * 1, 1e-6);
}

TEST(BoundProgram, CountsTransfers) {  // BND-08 is the other levels: ways are free there
  Problem p = machine({{"work", 2, {NAN, 1e6}, false}});
  p.tasks = {{1, 0, 0, {}, {0}, ""}, {2, 0, 0, {}, {1}, ""}};
  p.versions = {{kNone, 0, 5e6}, {kNone, 0, 3e6}};
  EXPECT_NEAR(least(p, Level::kDeps), 2, 1e-6);
  EXPECT_NEAR(least(p, Level::kTransfers), 8, 1e-6) << "8 MB at 1 byte per ns";
  p.versions[1] = {0, kNone, 3e6};  // the first task writes it, there
  p.tasks[1].after = {0};
  EXPECT_NEAR(least(p, Level::kTransfers), 5, 1e-6);
  p.versions[0].place = kNone;  // an unknown place
  EXPECT_NEAR(least(p, Level::kTransfers), 2, 1e-6);
  p.places[1].bytes_per_ns = 0;     // nor how fast the way is
  p.versions[0].place = 0;
  EXPECT_NEAR(least(p, Level::kTransfers), 2, 1e-6);
}

// The best of all schedules of a few tasks on one core and one card: every order, every choice.
double shortest(const Problem &p) {
  const size_t n = p.tasks.size();
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  double best = INFINITY;
  do {
    std::vector<size_t> at(n);
    for (size_t i = 0; i < n; ++i) at[order[i]] = i;
    bool good = true;
    for (size_t t = 0; t < n; ++t)
      for (const uint32_t b : p.tasks[t].after) good &= at[b] < at[t];
    if (!good) continue;
    for (uint32_t choice = 0; choice < 1u << n; ++choice) {
      double free[2] = {0, 0}, all = 0;
      std::vector<double> end(n);
      for (const uint32_t t : order) {
        const uint32_t g = choice >> t & 1;
        double from = free[g];
        for (const uint32_t b : p.tasks[t].after) from = std::max(from, end[b]);
        all = std::max(all, free[g] = end[t] = from + p.kinds[p.tasks[t].kind].ns[g]);
      }
      best = std::min(best, all);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best / 1e6;
}

TEST(BoundProgram, IsBelowEverySchedule) {
  std::mt19937 chance(7);
  double close = 0;
  for (int round = 0; round < 40; ++round) {
    Problem p;
    p.groups = {{"cpu", 1, 0}, {"gpu", 1, 1}};
    p.places = {{"ram", 1}, {"card", 1}};
    for (int k = 0; k < 3; ++k)
      p.kinds.push_back({"k" + std::to_string(k), 0, {1e6 * (1 + chance() % 9), 1e6 * (1 + chance() % 9)}, false});
    const uint32_t n = 3 + chance() % 4;
    for (uint32_t t = 0; t < n; ++t) {
      Task task{t + 1, static_cast<uint32_t>(chance() % 3), 0, {}, {}, ""};
      for (uint32_t b = 0; b < t; ++b)
        if (chance() % 3 == 0) task.after.push_back(b);
      ++p.kinds[task.kind].count;
      p.tasks.push_back(task);
    }
    const double best = shortest(p), area = least(p, Level::kArea), deps = least(p, Level::kDeps),
                 whole = least(p, Level::kDeps, true), longest = longest_way_ns(p) / 1e6;
    EXPECT_NEAR(solve_deps(p, kSeconds).least, deps, 2 * kClose * deps);
    EXPECT_LE(area, deps + 1e-6);
    EXPECT_LE(longest, deps + 1e-6);
    EXPECT_LE(deps, whole + 1e-6);
    EXPECT_LE(whole, best + 1e-6) << "a schedule is shorter than its bound";
    close += whole / best / 40;
  }
  EXPECT_GT(close, 0.85);
}

TEST(BoundProgram, BothFormatsAgree) {  // BND-03
  Problem p = machine({{"a \"b\"", 7, {4e6, 1e6}, false}, {"a \"b\"", 3, {2e6, NAN}, false}, {"", 0, {}, true}});
  p.kinds[2].ns = {NAN, NAN};
  p.tasks = {{1, 0, 5, {}, {0}, ""}, {2, 1, 0, {0}, {}, ""}, {3, 2, 0, {0, 1}, {}, ""}, {4, 0, 0, {2}, {0}, ""}};
  p.versions = {{kNone, 0, 5e6}};
  for (const Level level : {Level::kArea, Level::kDeps, Level::kTransfers})
    for (const bool whole : {false, true}) {
      const Program program = formulate(p, level, whole);
      const std::string lp = testing::TempDir() + "bound.lp", mps = testing::TempDir() + "bound.mps";
      std::ofstream(lp) << program.lp();
      std::ofstream(mps) << program.mps();
      const double want = least(p, level, whole);
      for (const bool free_mps : {false, true}) {
        glp_term_out(GLP_OFF);
        glp_prob *read = glp_create_prob();
        ASSERT_EQ(free_mps ? glp_read_mps(read, GLP_MPS_FILE, nullptr, mps.c_str()) : glp_read_lp(read, nullptr, lp.c_str()), 0)
            << (free_mps ? program.mps() : program.lp());
        EXPECT_EQ(glp_get_num_int(read), std::count_if(program.columns.begin(), program.columns.end(), [](auto &c) { return c.whole; }));
        ASSERT_EQ(glp_simplex(read, nullptr), 0);
        if (whole) {
          ASSERT_EQ(glp_intopt(read, nullptr), 0);
        }
        EXPECT_NEAR(whole ? glp_mip_obj_val(read) : glp_get_obj_val(read), want, 1e-6);
        glp_delete_prob(read);
      }
    }
  glp_free_env();
}

TEST(BoundProgram, ReportsUnsolvablePrograms) {
  const Problem p = machine({{"nowhere", 1, {NAN, NAN}, false}});
  EXPECT_NE(solve(formulate(p, Level::kArea, false), kSeconds).trouble, "");
  Program broken = formulate(machine({{"work", 10, {4e6, 1e6}, false}}), Level::kArea, false);
  broken.rows[0].terms[0].factor = NAN;
  EXPECT_NE(solve(broken, kSeconds).trouble.find("is not a number"), std::string::npos);
  broken.rows[0].terms[0].factor = 1;
  broken.rows[0].terms.push_back(broken.rows[0].terms[0]);  // a fault, for which the solver would end the program
  EXPECT_NE(solve(broken, kSeconds).trouble.find("the solver failed"), std::string::npos);
  EXPECT_NEAR(least(machine({{"work", 3, {2e6, NAN}, false}}), Level::kArea), 3, 1e-6) << "and goes on with the next";
}

// Stopped in the middle, it says less and nothing wrong.
TEST(BoundProgram, TimeLimitKeepsALowerBound) {
  Problem p = machine({{"a", 0, {9e6, 2e6}, false}, {"b", 0, {3e6, 4e6}, false}});
  std::mt19937 chance(3);
  for (uint32_t t = 0; t < 400; ++t) {
    Task task{t + 1, static_cast<uint32_t>(chance() % 2), 0, {}, {}, ""};
    for (int i = 0; t && i < 3; ++i) task.after.push_back(static_cast<uint32_t>(chance() % t));
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    ++p.kinds[task.kind].count;
    p.tasks.push_back(task);
  }
  const double whole = least(p, Level::kDeps);
  for (const double seconds : {0.0, 1e-5, 1e-4, 1e-3}) {
    const Solution order = solve_deps(p, seconds);
    EXPECT_LE(order.least, whole * (1 + 1e-9));
    EXPECT_GE(order.least, longest_way_ns(p) / 1e6) << "that much is known at once";
    if (order.exact) {
      EXPECT_NEAR(order.least, whole, 2 * kClose * whole);
    }
  }
  const Solution early = solve(formulate(p, Level::kDeps, false), 0.001);
  EXPECT_EQ(early.trouble, "");
  EXPECT_LE(early.least, whole + 1e-6);
  const Solution whole_tasks = solve(formulate(p, Level::kDeps, true), 0.5);
  EXPECT_GE(whole_tasks.least, whole - 1e-6);
}

// -- the order of many tasks, by the ways through them that matter ------------------------------------------------

// Tasks of some kinds on some groups; each comes after some of those shortly before it. Kinds that cannot run
// everywhere, and such as take no time, are among them.
Problem some_tasks(uint32_t seed, uint32_t most) {
  std::mt19937 chance(seed);
  Problem p;
  const uint32_t groups = 2 + chance() % 2;
  for (uint32_t g = 0; g < groups; ++g) p.groups.push_back({"g" + std::to_string(g), 1.0 + chance() % 6, 0});
  const uint32_t kinds = 1 + chance() % 5;
  for (uint32_t k = 0; k < kinds; ++k) {
    Kind kind{"k" + std::to_string(k), 0, {}, false};
    for (uint32_t g = 0; g < groups; ++g) kind.ns.push_back(g && chance() % 8 == 0 ? NAN : 1e5 * (1 + chance() % 300));
    p.kinds.push_back(kind);
  }
  p.kinds.push_back({"step", 0, std::vector<double>(groups, NAN), true});
  const uint32_t n = most / 2 + chance() % (most / 2), each = 1 + chance() % 3, reach = 1 + chance() % (most / 2);
  for (uint32_t t = 0; t < n; ++t) {
    Task task{t + 1, chance() % 10 == 0 ? kinds : static_cast<uint32_t>(chance() % kinds), 0, {}, {}, ""};
    for (uint32_t i = 0; t && i < each; ++i)
      task.after.push_back(t - 1 - static_cast<uint32_t>(chance() % std::min(t, reach)));
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    ++p.kinds[task.kind].count;
    p.tasks.push_back(task);
  }
  return p;
}

// The length of a good schedule: each task in turn where it ends first, given its predecessors and the free units.
double a_run(const Problem &p) {
  std::vector<std::vector<double>> free;
  for (const Group &g : p.groups) free.emplace_back(static_cast<size_t>(g.units), 0.0);
  std::vector<double> end(p.tasks.size());
  double all = 0;
  for (size_t t = 0; t < end.size(); ++t) {
    const Kind &kind = p.kinds[p.tasks[t].kind];
    double from = 0, best = INFINITY;
    for (const uint32_t b : p.tasks[t].after) from = std::max(from, end[b]);
    double *unit = nullptr;
    for (size_t g = 0; g < free.size() && !kind.empty; ++g)
      for (double &u : free[g])
        if (const double then = std::max(from, u) + kind.ns[g]; then < best) best = then, unit = &u;
    end[t] = unit ? *unit = best : from;
    all = std::max(all, end[t]);
  }
  return all / 1e6;
}

TEST(BoundOrder, EqualsTheWholeProgramsBound) {  // BND-04
  int order_matters = 0;
  for (uint32_t seed = 1; seed <= 120; ++seed) {
    const Problem p = some_tasks(seed, seed % 4 ? 50 : 150);
    const double whole = least(p, Level::kDeps);
    const Solution order = solve_deps(p, kSeconds);
    EXPECT_EQ(order.trouble, "");
    EXPECT_TRUE(order.exact) << "seed " << seed;
    EXPECT_NEAR(order.least, whole, 2 * kClose * whole) << "seed " << seed << ", " << p.tasks.size() << " tasks";
    EXPECT_LE(order.least, a_run(p) * (1 + 1e-9)) << "seed " << seed;
    order_matters += whole > 1.001 * std::max(least(p, Level::kArea), longest_way_ns(p) / 1e6);
  }
  EXPECT_GT(order_matters, 5) << "more than the area and the longest way, which would be too easy";
}

Problem cholesky(uint32_t n, double cards) {
  Problem p;
  p.groups = {{"cpu", 20, 0}, {"gpu", cards, 0}};
  p.kinds = {{"potrf", 0, {7.4e6, 8.5e6}, false}, {"trsm", 0, {17.8e6, 2e6}, false},
             {"syrk", 0, {17.5e6, 0.37e6}, false}, {"gemm", 0, {35e6, 0.75e6}, false}};
  std::vector<uint32_t> last(n * n, kNone);  // the last writer of a tile
  const auto add = [&](uint32_t kind, uint32_t to, std::initializer_list<uint32_t> from) {
    Task task{p.tasks.size() + 1, kind, 0, {}, {}, ""};
    if (last[to] != kNone) task.after.push_back(last[to]);
    for (const uint32_t tile : from) task.after.push_back(last[tile]);
    last[to] = static_cast<uint32_t>(p.tasks.size());
    ++p.kinds[kind].count;
    p.tasks.push_back(task);
  };
  for (uint32_t k = 0; k < n; ++k) {
    add(0, k * n + k, {});
    for (uint32_t i = k + 1; i < n; ++i) add(1, i * n + k, {k * n + k});
    for (uint32_t i = k + 1; i < n; ++i) {
      for (uint32_t j = k + 1; j < i; ++j) add(3, i * n + j, {i * n + k, j * n + k});
      add(2, i * n + i, {i * n + k});
    }
  }
  return p;
}

// As many as the whole program is not solved for in any reasonable time; and where neither the area nor a way says it all.
TEST(BoundOrder, HandlesThousandsOfTasks) {  // BND-04
  const Problem p = cholesky(30, 10);
  ASSERT_EQ(p.tasks.size(), 4960u);
  const Solution order = solve_deps(p, 4);  // a hundredth of that is enough for what follows
  EXPECT_GT(order.least, 1.01 * std::max(least(p, Level::kArea), longest_way_ns(p) / 1e6));
  EXPECT_LE(order.least, a_run(p));
  const Solution stopped = solve_deps(p, 0.002);
  EXPECT_LE(stopped.least, a_run(p));
  if (order.exact) {
    EXPECT_LE(stopped.least, order.least * (1 + 2 * kClose));
  }
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const Problem some = some_tasks(seed, 2000);
    const Solution s = solve_deps(some, 2);
    const double without = std::max(least(some, Level::kArea), longest_way_ns(some) / 1e6);
    EXPECT_LE(s.least, a_run(some) * (1 + 1e-9)) << "seed " << seed;
    EXPECT_TRUE(!s.exact || s.least >= without * (1 - 2 * kClose)) << "seed " << seed << ": " << s.least << " of " << without;
  }
}

TEST(BoundOrder, CountsTasksWithoutOrder) {
  Problem p = some_tasks(5, 50);
  const double before = solve_deps(p, kSeconds).least;
  p.kinds.push_back({"replayed", 1000, std::vector<double>(p.groups.size(), 50e6), false});
  EXPECT_GT(solve_deps(p, kSeconds).least, before);
  EXPECT_NEAR(solve_deps(p, kSeconds).least, least(p, Level::kArea), 0.2 * before) << "they are most of it";
  p.kinds.push_back({"nowhere", 1, std::vector<double>(p.groups.size(), NAN), false});
  EXPECT_NE(solve_deps(p, kSeconds).trouble, "");
  EXPECT_EQ(solve_deps(Problem(), kSeconds).least, 0) << "nothing to do";
}

#endif

// -- records ------------------------------------------------------------------------------------------------------

const std::string kHead = "consort trace 1\nclock\treal\nscheduler\tdmda\nworker\t0\tcpu0\tcpu\nworker\t1\tgpu0\tgpu\nworker\t2\tgpu1\tgpu\n"
                          "space\t0\tram\nspace\t1\ta\nspace\t2\tb\nhome\t0\nat\t0\t0\nat\t1\t1\nat\t2\t2\nlink\t0\t1\t1000000000\t10\n"
                          "link\t0\t2\t3000000000\t10\nlink\t1\t0\t1000000000\t10\n";
const std::string kKinds = "kind\t0\twork\tab\t800\ntime\t0\t0\t4000\ntime\t0\t1\t1000\ntime\t0\t2\t1000\n"
                           "kind\t1\tother\tac\t800\ntime\t1\t0\t-1\ntime\t1\t1\t500\ntime\t1\t2\t500\nkind\t2\t-\t0\t0\n";
const std::string kData = "datum\td1\t800\t0\t0\ndatum\td2\t400\t-1\td1\ndatum\td3\t400\t-1\td1\n";

Record read(const std::string &lines, const std::string &end = "submitted\t0\t0\nend\t0\n") {
  const std::string text = kHead + kKinds + kData + lines + end;
  return read_record(text.data(), text.size());
}

using After = std::vector<uint32_t>;

TEST(BoundRecord, ReadsPredecessors) {  // BND-01
  const Record r = read("task\ta0\t0\t0\twd1\t\ntask\ta1\t0\t0\trd1\t\ntask\ta2\t0\t7\trd1\t\ntask\ta3\t1\t0\tcd1\t\ntask\ta4\t1\t0\tcd1\t\n"
                        "task\ta5\t0\t0\tud1\ta0\ntask\ta6\t0\t0\t\ta5,a0,bb\n");
  const auto &t = r.problem.tasks;
  ASSERT_EQ(t.size(), 7u);
  EXPECT_EQ(t[0].after, After());
  EXPECT_EQ(t[1].after, After({0}));
  EXPECT_EQ(t[2].after, After({0}));
  EXPECT_EQ(t[3].after, After({0})) << "the kernel's own steps stand between readers and commuting writers";
  EXPECT_EQ(t[5].after, After({0, 1, 2, 3, 4}));
  EXPECT_EQ(t[6].after, After({0, 5})) << "unknown predecessors are left out";
  EXPECT_EQ(t[2].priority, 7);
  EXPECT_EQ(t[1].reads, t[2].reads);
  ASSERT_EQ(t[1].reads.size(), 1u);
  EXPECT_EQ(r.problem.versions[t[1].reads[0]].writer, 0u);
  EXPECT_TRUE(t[5].reads.empty()) << "of several's making";
  EXPECT_TRUE(r.graph);
}

TEST(BoundRecord, ReadsPartsAndWholes) {
  const Record r = read("task\ta0\t0\t0\twd1\t\ntask\ta1\t0\t0\tud2\t\ntask\ta2\t0\t0\trd3\t\ntask\ta3\t0\t0\trd1\t\ntask\ta4\t0\t0\twd1\t\n"
                        "task\ta5\t0\t0\trd2\t\n");
  const auto &t = r.problem.tasks;
  EXPECT_EQ(t[1].after, After({0}));
  EXPECT_EQ(t[2].after, After({0}));
  EXPECT_EQ(t[3].after, After({0, 1}));
  EXPECT_EQ(t[4].after, After({0, 1, 2, 3}));
  EXPECT_EQ(t[5].after, After({1, 4}));
  for (const int i : {1, 3, 5}) EXPECT_TRUE(t[static_cast<size_t>(i)].reads.empty()) << i << ": no one task wrote it";
}

TEST(BoundRecord, GroupsAlikeUnits) {
  const Record r = read("task\ta0\t0\t0\trd1\t\ntask\ta1\t1\t0\trd1\t\nrun\t1\t100\t1100\t5\ta0\t0\t-1\t0\nrun\t0\t500\t2600\t6\ta1\t0\t-1\t0\n");
  const Problem &p = r.problem;
  ASSERT_EQ(p.groups.size(), 2u);
  EXPECT_EQ(p.groups[1].name, "gpu");
  EXPECT_EQ(p.groups[1].units, 2);
  ASSERT_EQ(p.places.size(), 2u);
  EXPECT_DOUBLE_EQ(p.places[p.groups[1].place].bytes_per_ns, 4);
  EXPECT_EQ(p.versions[p.tasks[0].reads.at(0)].place, p.groups[0].place);
  EXPECT_EQ(p.kinds[0].ns, std::vector<double>({4000, 1000}));
  EXPECT_EQ(p.kinds[1].ns, std::vector<double>({2100, 500})) << "the measurements, where no model knows";
  EXPECT_EQ(r.ran[1], std::vector<uint64_t>({1, 0}));
  EXPECT_EQ(r.took_ns, 2600);
  EXPECT_TRUE(r.notes.empty());
}

TEST(BoundRecord, ReportsMissingInformation) {
  const Record r = read("task\ta0\t1\t0\trd1\t\ntask\ta1\t1\t0\t\t\nrun\t1\t100\t600\t6\ta0\t0\t-1\t0\nrun\t1\t600\t900\t9\tff\t0\t-1\t0\n");
  ASSERT_EQ(r.notes.size(), 3u);
  EXPECT_NE(r.notes[0].find("recordings"), std::string::npos);
  EXPECT_NE(r.notes[1].find("1 tasks did not run"), std::string::npos);
  EXPECT_NE(r.notes[2].find("no time is known of other on cpu; codelet 9 on cpu"), std::string::npos) << r.notes[2];
  EXPECT_TRUE(std::isnan(r.problem.kinds[1].ns[0]));
  EXPECT_TRUE(r.problem.kinds[r.problem.tasks[1].kind].empty);
  const std::string plain = kHead + "codelet\t4\tjob\nrun\t0\t5\t9\t4\ta\t0\t-1\t0\nend\t0\n";
  const Record without = read_record(plain.data(), plain.size());
  EXPECT_FALSE(without.graph);
  EXPECT_EQ(without.problem.kinds.at(0).name, "job");
  EXPECT_EQ(without.problem.kinds.at(0).count, 1u);
  EXPECT_EQ(without.took_ns, 4);
}

TEST(BoundRecord, DrawsTasksAsDot) {  // BND-02
  const std::string dot = dot_of(read("task\ta0\t0\t3\twd1\t\ntask\ta1\t1\t0\trd1\t\nrun\t1\t1\t2\t5\ta0\t0\t-1\t0\nrun\t0\t3\t4\t5\ta1\t0\t-1\t0\n").problem);
  for (const char *part : {"digraph tasks {", "t0 [label=\"work\\npriority 3\\ngpu0\"", "t1 [label=\"other\\ncpu0\"", "t0 -> t1;", "}\n"})
    EXPECT_NE(dot.find(part), std::string::npos) << part << "\n" << dot;
}

TEST(BoundRecord, RefusesOtherFiles) {
  const auto refused = [](const std::string &text, const char *why) {
    try {
      read_record(text.data(), text.size());
      ADD_FAILURE() << "taken: " << text;
    } catch (const std::runtime_error &e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  };
  refused("", "truncated");
  refused("hello\n", "line 1 of the record: this is not a record");
  refused("consort trace 1\n", "truncated");
  refused(kHead + "what\nend\t0\n", "is not a kind of line");
  refused(kHead + "run\t9\t1\t2\t0\ta\t0\t-1\t0\nend\t0\n", "\"9\" is not a valid number");
  refused(kHead + "at\t9\t0\nend\t0\n", "\"9\" is not a valid number");
  refused(kHead + kKinds + kData + "task\ta\t0\t0\tzd1\t\nend\t0\n", "\"zd1\" is not a use");
  refused(kHead + kKinds + kData + "task\ta\t0\t0\trd9\t\nend\t0\n", "\"rd9\" is not a use");
  refused(kHead + kKinds + "task\ta\t0\t0\t\t\ntask\ta\t0\t0\t\t\nend\t0\n", "the same id");
  refused(kHead + "submitted\t1\t5\nend\t0\n", "5 tasks did not fit");
}

TEST(BoundRecord, DamagedTextsAreSafe) {
  const std::string good = kHead + kKinds + kData + "task\ta0\t0\t0\twd1,rd2\t\ntask\ta1\t0\t0\trd1\ta0\nrun\t1\t100\t1100\t5\ta0\t0\t-1\t0\n"
                           "submitted\t0\t0\nend\t0\n";
  std::mt19937 chance(11);
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    for (uint32_t n = 1 + chance() % 4; n; --n) {
      const size_t at = chance() % text.size();
      switch (chance() % 3) {
        case 0: text[at] = "0123456789abcdef\t\n,-rwuc"[chance() % 24]; break;
        case 1: text.erase(at, 1 + chance() % 5); break;
        default: text.insert(at, 1, "\t\n19f-"[chance() % 6]);
      }
    }
    try {
      const Record r = read_record(text.data(), text.size());
      ++taken;
      for (const Level level : {Level::kArea, Level::kDeps, Level::kTransfers}) formulate(r.problem, level, false).lp();
      EXPECT_FALSE(dot_of(r.problem).empty());
    } catch (const std::runtime_error &) {
    }
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
