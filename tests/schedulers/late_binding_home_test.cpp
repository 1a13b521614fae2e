// Homes of ready tasks (late_binding_home.hpp), in the policy graph-lookahead: a task waits for the units that hold its data
// as long as it ends sooner there, and for no longer.
#include <gtest/gtest.h>

#include "schedulers/virtual_machine.hpp"

namespace consort_test {
namespace {

constexpr double kUs = 1000;

// Slow cores in space 0, fast units in spaces of their own. Kind 0: 600 us on a core, 300 us on a fast unit. Kind 1: fast units
// alone, 300 us. Links move one byte per ns.
class Home : public testing::Test {
 protected:
  static MachineShape machine(uint32_t slow, uint32_t fast) {
    MachineShape m = MachineShape::simple(slow, fast, 1, 1 * kUs);
    m.tells_ways = true;
    m.ns.assign(2, {});
    for (const auto &u : m.units) {
      m.ns[0].push_back(u.klass ? 300 * kUs : 600 * kUs);
      m.ns[1].push_back(u.klass ? 300 * kUs : 0);
    }
    return m;
  }
  // Ready tasks of one kind, each of which reads a datum of its own.
  void readers(VirtualMachine &v, uint32_t n, uint32_t kind, uint64_t bytes, uint64_t spaces) {
    graph_.bytes = bytes;
    for (uint32_t i = 0; i < n; ++i) graph_.add(kind, {{i, CONSORT_M_R}});
    v.load(graph_);
    std::vector<uint32_t> all(n);
    for (uint32_t i = 0; i < n; ++i) v.set_valid(all[i] = i, spaces);
    for (consort_task &t : v.tasks) {
      const consort_task *one = &t;
      v.ops->submitted(v.instance, &one, 1);
    }
    v.push(CONSORT_NONE, all);
  }
  // The worker is busy from here on. While all units are idle, each takes any task.
  static void start_one(VirtualMachine &v, uint32_t worker) {
    const uint32_t t = v.pop(worker);
    ASSERT_NE(t, CONSORT_NONE);
    v.tell_started(worker, t);
  }
  // Pops that find a task, until one does not.
  static uint32_t takes(VirtualMachine &v, uint32_t worker) {
    uint32_t n = 0;
    for (uint32_t t; (t = v.pop(worker)) != CONSORT_NONE; ++n) {
      v.tell_started(worker, t);
      const consort_done d{v.tasks[t].id, 0, 0, 1, 2, 0, 0};
      v.ops->finished(v.instance, worker, &d, 1);
    }
    return n;
  }
  Graph graph_;
};

TEST_F(Home, IdleUnitLeavesATaskToTheBusyUnitWithItsData) {
  for (const uint64_t bytes : {uint64_t{3'000'000}, uint64_t{1000}}) {
    SCOPED_TRACE(bytes);
    graph_ = {};
    VirtualMachine v("graph-lookahead", machine(0, 2));
    readers(v, 2, 1, bytes, 0b010);
    start_one(v, 0);
    const bool moves = v.pop(1) != CONSORT_NONE;
    EXPECT_EQ(moves, bytes == 1000) << "the copy takes 3 ms, or 1 us; the other unit is busy for 0.3 ms";
    EXPECT_EQ(v.pop(0) != CONSORT_NONE, !moves);
  }
}

TEST_F(Home, TasksMoveWhenTooManyWaitThere) {
  VirtualMachine v("graph-lookahead", machine(0, 2));
  readers(v, 60, 1, 3'000'000, 0b010);
  start_one(v, 0);
  const uint32_t moved = takes(v, 1);
  EXPECT_GT(moved, 30u) << "3.3 ms with the copy, and up to 18 ms of work at the first unit";
  EXPECT_LT(moved, 55u) << "the last ten end sooner where they are";
}

TEST_F(Home, SlowUnitTakesTasksWhoseDataItHas) {
  for (const uint64_t bytes : {uint64_t{2'000'000}, uint64_t{1000}}) {
    SCOPED_TRACE(bytes);
    graph_ = {};
    VirtualMachine v("graph-lookahead", machine(2, 1));
    readers(v, 1, 0, bytes, 0b01);
    const bool stays = bytes > 1000;
    EXPECT_EQ((v.woken & 0b011) != 0, stays) << "a core is woken: 0.6 ms there, 2.3 ms with the copy";
    EXPECT_EQ(v.pop(0) != CONSORT_NONE, stays);
    EXPECT_EQ(v.pop(2) != CONSORT_NONE, !stays);
  }
}

TEST_F(Home, FastUnitLeavesThemWhileFewWait) {
  const auto fast_takes = [&](uint32_t n) {
    graph_ = {};
    VirtualMachine v("graph-lookahead", machine(2, 1));
    readers(v, n, 0, 2'000'000, 0b01);
    start_one(v, 0);
    return v.pop(2) != CONSORT_NONE;
  };
  EXPECT_FALSE(fast_takes(4)) << "0.9 ms of work per core, and 2.3 ms on the fast unit";
  EXPECT_TRUE(fast_takes(12)) << "3.3 ms of work per core";
}

// Work at home is counted out when a task leaves, by a pop or because it was cancelled.
TEST_F(Home, CountsTasksOutThatLeave) {
  VirtualMachine v("graph-lookahead", machine(2, 1));
  readers(v, 12, 0, 2'000'000, 0b01);
  start_one(v, 0);
  std::vector<consort_task *> cancelled;
  for (uint32_t t = 4; t < 12; ++t) cancelled.push_back(&v.tasks[t]);
  std::vector<consort_task *> held(cancelled.size());
  ASSERT_EQ(v.ops->dropped(v.instance, cancelled.data(), 8, held.data()), 8u);
  EXPECT_EQ(v.pop(2), CONSORT_NONE) << "three are left: 0.9 ms of work per core";
  EXPECT_EQ(takes(v, 1), 3u);
}

TEST_F(Home, HomesOfRemovedUnitsAreForgotten) {
  VirtualMachine v("graph-lookahead", machine(2, 1));
  readers(v, 2, 0, 2'000'000, 0b01);
  start_one(v, 0);
  ASSERT_EQ(v.pop(2), CONSORT_NONE) << "the other core ends it sooner";
  const uint32_t gone[] = {0, 1};
  ASSERT_EQ(v.ops->workers(v.instance, &v.topology, nullptr, 0, gone, 2), CONSORT_OK);
  EXPECT_NE(v.pop(2), CONSORT_NONE);
}

}  // namespace
}  // namespace consort_test
