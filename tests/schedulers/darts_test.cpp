// The policy darts on a table of times: where memory is short it loads the datum that enables most tasks, elsewhere it
// decides as graph-lookahead.
#include <gtest/gtest.h>

#include "schedulers/virtual_machine.hpp"

namespace consort_test {
namespace {

constexpr const char *kPolicy = "darts";
constexpr uint64_t kMiB = 1 << 20;
constexpr double kUs = 1000;

MachineShape accelerators(uint32_t n, uint32_t slow = 0) {
  MachineShape m = MachineShape::simple(slow, n, 1, 1 * kUs);
  m.ns.assign(4, {});
  for (auto &kind : m.ns)
    for (const auto &u : m.units) kind.push_back(u.klass ? 300 * kUs : 3000 * kUs);
  return m;
}

// Each task reads two data. Datum 9 would do for three of them, each of the others for one.
Graph with_a_favourite() {
  Graph g;
  g.bytes = kMiB;
  for (uint32_t i = 0; i < 3; ++i) g.add(0, {{i, CONSORT_M_R}, {5 + i, CONSORT_M_R}});
  for (uint32_t i = 0; i < 3; ++i) g.add(0, {{i, CONSORT_M_R}, {9, CONSORT_M_R}});
  return g;
}

TEST(Darts, LoadsTheDatumThatEnablesMostTasks) {
  VirtualMachine v(kPolicy, accelerators(1));
  v.capacity = 4 * kMiB;
  const Graph g = with_a_favourite();
  submit_and_push(v, g);
  for (uint32_t d = 0; d < 3; ++d) v.set_valid(d, 0b11);
  const uint32_t t = v.pop(0);
  ASSERT_NE(t, CONSORT_NONE);
  EXPECT_GE(t, 3u);
}

TEST(Darts, TasksWithAllDataGoFirst) {
  VirtualMachine v(kPolicy, accelerators(1));
  v.capacity = 4 * kMiB;
  const Graph g = with_a_favourite();
  submit_and_push(v, g);
  v.set_valid(1, 0b11);
  v.set_valid(6, 0b11);
  EXPECT_EQ(v.pop(0), 1u);
}

// Data that one unit has planned are left alone by the others as long as other data are left.
TEST(Darts, UnitsPlanDisjointData) {
  VirtualMachine v(kPolicy, accelerators(2));
  v.capacity = kMiB;
  Graph g;
  g.bytes = kMiB;
  for (uint32_t i = 0; i < 8; ++i) g.add(0, {{i < 4 ? 0u : 1u, CONSORT_M_R}});
  submit_and_push(v, g);
  const uint32_t first = v.pop(0), second = v.pop(1);
  ASSERT_NE(first, CONSORT_NONE);
  ASSERT_NE(second, CONSORT_NONE);
  EXPECT_NE(first < 4, second < 4);
}

TEST(Darts, PriorityOverridesDataIfStrict) {
  VirtualMachine v(kPolicy, accelerators(1), {{"strict", "true"}});
  v.capacity = kMiB;
  Graph g;
  g.bytes = kMiB;
  for (uint32_t i = 0; i < 6; ++i) g.add(0, {{0, CONSORT_M_R}});
  g.add(1, {{7, CONSORT_M_R}}, 5);
  submit_and_push(v, g);
  EXPECT_EQ(v.pop(0), 6u);
}

// Two ready tasks that read one datum, where memory is short.
void push_two_readers(VirtualMachine &v, Graph &g) {
  v.capacity = 1;
  g.bytes = kMiB;
  for (uint32_t i = 0; i < 2; ++i) g.add(0, {{0, CONSORT_M_R}});
  submit_and_push(v, g);
}

// Of the last two tasks an idle unit gets one, even if the other asks first for its second.
TEST(Darts, LeavesTheLastTaskToAnIdleUnit) {
  VirtualMachine v(kPolicy, accelerators(2));
  Graph g;
  push_two_readers(v, g);
  const uint32_t first = v.pop(0);
  ASSERT_NE(first, CONSORT_NONE);
  v.tell_started(0, first);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
  EXPECT_NE(v.pop(1), CONSORT_NONE);
}

// A task that waits for exclusive access may wait for the last ready task: its unit takes that, too.
TEST(Darts, TakesTheLastTaskWhileItsOwnIsUnstarted) {
  VirtualMachine v(kPolicy, accelerators(2));
  Graph g;
  push_two_readers(v, g);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
}

// The least used datum goes first, and planned data last; without the parameter the kernel's order applies.
TEST(Darts, EvictsLeastUsedData) {
  for (const char *least : {"true", "false"}) {
    VirtualMachine v(kPolicy, accelerators(1), {{"least_used", least}});
    v.capacity = kMiB;
    Graph g;
    g.bytes = kMiB;
    for (uint32_t i = 0; i < 3; ++i) g.add(0, {{1, CONSORT_M_R}});
    g.add(0, {{2, CONSORT_M_R}});
    submit_and_push(v, g);
    const consort_replica there[] = {{2, kMiB, 0, 1, 0}, {3, kMiB, 0, 1, 0}, {99, kMiB, 0, 1, 0}};  // ids begin at 1
    uint32_t order[3] = {};
    const uint32_t n = v.ops->victim(v.instance, 1, kMiB, there, 3, order);
    if (std::string(least) == "false") {
      EXPECT_EQ(n, 0u);
      continue;
    }
    ASSERT_EQ(n, 3u);
    EXPECT_EQ(order[0], 2u);  // no task uses it
    EXPECT_EQ(order[1], 1u);  // one
    EXPECT_EQ(order[2], 0u);  // three
  }
}

TEST(Darts, EqualsGraphLookaheadWithEnoughMemory) {
  const Graph g = Graph::cholesky(10, 64 * 1024);
  const auto order = [&](const char *policy) {
    VirtualMachine v(policy, accelerators(1, 4));
    EXPECT_GT(v.run(g, 0.05, 3), 0);
    std::vector<uint32_t> out;
    for (const auto &r : v.runs) out.push_back(r.task * 8 + r.worker);
    EXPECT_EQ(out.size(), g.items.size());
    return out;
  };
  EXPECT_EQ(order(kPolicy), order("graph-lookahead"));
}

TEST(Darts, GraphsAreDeterministic) {
  for (const Graph &g : {Graph::cholesky(10, kMiB), Graph::gemm(6, kMiB), Graph::lu(7, kMiB)}) {
    const auto order = [&] {
      VirtualMachine v(kPolicy, accelerators(3, 2));
      v.capacity = 12 * kMiB;
      EXPECT_GT(v.run(g, 0.05, 3), 0);
      std::set<uint32_t> all;
      std::vector<uint32_t> out;
      for (const auto &r : v.runs) {
        out.push_back(r.task * 8 + r.worker);
        EXPECT_TRUE(all.insert(r.task).second) << "task " << r.task << " twice";
      }
      EXPECT_EQ(all.size(), g.items.size());
      return out;
    };
    EXPECT_EQ(order(), order());
  }
}

// Sixty data each: more than the table of helpful ones holds, which then counts no further.
TEST(Darts, HandlesManyDataOfManyTasks) {
  VirtualMachine v(kPolicy, accelerators(2), {{"look", "512"}});
  v.capacity = kMiB;
  Graph g;
  g.bytes = kMiB;
  for (uint32_t t = 0; t < 400; ++t) {
    std::vector<Graph::Use> uses;
    for (uint32_t d = 0; d < 60; ++d) uses.push_back({(t * 60 + d) % 20000, CONSORT_M_R});
    g.add(0, uses);
  }
  submit_and_push(v, g);
  std::set<uint32_t> got;
  for (uint32_t k = 0; k < 2; ++k) got.insert(v.pop(k));
  EXPECT_EQ(got.size(), 2u);
  EXPECT_FALSE(got.contains(CONSORT_NONE));
}

TEST(Darts, DroppedTasksLeaveThePlan) {
  VirtualMachine v(kPolicy, accelerators(1));
  v.capacity = kMiB;
  Graph g;
  g.bytes = kMiB;
  for (uint32_t i = 0; i < 6; ++i) g.add(0, {{0, CONSORT_M_R}});
  submit_and_push(v, g);
  const uint32_t first = v.pop(0);  // the others are planned with it
  std::vector<consort_task *> gone;
  for (uint32_t t = 0; t < 6; ++t)
    if (t != first && t != 5) gone.push_back(&v.tasks[t]);
  std::vector<consort_task *> held(gone.size());
  EXPECT_EQ(v.ops->dropped(v.instance, gone.data(), 4, held.data()), 4u);
  EXPECT_EQ(v.pop(0), 5u);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
}

}  // namespace
}  // namespace consort_test
