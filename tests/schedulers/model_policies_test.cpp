// The model-driven policies on a table of times: which worker gets which task and why. Unknown tasks are sampled. A
// graph in virtual time ends, deterministically, and near the machine's optimum.
#include <gtest/gtest.h>

#include "schedulers/virtual_machine.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr double kUs = 1000;

// Kinds: 0 ten times as fast on the fast unit, 1 as fast on both, 2 only on class 0, 3 only on class 1.
MachineShape two_kinds(uint32_t slow, uint32_t fast, double bytes_per_ns = 1) {
  MachineShape m = MachineShape::simple(slow, fast, bytes_per_ns, 1 * kUs);
  m.ns.assign(4, {});
  const double on_slow[] = {1000 * kUs, 100 * kUs, 100 * kUs, 0}, on_fast[] = {100 * kUs, 100 * kUs, 0, 100 * kUs};
  for (int k = 0; k < 4; ++k)
    for (const auto &u : m.units) m.ns[k].push_back(u.klass ? on_fast[k] : on_slow[k]);
  return m;
}

Graph independent(uint32_t n, uint32_t kind, uint64_t bytes = 0) {
  Graph g;
  g.bytes = bytes;
  for (uint32_t i = 0; i < n; ++i) g.add(kind, {{i, CONSORT_M_RW}});
  return g;
}

class ModelPolicies : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, ModelPolicies, testing::Values("dm", "dmda", "dmdar", "dmdas", "dmdasd", "heft", "pheft"),
                         [](const auto &i) { return std::string(i.param); });

// Twelve tasks on two slow units and a fast one that is ten times as fast. The tenth task ends there when a slow unit
// ends its first.
TEST_P(ModelPolicies, ChooseTheEarliestEnd) {
  VirtualMachine v(GetParam(), two_kinds(2, 1), {{"steal", "false"}, {"ahead", "64"}});
  const Graph g = independent(12, 0);
  v.load(g);
  for (uint32_t i = 0; i < 12; ++i) v.push(CONSORT_NONE, {i});
  std::vector<size_t> got(3);
  for (uint32_t w = 0; w < 3; ++w)
    while (v.pop(w) != CONSORT_NONE) ++got[w];
  EXPECT_EQ(got[0] + got[1] + got[2], 12u);
  EXPECT_GE(got[2], 9u);
  EXPECT_LE(got[0], 1u);
  EXPECT_LE(got[1], 1u);
}

TEST_P(ModelPolicies, ShareAmongAlikeUnits) {
  VirtualMachine v(GetParam(), two_kinds(4, 0), {{"steal", "false"}});
  const Graph g = independent(40, 2);
  v.load(g);
  std::vector<uint32_t> all(40);
  for (uint32_t i = 0; i < 40; ++i) all[i] = i;
  v.push(CONSORT_NONE, all);
  for (uint32_t w = 0; w < 4; ++w) {
    size_t n = 0;
    for (; v.pop(w) != CONSORT_NONE; ++n) {
      const consort_done d{v.tasks[0].id, 0, 0, 0, 0, 0, 0};
      v.ops->finished(v.instance, w, &d, 1);
      for (uint32_t t = 0; t < 40; ++t) {  // whichever it was
        const consort_done e{v.tasks[t].id, 0, 0, 0, 0, 0, 0};
        v.ops->finished(v.instance, w, &e, 1);
      }
    }
    EXPECT_EQ(n, 10u) << w;
  }
}

TEST_P(ModelPolicies, RunTasksOnlyOnEligibleUnits) {
  VirtualMachine v(GetParam(), two_kinds(2, 2));
  Graph g;
  for (uint32_t i = 0; i < 200; ++i) g.add(2 + i % 2, {{i, CONSORT_M_RW}});
  EXPECT_GT(v.run(g), 0);  // the machine itself checks each
  for (const auto &r : v.runs) EXPECT_EQ(v.m.units[r.worker].klass, g.items[r.task].kind == 3);
}

// Each class samples tasks without a model, at most a few at a time, and no worker gets all of them.
TEST_P(ModelPolicies, SampleUnknownTasksOnEachUnit) {
  VirtualMachine v(GetParam(), two_kinds(2, 1));
  v.calibrated = false;
  const Graph g = independent(60, 1);
  EXPECT_GT(v.run(g), 0);
  std::vector<size_t> got(3);
  for (const auto &r : v.runs) ++got[r.worker];
  for (uint32_t w = 0; w < 3; ++w) EXPECT_GE(got[w], 10u) << w;

  VirtualMachine u(GetParam(), two_kinds(3, 2));
  u.calibrated = false;
  u.load(g);
  for (uint32_t i = 0; i < 10; ++i) u.push(CONSORT_NONE, {i});
  for (uint32_t w = 0; w < 5; ++w) {
    size_t n = 0;
    while (u.pop(w) != CONSORT_NONE) ++n;
    EXPECT_EQ(n, 2u) << w;
  }
}

TEST_P(ModelPolicies, ChooseTheFasterImplementation) {
  VirtualMachine v(GetParam(), two_kinds(1, 0));
  v.impls = 0b111;
  v.impl_factor = {{0, 3.0}, {1, 1.0}, {2, 2.0}};
  const Graph g = independent(4, 1);
  v.load(g);
  v.push(CONSORT_NONE, {0});
  EXPECT_EQ(v.pop(0), 0u);
  EXPECT_EQ(v.impl, 1u);
  v.impl_factor[2] = NAN;
  v.push(CONSORT_NONE, {1});
  EXPECT_EQ(v.pop(0), 1u);
  EXPECT_EQ(v.impl, 2u);
  v.impls = 1;
  v.push(CONSORT_NONE, {2});
  EXPECT_EQ(v.pop(0), 2u);
  EXPECT_EQ(v.impl, CONSORT_NONE);  // the kernel's affair
}

// A late worker delays no task: an idle unit of its class takes the last task of its queue.
TEST_P(ModelPolicies, IdleUnitsStealFromAlikeUnits) {
  VirtualMachine v(GetParam(), two_kinds(2, 0));
  const Graph g = independent(6, 1);
  v.load(g);
  for (uint32_t i = 0; i < 6; ++i) v.push(CONSORT_NONE, {i});
  const uint32_t begun = v.pop(0);
  ASSERT_NE(begun, CONSORT_NONE);
  const consort_task *one = &v.tasks[begun];
  v.ops->started(v.instance, 0, &one, 1);  // and does not end
  std::set<uint32_t> rest;
  for (uint32_t t; (t = v.pop(1)) != CONSORT_NONE;) {
    rest.insert(t);
    const consort_done d{v.tasks[t].id, 0, 0, 1, 2, 0, 0};
    v.ops->finished(v.instance, 1, &d, 1);
  }
  EXPECT_EQ(rest.size(), 5u);
}

TEST_P(ModelPolicies, HoldTasksThatCannotStartSoon) {
  VirtualMachine v(GetParam(), two_kinds(0, 1), {{"ahead", "1"}});
  const Graph g = independent(10, 3);
  v.load(g);
  for (uint32_t i = 0; i < 10; ++i) v.push(CONSORT_NONE, {i});
  std::vector<uint32_t> got;
  for (uint32_t t; (t = v.pop(0)) != CONSORT_NONE;) {
    got.push_back(t);
    const consort_task *one = &v.tasks[t];
    v.ops->started(v.instance, 0, &one, 1);
  }
  EXPECT_EQ(got.size(), 3u);  // two in flight, one more
  const consort_done d{v.tasks[got[0]].id, 0, 0, 1, 2, 0, 0};
  v.ops->finished(v.instance, 0, &d, 1);
  EXPECT_NE(v.pop(0), CONSORT_NONE);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
}

TEST_P(ModelPolicies, GraphsAreDeterministic) {
  MachineShape m = two_kinds(3, 2);
  for (auto &u : m.ns[2]) u = 300 * kUs;  // anywhere, but slowly
  for (auto &u : m.ns[3]) u = 200 * kUs;
  for (uint32_t w = 0; w < m.units.size(); ++w)
    if (m.units[w].klass) m.ns[2][w] = m.ns[3][w] = 20 * kUs;
  const Graph g = Graph::cholesky(8, 64 * 1024);
  const auto order = [&](uint64_t seed) {
    VirtualMachine v(GetParam(), m);
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

TEST_P(ModelPolicies, DroppedTasksLeaveAtOnce) {
  VirtualMachine v(GetParam(), two_kinds(1, 1));
  const Graph g = independent(4, 2);
  v.load(g);
  v.push(CONSORT_NONE, {0, 1, 2});
  consort_task *gone[] = {&v.tasks[1], &v.tasks[3]}, *held[2];
  EXPECT_EQ(v.ops->dropped(v.instance, gone, 2, held), 1u);
  EXPECT_EQ(held[0], &v.tasks[1]);
  EXPECT_EQ(v.pop(0), 0u);
  EXPECT_EQ(v.pop(0), 2u);
  EXPECT_EQ(v.pop(0), CONSORT_NONE);
}

// -- where they differ ------------------------------------------------------------------------------------------

// 8 ms of way for 1 ms of work: dm goes, dmda does not; with beta and alpha 0 nor does it count.
TEST(Dmda, CountsTransferTime) {
  const auto where = [](const char *policy, PluginHost::Params params = {}) {
    VirtualMachine v(policy, two_kinds(1, 1), std::move(params));
    const Graph g = independent(1, 0, 8 * kMiB);
    v.load(g);
    v.push(CONSORT_NONE, {0});
    return v.pop(1) == 0 ? 1 : v.pop(0) == 0 ? 0 : -1;
  };
  EXPECT_EQ(where("dm"), 1);
  for (const char *p : {"dmda", "dmdar", "dmdas", "dmdasd", "heft"}) EXPECT_EQ(where(p), 0) << p;
}

// It ends sooner on the fast unit, after half a millisecond of transfer: beta weighs the transfer.
TEST(Dmda, BetaWeighsTransferTime) {
  const auto where = [](const char *beta) {
    VirtualMachine v("dmda", two_kinds(1, 1), {{"beta", beta}});
    Graph g;
    g.bytes = 500'000;  // 501 us: it ends 399 us sooner there
    g.add(0, {{0, CONSORT_M_RW}});
    v.load(g);
    v.push(CONSORT_NONE, {0});
    return v.pop(1) == 0 ? 1 : 0;
  };
  EXPECT_EQ(where("0"), 1);
  EXPECT_EQ(where("0.5"), 1);
  EXPECT_EQ(where("2"), 0);
}

// Class 1 takes 20 times the power and a tenth of the time: twice the energy.
TEST(Dmda, GammaWeighsEnergy) {  // POW-02, POW-03, POW-06, POW-07
  for (const char *policy : {"dmda", "dmdas"}) {
    const auto where = [&](const char *gamma, const char *idle, const char *alpha = "1", const char *beta = "1") {
      VirtualMachine v(policy, two_kinds(1, 1), {{"gamma", gamma}, {"idle_power", idle}, {"alpha", alpha}, {"beta", beta}});
      const Graph g = independent(1, 0);
      v.load(g);
      v.push(CONSORT_NONE, {0});
      return v.pop(1) == 0 ? 1 : 0;
    };
    EXPECT_EQ(where("0", "0"), 1);
    EXPECT_EQ(where("1000000", "0"), 0);      // 10 mJ against 20 mJ: ten ms for 0.9 ms
    EXPECT_EQ(where("1000000", "200"), 1);    // but the machine takes 0.18 J more if it waits for the slow one
    EXPECT_EQ(where("1", "0", "0", "0"), 0);  // nothing but energy counts
  }
}

TEST(Dmda, PrefetchesAtTheDecision) {
  for (const char *p : {"dmda", "dmdar", "dmdas", "dmdasd", "heft"}) {
    VirtualMachine v(p, two_kinds(1, 1));
    const Graph g = independent(2, 3, kMiB);
    v.load(g);
    v.set_valid(1, 0b10);
    v.push(CONSORT_NONE, {0, 1});
    EXPECT_EQ(v.prefetched, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}})) << p;
  }
  VirtualMachine v("dm", two_kinds(1, 1));
  const Graph g = independent(2, 3, kMiB);
  v.load(g);
  v.push(CONSORT_NONE, {0, 1});
  EXPECT_TRUE(v.prefetched.empty());
}

TEST(Dmdar, PrefersResidentData) {
  for (const char *p : {"dmda", "dmdar", "dmdas"}) {
    VirtualMachine v(p, two_kinds(0, 1), {{"ahead", "64"}});
    const Graph g = independent(4, 3, kMiB);
    v.load(g);
    v.push(CONSORT_NONE, {0, 1, 2, 3});
    v.set_valid(2, 0b10);
    EXPECT_EQ(v.pop(0), std::string(p) == "dmda" ? 0u : 2u) << p;
    EXPECT_EQ(v.pop(0), std::string(p) == "dmda" ? 1u : 0u) << p;
  }
}

TEST(Dmdas, OrdersByPriority) {
  for (const char *p : {"dmdas", "dmdasd", "heft"}) {
    VirtualMachine v(p, two_kinds(1, 0));
    Graph g;
    const int32_t priorities[] = {0, -7, 1 << 30, 3, 3, -(1 << 30)};
    for (uint32_t i = 0; i < 6; ++i) g.add(2, {{i, CONSORT_M_RW}}, priorities[i]);
    v.load(g);
    v.push(CONSORT_NONE, {0, 1, 2, 3, 4, 5});
    for (const uint32_t t : {2, 3, 4, 0, 1, 5}) EXPECT_EQ(v.pop(0), t) << p;
  }
}

// The urgent task overtakes the tasks that wait at the fast unit: only a decision that knows that sends it there.
TEST(Dmdasd, CountsOnlyTasksAhead) {
  const auto urgent_goes_to = [](const char *policy) {
    VirtualMachine v(policy, two_kinds(1, 1), {{"ahead", "64"}});
    Graph g;
    for (uint32_t i = 0; i < 12; ++i) g.add(3, {{i, CONSORT_M_RW}});
    g.add(0, {{12, CONSORT_M_RW}}, 5);
    v.load(g);
    for (uint32_t i = 0; i < 13; ++i) v.push(CONSORT_NONE, {i});
    return v.pop(0) == 12 ? 0 : v.pop(1) == 12 ? 1 : -1;
  };
  EXPECT_EQ(urgent_goes_to("dmdas"), 0);
  EXPECT_EQ(urgent_goes_to("dmdasd"), 1);
}

// A short task ahead of a long chain goes before an independent task.
TEST(Heft, OrdersByRank) {
  Graph g;
  for (uint32_t i = 0; i < 5; ++i) g.add(2, {{i, CONSORT_M_RW}});
  for (uint32_t i = 0; i < 4; ++i) g.add(2, {{7, CONSORT_M_RW}});  // 5, 6, 7, 8: a chain
  g.add(2, {{8, CONSORT_M_RW}});                                    // 9, whose result 10 reads
  g.add(2, {{8, CONSORT_M_R}, {9, CONSORT_M_RW}});
  const auto order = [&](const char *policy) {
    VirtualMachine v(policy, two_kinds(1, 0));
    EXPECT_GT(v.run(g), 0);
    std::vector<uint32_t> out;
    for (const auto &r : v.runs) out.push_back(r.task);
    return out;
  };
  const auto heft = order("heft");
  EXPECT_EQ((std::vector<uint32_t>(heft.begin(), heft.begin() + 2)), (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(std::set<uint32_t>(heft.begin() + 2, heft.begin() + 4), (std::set<uint32_t>{7, 9}));  // two hang on each
  EXPECT_EQ(order("dmdas").front(), 0u);
}

}  // namespace
}  // namespace consort_test
