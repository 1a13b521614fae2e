// Bodies that wait inside bodies that wait, without an end: no stack overflows and nothing hangs. Where a wait has no room
// for another body it answers E_BUSY.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct DeepWait : ::testing::TestWithParam<std::tuple<const char *, const char *>> {
  const char *policy() const { return std::get<0>(GetParam()); }
  bool manual() const { return !std::strcmp(std::get<1>(GetParam()), "manual"); }
  Pairs machine() const {
    Pairs pairs = {{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", policy()}};
    if (manual()) pairs.push_back({"pump", "manual"});
    return pairs;
  }
};

// Each body submits the next one and waits for it, until all levels are reached or a wait is refused.
TEST_P(DeepWait, ChainBeyondTheStackIsBusy) {
  if (!manual()) GTEST_SKIP() << "a thread starts others, each with a stack of its own: see robustness/no_threads_test.cpp";
  Rt rt(machine());
  Bodies body;
  constexpr int kLevels = 100'000;
  int deepest = 0, refused = 0;
  std::string said;
  consort_codelet_id next{0};
  next = body(rt, "next", [&](const consort_call &c) -> consort_status {
    const int level = value<int>(c, 0);
    deepest = std::max(deepest, level);
    if (level == kLevels) return CONSORT_OK;
    const auto t = Desc(next).arg(level + 1).must(rt);
    const Answer a = consort_task_wait(rt, t, CONSORT_FOREVER, 0);
    if (a.status == CONSORT_E_BUSY) ++refused, said = a.text;
    else EXPECT_EQ(a.status, CONSORT_OK) << a.text;
    return CONSORT_OK;
  });
  Desc(next).arg(1).must(rt);
  EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(deepest, kLevels) << "the task of a refused wait runs later";
  EXPECT_GT(refused, 0);
  EXPECT_NE(said.find("ulimit -s"), std::string::npos) << said;
  EXPECT_NE(said.find("'next'"), std::string::npos) << said;
  EXPECT_OK(rt.stop());
}

// Many tasks, each of which waits for one child: they need not be on the stack together, and all end.
TEST_P(DeepWait, ManyParentsWaitForTheirChildren) {
  Rt rt(machine());
  Bodies body;
  const int parents = manual() ? 6'000 / kSlow : 200 / kSlow;
  for (const bool bound : {false, true}) {
    std::atomic<int> ran{0}, failed{0};
    const auto child = body(rt, "child", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    const auto parent = body(rt, "parent", [&](const consort_call &c) {
      Desc d(child);
      if (bound) d.on(c.worker);
      char room[1500];  // a body has variables of its own
      std::memset(room, value<int>(c, 0) & 127, sizeof room);
      const auto t = d.must(rt);
      const consort_status s = consort_task_wait(rt, t, CONSORT_FOREVER, 0);
      failed += s < 0 || room[sizeof room / 2] != (value<int>(c, 0) & 127);
      return s;
    });
    for (int i = 0; i < parents; ++i) Desc(parent).arg(i).must(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
    EXPECT_EQ(ran, parents);
    EXPECT_EQ(failed, 0);
  }
  EXPECT_OK(rt.stop());
}

// A body that submits more than the window holds runs others meanwhile, which do the same.
TEST_P(DeepWait, BodiesFillTheWindowRecursively) {
  Pairs pairs = machine();
  pairs.push_back({"window", "16"});
  Rt rt(pairs);
  Bodies body;
  std::atomic<int> ran{0};
  const int most = 20'000 / kSlow;
  consort_codelet_id two{0};
  two = body(rt, "two", [&](const consort_call &) {
    const int n = ran.fetch_add(1) + 1;
    for (int i = 0; i < 2 && 2 * n + i <= most; ++i) Desc(two).must(rt);
    return CONSORT_OK;
  });
  Desc(two).must(rt);
  EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(ran, most);
  EXPECT_OK(rt.stop());
}

INSTANTIATE_TEST_SUITE_P(Policies, DeepWait,
                         ::testing::Combine(::testing::Values("lws", "eager", "prio", "dmda"),
                                            ::testing::Values("manual", "threads")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

}  // namespace
