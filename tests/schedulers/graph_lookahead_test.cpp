// The policy graph-lookahead on a table of times. No task is bound before a unit can start it, and slow units take
// tasks only where that delays nothing. Missing models or graphs are tolerated.
#include <gtest/gtest.h>

#include "schedulers/virtual_machine.hpp"

namespace consort_test {
namespace {

constexpr const char *kPolicy = "graph-lookahead";
constexpr uint64_t kMiB = 1 << 20;
constexpr double kUs = 1000;

// Kinds: 0 is ten times as fast on the fast units, 4 twice, 1 as fast on all. Kind 2 runs on class 0 alone, 3 on class
// 1.
MachineShape machine(uint32_t slow, uint32_t fast, double bytes_per_ns = 1) {
  MachineShape m = MachineShape::simple(slow, fast, bytes_per_ns, 1 * kUs);
  m.ns.assign(5, {});
  const double on_slow[] = {3000 * kUs, 300 * kUs, 300 * kUs, 0, 600 * kUs};
  const double on_fast[] = {300 * kUs, 300 * kUs, 0, 300 * kUs, 300 * kUs};
  for (int k = 0; k < 5; ++k)
    for (const auto &u : m.units) m.ns[k].push_back(u.klass ? on_fast[k] : on_slow[k]);
  return m;
}

Graph independent(uint32_t n, uint32_t kind, uint64_t bytes = 0) {
  Graph g;
  g.bytes = bytes;
  for (uint32_t i = 0; i < n; ++i) g.add(kind, {{i, CONSORT_M_RW}});
  return g;
}

void submit(VirtualMachine &v) {
  for (consort_task &t : v.tasks) {
    const consort_task *one = &t;
    v.ops->submitted(v.instance, &one, 1);
  }
}
void start(VirtualMachine &v, uint32_t w, uint32_t t) {
  const consort_task *one = &v.tasks[t];
  v.ops->started(v.instance, w, &one, 1);
}
void finish(VirtualMachine &v, uint32_t w, uint32_t t) {
  const consort_done d{v.tasks[t].id, 0, 0, 1, 2, 0, 0};
  v.ops->finished(v.instance, w, &d, 1);
}
std::vector<uint32_t> all_of(const Graph &g) {
  std::vector<uint32_t> all(g.items.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// One running task and one behind it, and no more until an end: later tasks may be more urgent.
TEST(Lookahead, BindsOneTaskAhead) {
  VirtualMachine v(kPolicy, machine(0, 1));
  const Graph g = independent(10, 3);
  v.load(g);
  v.push(CONSORT_NONE, all_of(g));
  const uint32_t first = v.pop(0);
  ASSERT_NE(first, CONSORT_NONE);
  start(v, 0, first);
  ASSERT_NE(v.pop(0), CONSORT_NONE);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
  finish(v, 0, first);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
}

// POW-02, POW-03, POW-06. On each of two slow units, 3 ms at 10 W make 30 mJ. On the fast one, 0.3 ms at 200 W make 60.
class EnergyWeight : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, EnergyWeight, testing::Values("graph-lookahead", "heteroprio", "darts"), [](const auto &i) {
  std::string name = i.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
TEST_P(EnergyWeight, ChangesTheChosenUnit) {
  const auto takes = [](PluginHost::Params set) {
    VirtualMachine v(GetParam(), machine(2, 1), std::move(set));
    const Graph g = independent(1, 0);
    v.load(g);
    submit(v);
    v.push(CONSORT_NONE, all_of(g));
    const bool fast = v.woken >> 2 & 1, slow = v.woken & 3;
    EXPECT_NE(fast, slow) << "the woken unit takes it";
    const bool by_fast = v.pop(2) != CONSORT_NONE;
    EXPECT_EQ(by_fast, fast);
    EXPECT_EQ(v.pop(0) != CONSORT_NONE, !by_fast);
    return by_fast ? "fast" : "slow";
  };
  EXPECT_STREQ(takes({}), "fast");
  EXPECT_STREQ(takes({{"gamma", "1000"}}), "fast") << "30 mJ more are worth 30 us, and save 1.5 ms";
  EXPECT_STREQ(takes({{"gamma", "1000000"}}), "slow");
  EXPECT_STREQ(takes({{"gamma", "1"}, {"alpha", "0"}}), "slow") << "nothing but energy counts";
  EXPECT_STREQ(takes({{"gamma", "1000000"}, {"idle_power", "200"}}), "fast") << "the machine takes 0.54 J more if it waits";
}

// In full: it saves energy and takes more time, and all tasks end.
TEST_P(EnergyWeight, TradesTimeForEnergy) {
  const auto run = [](PluginHost::Params set) {
    VirtualMachine v(GetParam(), machine(4, 2), std::move(set));
    const Graph g = independent(200, 0);
    const double ns = v.run(g);
    double joules = 0;
    for (const auto &r : v.runs) joules += (r.end - r.begin) * (v.m.units[r.worker].klass ? 200 : 10) * 1e-9;
    EXPECT_EQ(v.runs.size(), 200u);
    return std::pair(ns, joules);
  };
  const auto [quick, much] = run({});
  const auto [slow, little] = run({{"alpha", "0"}, {"gamma", "1"}});
  EXPECT_GT(slow, 2 * quick);
  EXPECT_LT(little, 0.55 * much);
}

// Alone or few, tasks wait for the unit that is ten times as fast. Of many, the slow units get as many as do not make
// the end later.
TEST(Lookahead, SlowUnitsTakeTasksThatDelayNothing) {
  const auto taken_by_slow = [](uint32_t n, bool known, uint64_t bytes = 0) {
    VirtualMachine v(kPolicy, machine(2, 1));
    const Graph g = independent(n, 0, bytes);
    v.load(g);
    for (uint32_t i = 0; i < n; ++i) v.set_valid(i, 0b10);  // with the fast one
    if (known) submit(v);
    v.push(CONSORT_NONE, all_of(g));
    size_t taken = 0;
    for (uint32_t w = 0; w < 2; ++w) taken += v.pop(w) != CONSORT_NONE;
    return taken;
  };
  EXPECT_EQ(taken_by_slow(2, true), 0u);
  EXPECT_EQ(taken_by_slow(8, true), 0u);   // 8 of them take 2 ms on all units together, one takes 3 there
  EXPECT_EQ(taken_by_slow(40, true), 2u);
  EXPECT_EQ(taken_by_slow(8, false), 0u);  // they end on the fast one after 2.4 ms
  EXPECT_EQ(taken_by_slow(40, false), 2u) << "the last of them would end on the fast one after 12 ms";
  EXPECT_EQ(taken_by_slow(40, true, 2 * kMiB), 2u);
  EXPECT_EQ(taken_by_slow(40, true, 16 * kMiB), 0u) << "their data are there too late";
}

// Three tasks, two fast units. The second unit has 300 us of work left, the first one 100 us: the first one ends the third task sooner.
TEST(Lookahead, BusyUnitLeavesTaskToUnitThatEndsItSooner) {
  VirtualMachine v(kPolicy, machine(0, 2));
  const Graph g = independent(3, 3);
  v.load(g);
  v.push(CONSORT_NONE, {0, 1});
  const uint32_t first = v.pop(0);
  ASSERT_NE(first, CONSORT_NONE);
  start(v, 0, first);
  v.plugin.set_clock(1 + 200'000);
  const uint32_t second = v.pop(1);
  ASSERT_NE(second, CONSORT_NONE);
  start(v, 1, second);
  v.push(CONSORT_NONE, {2});
  EXPECT_EQ(v.pop(1), CONSORT_NONE);
  EXPECT_EQ(v.pop(0), 2u);
}

// A slow unit takes a task that it ends sooner than the fast one, which has work for longer.
TEST(Lookahead, SlowUnitTakesTaskThatItEndsSooner) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = independent(2, 4);  // 600 us on the slow one, 300 on the fast one
  v.load(g);
  v.push(CONSORT_NONE, {0});
  ASSERT_EQ(v.pop(1), 0u);
  start(v, 1, 0);
  v.push(CONSORT_NONE, {1});
  v.plugin.set_clock(1 + 100'000);
  EXPECT_EQ(v.pop(0), CONSORT_NONE) << "the fast one ends it after 500 us";
  MachineShape longer = machine(1, 1);
  longer.ns[3][1] = 1000 * kUs;
  VirtualMachine other(kPolicy, longer);
  Graph two;
  two.add(3, {{0, CONSORT_M_RW}});
  two.add(4, {{1, CONSORT_M_RW}});
  other.load(two);
  other.push(CONSORT_NONE, {0});
  ASSERT_EQ(other.pop(1), 0u);
  start(other, 1, 0);
  other.push(CONSORT_NONE, {1});
  EXPECT_EQ(other.pop(1), CONSORT_NONE) << "it would end here after 1300 us";
}

// The datum is in the third unit's memory. The second one leaves the task to it, unless it found nothing: it may sleep.
TEST(Lookahead, IdleUnitLeavesTaskToIdleUnitWithTheData) {
  const Graph g = independent(1, 3, kMiB);
  VirtualMachine v(kPolicy, machine(0, 3));
  v.load(g);
  v.set_valid(0, 0b1000);
  v.push(CONSORT_NONE, {0});
  EXPECT_EQ(v.pop(1), CONSORT_NONE);
  EXPECT_EQ(v.pop(2), 0u);
  VirtualMachine other(kPolicy, machine(0, 3));
  other.load(g);
  other.set_valid(0, 0b0100);
  other.push(CONSORT_NONE, {0});
  EXPECT_EQ(other.pop(2), CONSORT_NONE);
  other.set_valid(0, 0b1000);
  EXPECT_EQ(other.pop(1), 0u);
}

// A popped task that fails before it starts ends without a report. Its worker is idle then, and takes what idle workers take.
TEST(Lookahead, WorkerOfUnstartedTaskCountsAsIdle) {
  MachineShape m = machine(4, 1);
  m.tells_ways = true;
  VirtualMachine v(kPolicy, m);
  const Graph g = independent(200, 4, 4096);
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, {0, 1});
  ASSERT_EQ(v.pop(4), 0u);
  EXPECT_EQ(v.pop(4), 1u);
}

// The path behind a task takes longer on a slower unit, so its data get a higher rank.
TEST(Lookahead, SlowerUnitsRankDataHigher) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = independent(40, 0);
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, all_of(g));
  ASSERT_NE(v.pop(1), CONSORT_NONE);
  EXPECT_EQ(v.ranked, 300 * kUs);
  ASSERT_NE(v.pop(0), CONSORT_NONE);
  EXPECT_EQ(v.ranked, 3000 * kUs);
}

// Forty independent ones: the slow units help, and end when the fast one does.
TEST(Lookahead, UnitsEndTogether) {
  VirtualMachine v(kPolicy, machine(4, 1));
  const Graph g = independent(40, 0);
  const double ns = v.run(g);
  size_t slow = 0;
  for (const auto &r : v.runs) slow += r.worker < 4;
  EXPECT_GE(slow, 8u);
  EXPECT_LE(ns, 9800 * kUs);  // 12000 without the slow ones, 8570 at the best
}

TEST(Lookahead, SlowUnitsTakeTheLeastSlowedTask) {
  VirtualMachine v(kPolicy, machine(1, 1));
  Graph g;
  for (uint32_t i = 0; i < 60; ++i) g.add(i % 2 ? 4 : 0, {{i, CONSORT_M_RW}});
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, all_of(g));
  const uint32_t t = v.pop(0);
  ASSERT_NE(t, CONSORT_NONE);
  EXPECT_EQ(g.items[t].kind, 4u);  // twice as slow and not ten times
}

// A long chain and many loose ones: the fast unit takes the chain's head, the slow one something loose.
TEST(Lookahead, CriticalTasksGoToTheFastUnit) {
  VirtualMachine v(kPolicy, machine(1, 1));
  Graph g;
  for (uint32_t i = 0; i < 50; ++i) g.add(0, {{i, CONSORT_M_RW}});
  for (uint32_t i = 0; i < 8; ++i) g.add(0, {{50, CONSORT_M_RW}});
  v.load(g);
  submit(v);
  std::vector<uint32_t> ready(51);
  for (uint32_t i = 0; i < 51; ++i) ready[i] = i;
  v.push(CONSORT_NONE, ready);
  EXPECT_NE(v.pop(0), 50u);
  EXPECT_EQ(v.pop(1), 50u);
}

// A chain of six and a task of higher priority: as a hint, the priority weighs less than the chain; strictly, more.
TEST(Lookahead, PriorityOverridesRankIfStrict) {
  const auto first = [](PluginHost::Params set) {
    VirtualMachine v(kPolicy, machine(0, 1), std::move(set));
    Graph g;
    for (uint32_t i = 0; i < 6; ++i) g.add(3, {{0, CONSORT_M_RW}});
    g.add(1, {{1, CONSORT_M_RW}}, 5);
    v.load(g);
    submit(v);
    v.push(CONSORT_NONE, {0, 6});
    const uint32_t one = v.pop(0);
    EXPECT_EQ(v.pop(0), 6 - one);
    return one;
  };
  EXPECT_EQ(first({}), 0u);
  EXPECT_EQ(first({{"strict", "true"}}), 6u);
  EXPECT_EQ(first({{"priority", "100"}}), 6u);
}

// Of tasks of equal rank the one of higher priority runs first, of any kind.
TEST(Lookahead, PriorityDecidesBetweenEqualRanks) {
  VirtualMachine v(kPolicy, machine(0, 1));
  Graph g;
  for (uint32_t i = 0; i < 4; ++i) g.add(i % 2 ? 1 : 3, {{i, CONSORT_M_RW}}, static_cast<int32_t>(i == 2 ? 9 : i));
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, all_of(g));
  EXPECT_EQ(v.pop(0), 2u);
  EXPECT_EQ(v.pop(0), 3u);
}

// Among equal tasks it takes the one whose data are resident.
TEST(Lookahead, PrefersResidentData) {
  VirtualMachine v(kPolicy, machine(0, 1));
  const Graph g = independent(8, 3, kMiB);
  v.load(g);
  v.set_valid(5, 0b11);
  v.push(CONSORT_NONE, all_of(g));
  EXPECT_EQ(v.pop(0), 5u);
}

// Two tasks lack the same bytes here. The datum that one of them writes is with another unit that is as fast, so that
// task stays there. The other's datum is with no unit.
TEST(Lookahead, WrittenDataStayOnTheirUnit) {
  MachineShape m = machine(0, 2);
  m.tells_ways = true;
  VirtualMachine v(kPolicy, m);
  const Graph g = independent(2, 3, kMiB);
  v.load(g);
  v.set_valid(0, 0b10);
  v.push(CONSORT_NONE, {0, 1});
  EXPECT_EQ(v.pop(1), 1u);
  EXPECT_EQ(v.pop(0), 0u);
}

// One task runs and none waits. The data that the next tasks write are prefetched to the units that will be free for
// them. There is one datum for each slot, and none if one of these units has it.
TEST(Lookahead, PrefetchesForIdleUnits) {
  MachineShape m = machine(1, 2);
  m.tells_ways = true;
  VirtualMachine v(kPolicy, m);
  Graph g;
  g.bytes = kMiB;
  g.add(3, {{0, CONSORT_M_RW}});
  for (uint32_t i = 1; i <= 5; ++i) g.add(3, {{i, CONSORT_M_RW}, {0, CONSORT_M_R}});
  v.load(g);
  submit(v);
  v.prefetched.clear();
  v.set_valid(2, 0b100);  // the second fast one has it
  v.push(CONSORT_NONE, {0});
  ASSERT_EQ(v.pop(1), 0u);
  std::map<uint32_t, uint32_t> space;
  for (const auto &[task, to] : v.prefetched) space[task] = to;
  EXPECT_EQ(space, (std::map<uint32_t, uint32_t>{{1, 1}, {3, 2}, {4, 2}}));
  v.prefetched.clear();
  v.push(CONSORT_NONE, {1, 2, 3, 4, 5});
  ASSERT_NE(v.pop(1), CONSORT_NONE);
  EXPECT_TRUE(v.prefetched.empty()) << "there is something to do";
}

// The four slow units take twice as long for kind 4, and ten times as long for kind 0. The fast one leaves the former
// to them while the end is far away, and takes it before it idles.
TEST(Lookahead, FastUnitLeavesTasksThatOthersRunWell) {
  const auto machine_of = [](bool heavy) {
    MachineShape m = machine(4, 1, heavy ? 0.001 : 1);
    m.tells_ways = true;
    return m;
  };
  const auto first = [&](uint32_t known, bool heavy, bool waits = false) {
    VirtualMachine v(kPolicy, machine_of(heavy));
    Graph g = independent(0, 0, 4096);
    for (uint32_t i = 0; i < known; ++i) g.add(i % 2 ? 0 : 4, {{i, CONSORT_M_RW}});
    v.load(g);
    submit(v);
    v.push(CONSORT_NONE, {0, 1, 2, 3});
    if (waits) {  // the unit stands still for its data longer than it works
      const uint32_t before = v.pop(4);
      v.plugin.set_clock(1 + 400'000), start(v, 4, before);
      v.plugin.set_clock(1 + 700'000), finish(v, 4, before);
    }
    const uint32_t t = v.pop(4);
    return t == CONSORT_NONE ? t : g.items[t].kind;
  };
  EXPECT_EQ(first(200, false), 0u);
  EXPECT_EQ(first(4, false), 4u) << "the end is near: the first comes first";
  EXPECT_EQ(first(200, true), 0u) << "as long as no task waits for data the link is free";
  EXPECT_EQ(first(200, true, true), 4u) << "their data take longer than all of the work that it would be spared";
  EXPECT_EQ(first(200, false, true), 0u);
  VirtualMachine v(kPolicy, machine_of(false));
  const Graph g = independent(200, 4);
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, {0, 1});
  EXPECT_EQ(v.pop(4), 0u);
}

// Tasks left to slow units do not pile up there: tasks that already wait for them count several times.
TEST(Lookahead, FastUnitTakesTasksWhenOthersAreLoaded) {
  const auto first = [](uint32_t waiting) {
    MachineShape m = machine(4, 1);
    m.tells_ways = true;
    VirtualMachine v(kPolicy, m);
    Graph g = independent(0, 0, 4096);
    for (uint32_t i = 0; i < 200; ++i) g.add(i % 2 ? 0 : 4, {{i, CONSORT_M_RW}});
    v.load(g);
    submit(v);
    std::vector<uint32_t> ready{1};
    for (uint32_t i = 0; i < waiting; ++i) ready.push_back(2 * i);
    v.push(CONSORT_NONE, ready);
    const uint32_t t = v.pop(4);
    return t == CONSORT_NONE ? t : g.items[t].kind;
  };
  // The end is 30 ms away; these take the others 1.5 ms, then 7.5: 12, then 60 as they count.
  EXPECT_EQ(first(10), 0u);
  EXPECT_EQ(first(50), 4u);
}

TEST(Lookahead, TasksRunOnlyOnEligibleUnits) {
  VirtualMachine v(kPolicy, machine(2, 2));
  Graph g;
  for (uint32_t i = 0; i < 400; ++i) g.add(i % 5, {{i, CONSORT_M_RW}});
  EXPECT_GT(v.run(g, 0.05), 0);
  EXPECT_EQ(v.runs.size(), 400u);
  for (const auto &r : v.runs) {
    EXPECT_TRUE(g.items[r.task].kind != 2 || r.worker < 2) << r.worker;
    EXPECT_TRUE(g.items[r.task].kind != 3 || r.worker >= 2) << r.worker;
  }
}

// Each class samples tasks without a model, a few at a time where another class is known.
TEST(Lookahead, UnknownTasksAreSampled) {
  VirtualMachine v(kPolicy, machine(2, 1));
  v.calibrated = false;
  const Graph g = independent(80, 4);
  EXPECT_GT(v.run(g), 0);
  std::vector<size_t> got(3);
  for (const auto &r : v.runs) ++got[r.worker];
  for (uint32_t w = 0; w < 3; ++w) EXPECT_GE(got[w], 5u) << w;
}

TEST(Lookahead, GraphsAreDeterministic) {
  MachineShape m = machine(6, 2);
  for (uint32_t w = 0; w < m.units.size(); ++w) {  // potrf, trsm, syrk, gemm
    const bool fast = m.units[w].klass;
    const double ns[] = {fast ? 900 * kUs : 1200 * kUs, fast ? 200 * kUs : 2000 * kUs, fast ? 150 * kUs : 3000 * kUs,
                         fast ? 300 * kUs : 8000 * kUs};
    for (int k = 0; k < 4; ++k) m.ns[k][w] = ns[k];
  }
  const Graph g = Graph::cholesky(12, 64 * 1024);
  const auto order = [&](uint64_t seed) {
    VirtualMachine v(kPolicy, m);
    EXPECT_GT(v.run(g, 0.05, seed), 0);
    std::vector<std::pair<uint32_t, double>> out;
    std::set<uint32_t> all;
    for (const auto &r : v.runs) {
      out.push_back({r.task * 8 + r.worker, r.end});
      EXPECT_TRUE(all.insert(r.task).second) << "task " << r.task << " twice";
    }
    EXPECT_EQ(all.size(), g.items.size());
    return out;
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_NE(order(3), order(4));
}

TEST(Lookahead, DroppedTasksLeaveAtOnce) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = independent(40, 0);
  v.load(g);
  submit(v);
  v.push(CONSORT_NONE, {0, 1, 2});
  std::vector<consort_task *> gone;
  for (uint32_t i = 1; i < 40; ++i) gone.push_back(&v.tasks[i]);
  std::vector<consort_task *> held(gone.size());
  EXPECT_EQ(v.ops->dropped(v.instance, gone.data(), static_cast<uint32_t>(gone.size()), held.data()), 2u);
  EXPECT_EQ(std::set<consort_task *>(held.begin(), held.begin() + 2),
            (std::set<consort_task *>{&v.tasks[1], &v.tasks[2]}));
  EXPECT_EQ(v.pop(0), CONSORT_NONE);  // alone it is the fast one's
  EXPECT_EQ(v.pop(1), 0u);
  EXPECT_EQ(v.pop(1), CONSORT_NONE);
}

// A task that was popped and parked comes back, and its place at the worker is free again.
TEST(Lookahead, ReturnedTaskFreesItsSlot) {
  VirtualMachine v(kPolicy, machine(0, 1));
  const Graph g = independent(4, 3);
  v.load(g);
  v.push(CONSORT_NONE, all_of(g));
  const uint32_t first = v.pop(0);
  start(v, 0, first);
  const uint32_t second = v.pop(0);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
  consort_task *back = &v.tasks[second];
  uint64_t bits = 0;
  consort_wake wake{1, 0, &bits};
  const consort_push p{kEpoch, CONSORT_NONE, CONSORT_PUSH_RETRIED, &back, 1, 0, &wake};
  EXPECT_EQ(v.ops->push(v.instance, &p), 1u);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
}

// A push wakes the units that would take a task: not the slow one while that would delay the end.
TEST(Lookahead, WakesOnlyUnitsThatWouldTakeATask) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = independent(2, 0);
  v.load(g);
  v.push(CONSORT_NONE, {0});
  EXPECT_EQ(v.woken, 0b10u);
  EXPECT_EQ(v.pop(1), 0u);
}

// When the fast unit is removed, its waiting tasks are no longer too slow elsewhere.
TEST(Lookahead, TasksOfRemovedUnitsMove) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = independent(2, 0);
  v.load(g);
  v.push(CONSORT_NONE, {0, 1});
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
  const uint32_t gone = 1;
  ASSERT_EQ(v.ops->workers(v.instance, &v.topology, nullptr, 0, &gone, 1), CONSORT_OK);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
  EXPECT_EQ(v.pop(1), CONSORT_NONE);
}

}  // namespace
}  // namespace consort_test
