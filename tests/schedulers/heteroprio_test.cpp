// The policy heteroprio on a table of times. Each class of units first runs its relatively fastest tasks, by models or
// by lists. Critical tasks go before those, and slow units take a task only where that does not delay the end.
#include <gtest/gtest.h>

#include "schedulers/virtual_machine.hpp"

namespace consort_test {
namespace {

constexpr const char *kPolicy = "heteroprio";
constexpr double kUs = 1000;

// Kinds: 0 is ten times as fast on the fast units, 1 four times, 2 twice, 4 as fast on all. Kind 3 runs on the slow
// ones alone.
MachineShape machine(uint32_t slow, uint32_t fast) {
  MachineShape m = MachineShape::simple(slow, fast, 1, 1 * kUs);
  m.ns.assign(5, {});
  const double on_slow[] = {3000 * kUs, 1200 * kUs, 600 * kUs, 300 * kUs, 300 * kUs};
  const double on_fast[] = {300 * kUs, 300 * kUs, 300 * kUs, 0, 300 * kUs};
  for (int k = 0; k < 5; ++k)
    for (const auto &u : m.units) m.ns[k].push_back(u.klass ? on_fast[k] : on_slow[k]);
  return m;
}

Graph loose(const std::vector<uint32_t> &kinds, uint32_t each) {
  Graph g;
  for (uint32_t i = 0; i < each; ++i)
    for (const uint32_t k : kinds) g.add(k, {{static_cast<uint32_t>(g.items.size()), CONSORT_M_RW}});
  return g;
}

TEST(Heteroprio, ClassesPreferTheirRelativelyFasterTasks) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = loose({2, 0, 1}, 40);
  submit_and_push(v, g);
  const uint32_t fast = v.pop(1), slow = v.pop(0);
  ASSERT_NE(fast, CONSORT_NONE);
  ASSERT_NE(slow, CONSORT_NONE);
  EXPECT_EQ(g.items[fast].kind, 0u);  // ten times as fast
  EXPECT_EQ(g.items[slow].kind, 2u);  // half as fast and not a tenth
}

TEST(Heteroprio, ExclusiveTasksGoFirst) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = loose({2, 3, 4}, 20);
  submit_and_push(v, g);
  EXPECT_EQ(g.items[v.pop(0)].kind, 3u);
}

TEST(Heteroprio, ListsOverrideModels) {
  VirtualMachine v(kPolicy, machine(1, 1), {{"orders", "fast: two one, slow: one"}, {"critical", "100"}});
  const Graph g = loose({0, 1, 2}, 40);
  submit_and_push(v, g);
  EXPECT_EQ(g.items[v.pop(1)].kind, 2u);
  EXPECT_EQ(g.items[v.pop(0)].kind, 1u);
}

TEST(Heteroprio, RefusesBadLists) {
  const auto said = [](const char *orders) {
    PluginHost p(kPolicy, {{"orders", orders}});
    EXPECT_FALSE(p.ready()) << orders;
    return p.failure();
  };
  EXPECT_NE(said("gemm syrk").find("\"gemm syrk\" names no class of units; write CLASS: CODELET"), std::string::npos);
  EXPECT_NE(said("cuda:").find("class \"cuda\" has no codelets"), std::string::npos);
  EXPECT_NE(said("cuda: a, cuda: b").find("class \"cuda\" is listed twice"), std::string::npos);
  EXPECT_TRUE(PluginHost(kPolicy, {{"orders", " ,cuda: a  b, cpu :c "}}).ready());
}

TEST(Heteroprio, AbsentClassIsLogged) {
  VirtualMachine v(kPolicy, machine(1, 1), {{"orders", "gpu: two"}});
  EXPECT_NE(v.plugin.log().find("there are no units of class \"gpu\" here"), std::string::npos);
}

// A chain that the fast unit hardly accelerates, and independent tasks that it accelerates much: the chain decides the
// end.
TEST(Heteroprio, CriticalTasksPrecedeBuckets) {
  VirtualMachine v(kPolicy, machine(1, 1));
  Graph g;
  for (uint32_t i = 0; i < 3; ++i) g.add(0, {{i, CONSORT_M_RW}});
  for (uint32_t i = 0; i < 20; ++i) g.add(4, {{3, CONSORT_M_RW}});
  submit_and_push(v, g);
  EXPECT_EQ(v.pop(1), 3u);
  VirtualMachine without(kPolicy, machine(1, 1), {{"critical", "100"}});
  submit_and_push(without, g);
  EXPECT_EQ(g.items[without.pop(1)].kind, 0u);
}

TEST(Heteroprio, PrioritiesOrderABucket) {
  VirtualMachine v(kPolicy, machine(0, 1), {{"critical", "100"}});
  Graph g;
  for (uint32_t i = 0; i < 6; ++i) g.add(0, {{i, CONSORT_M_RW}}, i == 4 ? 3 : 0);
  submit_and_push(v, g);
  EXPECT_EQ(v.pop(0), 4u);
}

// Alone or few, a task waits for the unit that does it ten times as fast.
TEST(Heteroprio, SlowUnitsTakeTasksThatDelayNothing) {
  for (const uint32_t n : {4u, 60u}) {
    VirtualMachine v(kPolicy, machine(2, 1));
    const Graph g = loose({0}, n);
    submit_and_push(v, g);
    EXPECT_EQ(v.pop(0) != CONSORT_NONE, n == 60);
    EXPECT_NE(v.pop(2), CONSORT_NONE);
  }
}

TEST(Heteroprio, GraphsAreDeterministic) {
  const Graph g = Graph::cholesky(10, 64 * 1024);
  const auto order = [&](const char *orders) {
    VirtualMachine v(kPolicy, machine(4, 2), {{"orders", orders}});
    EXPECT_GT(v.run(g, 0.05, 3), 0);
    std::vector<uint32_t> out;
    for (const auto &r : v.runs) out.push_back(r.task * 8 + r.worker);
    EXPECT_EQ(out.size(), g.items.size());
    return out;
  };
  EXPECT_EQ(order(""), order(""));
  EXPECT_EQ(order("fast: three"), order("fast: three"));
}

TEST(Heteroprio, UnknownTasksAreSampled) {
  VirtualMachine v(kPolicy, machine(2, 1));
  v.calibrated = false;
  const Graph g = loose({2}, 80);
  EXPECT_GT(v.run(g), 0);
  std::vector<size_t> got(3);
  for (const auto &r : v.runs) ++got[r.worker];
  for (uint32_t w = 0; w < 3; ++w) EXPECT_GE(got[w], 2u) << w;
}

// The fast unit goes while its tasks wait: the slow ones take them.
TEST(Heteroprio, TasksOfRemovedUnitsMove) {
  VirtualMachine v(kPolicy, machine(1, 1));
  const Graph g = loose({0}, 2);
  submit_and_push(v, g);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
  const uint32_t gone = 1;
  ASSERT_EQ(v.ops->workers(v.instance, &v.topology, nullptr, 0, &gone, 1), CONSORT_OK);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
}

}  // namespace
}  // namespace consort_test
