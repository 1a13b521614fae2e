// Waiting: for one task and all, time limits, helping or not, from inside tasks and callbacks; cancelling.
#include <sys/resource.h>

#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct Wait : ::testing::Test {
  Rt rt;
  Bodies body;
  int x = 0;
  consort_data_id a = variable_of(rt, &x, "a");
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
};

TEST_F(Wait, RefusesUnknownTasks) {
  for (const uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 60, ~uint64_t{0}}) {
    SCOPED_TRACE(v);
    EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(rt, {v}, kLong, 0), "task");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_task_state(rt, {v}), "task");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_task_cancel(rt, {v}), "task");
  }
}

TEST_F(Wait, ReturnsAtOnceForATaskLongEnded) {
  const auto first = Desc(nop).must(rt);
  for (int i = 0; i < 20000; ++i) Desc(nop).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, first, 0, 0));
  EXPECT_OK(consort_task_state(rt, first));
  EXPECT_OK(consort_task_cancel(rt, first));
}

TEST_F(Wait, TimesOut) {
  Gate gate;
  const auto t = Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).on(1).must(rt);
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; }));
  for (const uint32_t flags : {0u, uint32_t{CONSORT_WAIT_NO_HELP}}) {
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 0, flags), "time");
    const auto before = std::chrono::steady_clock::now();
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 30'000'000, flags), "time");
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_group_wait(rt, {0}, 30'000'000, flags), "time");
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(rt, 30'000'000, flags), "time");
    EXPECT_GE(std::chrono::steady_clock::now() - before, 85ms);
    EXPECT_LE(std::chrono::steady_clock::now() - before, 10s * kSlow);
  }
  EXPECT_EQ(consort_task_state(rt, t), CONSORT_AGAIN);
  gate.open();
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_OK(consort_task_state(rt, t));
}

TEST_F(Wait, NoHelpRunsNothingOnTheCaller) {
  const auto me = std::this_thread::get_id();
  std::atomic<int> mine{0}, ran{0};
  const auto c = body(
      rt, "who", [&](const consort_call &) { return mine += std::this_thread::get_id() == me, ++ran, CONSORT_OK; });
  for (int i = 0; i < 500; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_EQ(ran, 500);
  EXPECT_EQ(mine, 0);
}

TEST_F(Wait, InsideACallbackIsBusy) {
  struct Seen {
    Rt *rt;
    consort_data_id a;
    consort_task_id other;
    Answer task{0}, group{0}, all{0}, acquire{0};
  } seen{&rt, a, {0}};
  seen.other = Desc(nop).must(rt);
  Desc(nop).done([](void *p, const consort_outcome *) {
    auto *s = static_cast<Seen *>(p);
    consort_hold h;
    s->task = Answer(consort_task_wait(*s->rt, s->other, kLong, 0));
    s->group = Answer(consort_group_wait(*s->rt, {0}, kLong, 0));
    s->all = Answer(consort_wait_all(*s->rt, kLong, 0));
    s->acquire = Answer(consort_acquire(*s->rt, s->a, CONSORT_M_R, kLong, &h));
  }, &seen).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, seen.task, {"callback"}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, seen.group, {"callback"}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, seen.all, {"callback"}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, seen.acquire, {"callback"}));
}

TEST_F(Wait, ForTheCallingTaskIsBusy) {
  Answer self(0), all(0), group(0);
  std::atomic<uint64_t> id{0};
  const auto c = body(rt, "narcissus", [&](const consort_call &) {
    while (!id) std::this_thread::yield();
    self = Answer(consort_task_wait(rt, {id}, kLong, 0));
    all = Answer(consort_wait_all(rt, kLong, 0));
    group = Answer(consort_group_wait(rt, {0}, kLong, 0));
    return CONSORT_OK;
  });
  const auto t = Desc(c).must(rt);
  id = t.v;
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, self, {"itself"}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, all, {"itself"}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, group, {"itself"}));
}

TEST_F(Wait, TasksMayWaitForTheirChildren) {
  std::atomic<int> ran{0};
  const auto leaf = body(rt, "leaf", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
    consort_task_id t[8];
    for (auto &id : t) id = Desc(leaf).must(rt);
    for (auto &id : t)
      if (const auto s = consort_task_wait(rt, id, kLong, 0); s < 0) return s;
    return CONSORT_OK;
  });
  for (int i = 0; i < 200; ++i) Desc(parent).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 1600);
}

TEST_F(Wait, TasksMayWaitForTheirGroups) {
  std::atomic<int> ran{0};
  consort_codelet_id tree{0};
  tree = body(rt, "tree", [&](const consort_call &k) -> consort_status {
    const int depth = value<int>(k, 0);
    if (!depth) return ++ran, CONSORT_OK;
    consort_group_id g;
    if (const auto s = consort_group_create(rt, nullptr, &g); s < 0) return s;
    for (int i = 0; i < 3; ++i)
      if (const auto s = Desc(tree).in(g).arg(depth - 1).to(rt); s < 0) return s;
    if (const auto s = consort_group_wait(rt, g, kLong, 0); s < 0) return s;
    return consort_group_destroy(rt, g);
  });
  Desc(tree).arg(6).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 729);
}

// FIFO order: the whole tree is open before its first leaf runs. The end of a group wakes the waiters of that group,
// and not the thousand others.
TEST(NestedGroupWait, WakesOnlyTheWaitersOfItsGroup) {
  Rt rt{{{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", "eager"}}};
  Bodies body;
  std::atomic<int> ran{0};
  consort_codelet_id tree{0};
  tree = body(rt, "tree", [&](const consort_call &k) -> consort_status {
    const int depth = value<int>(k, 0);
    if (!depth) return ++ran, CONSORT_OK;
    consort_group_id g;
    if (const auto s = consort_group_create(rt, nullptr, &g); s < 0) return s;
    for (int i = 0; i < 2; ++i)
      if (const auto s = Desc(tree).in(g).arg(depth - 1).to(rt); s < 0) return s;
    if (const auto s = consort_group_wait(rt, g, kLong, 0); s < 0) return s;
    return consort_group_destroy(rt, g);
  });
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  Desc(tree).arg(10).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(ran, 1024);
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 10 * 2047) << "sleeps of all threads together";
}

TEST_F(Wait, TimesOutInsideATask) {
  Gate gate;
  const auto slow = body(rt, "slow", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  Answer first(0), second(0);
  const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
    const auto t = Desc(slow).on(1).must(rt);
    first = Answer(consort_task_wait(rt, t, 10'000'000, 0));
    gate.open();
    second = Answer(consort_task_wait(rt, t, kLong, 0));
    return CONSORT_OK;
  });
  EXPECT_OK(consort_task_wait(rt, Desc(parent).on(0).must(rt), kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_TRUE(answered(CONSORT_E_TIMEOUT, first, {"time"}));
  EXPECT_TRUE(answered(CONSORT_OK, second, {}));
}

TEST_F(Wait, ManyThreadsWaitForOneTask) {
  Gate gate;
  const auto t = Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).must(rt);
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] { need(consort_task_wait(rt, t, kLong, i & 1), "wait"), ++woken; });
  EXPECT_TRUE(settled());
  EXPECT_EQ(woken, 0);
  gate.open();
  for (auto &th : threads) th.join();
  EXPECT_EQ(woken, 6);
}

TEST_F(Wait, WaitsForEachTaskInTurn) {
  for (int i = 0; i < 5000; ++i) ASSERT_OK(consort_task_wait(rt, Desc(nop).must(rt), kLong, 0));
}

TEST_F(Wait, WaitsForEachTaskWithoutHelping) {
  for (int i = 0; i < 1000; ++i) ASSERT_OK(consort_task_wait(rt, Desc(nop).must(rt), kLong, CONSORT_WAIT_NO_HELP));
}

TEST_F(Wait, RefusesUnknownGroups) {
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_wait(rt, {uint64_t{3} << 32 | 1}, 0, 0), "group");
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_wait(rt, {~uint64_t{0}}, 0, 0), "group");
}

// -- cancel ----------------------------------------------------------------------------------------------------

TEST_F(Wait, CancelledTaskNeverStarts) {
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_RW, kLong, &hold));
  std::atomic<int> ran{0};
  const auto c = body(rt, "victim", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto t = Desc(c).rw(a).must(rt), u = Desc(c).r(a).must(rt);
  EXPECT_OK(consort_task_cancel(rt, t));
  EXPECT_OK(consort_task_cancel(rt, t)) << "twice is once";
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, t, kLong, 0), "victim", "cancel");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, u, kLong, 0), "victim");
  EXPECT_EQ(ran, 0);
  EXPECT_LT(consort_acquire(rt, a, CONSORT_M_R, kLong, &hold), 0) << "its data are poisoned";
  (void)consort_wait_all(rt, kLong, 0);
}

TEST_F(Wait, CancelOfStartedTaskHasNoEffect) {
  Gate gate;
  const auto t =
      Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).rw(a).on(1).must(rt);
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; }));
  EXPECT_OK(consort_task_cancel(rt, t));
  gate.open();
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_OK(consort_task_cancel(rt, t));
  consort_hold hold;
  EXPECT_OK(consort_acquire(rt, a, CONSORT_M_R, kLong, &hold));
  EXPECT_OK(consort_release(rt, hold));
}

TEST_F(Wait, CancelRacesWithTheEnd) {
  std::atomic<int> ran{0};
  const auto c = body(rt, "quick", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  int cancelled = 0, well = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto t = Desc(c).must(rt);
    EXPECT_OK(consort_task_cancel(rt, t));
    const auto s = consort_task_wait(rt, t, kLong, 0);
    (s == CONSORT_OK ? well : cancelled)++;
    ASSERT_TRUE(s == CONSORT_OK || s == CONSORT_E_CANCELLED) << consort_error();
  }
  EXPECT_EQ(ran, well) << "cancelled ones did not run, the others did";
  EXPECT_EQ(well + cancelled, 3000);
  (void)consort_wait_all(rt, kLong, 0);
}

// With the manual pump, waiting bodies are nested on one stack. The uppermost may wait for a task of a worker further
// down.
TEST(WaitWithManualPump, RunsTasksOfWorkersDeeperOnTheStack) {
  for (const char *scheduler : {"lws", "random", "ws"}) {
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"pump", "manual"}, {"scheduler", scheduler}});
    Bodies body;
    std::string order;
    const auto last = body(rt, "last", [&](const consort_call &c) { return order += std::to_string(c.worker), CONSORT_OK; });
    const auto middle = body(rt, "middle", [&](const consort_call &) {
      const auto t = Desc(last).on(0).must(rt);
      return consort_task_wait(rt, t, kLong, 0);
    });
    const auto first = body(rt, "first", [&](const consort_call &) {
      const auto t = Desc(middle).on(1).must(rt);
      return consort_task_wait(rt, t, kLong, 0);
    });
    Desc(first).on(0).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(order, "0");
  }
}

// A chain that runs in place has no privilege: other ready tasks run soon.
TEST(InPlaceChain, YieldsToOtherReadyTasks) {
  for (const char *policy : {"eager", "prio", "lws", "ws", "random"}) {
    SCOPED_TRACE(policy);
    Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"scheduler", policy}});
    Bodies body;
    Gate gate;
    int x = 0, links = 0, seen = -1;
    const auto a = variable_of(rt, &x);
    Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; }, 1)).rw(a).must(rt);
    ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; }));
    const auto link = body(rt, "link", [&](const consort_call &) { return ++links, CONSORT_OK; }, 1);
    for (int i = 0; i < 500; ++i) Desc(link).rw(a).must(rt);
    Desc(body(rt, "other", [&](const consort_call &) { return seen = links, CONSORT_OK; })).must(rt);
    gate.open();
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(links, 500);
    EXPECT_LE(seen, 100);
  }
}

TEST(InPlaceChain, EndlessChainKeepsTimeLimits) {
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}});
  Bodies body;
  std::atomic<bool> enough{false};
  std::atomic<long> links{0};
  int x = 0;
  const auto a = variable_of(rt, &x);
  consort_codelet_id link{0};
  link = body(rt, "link", [&](const consort_call &) {
    ++links;
    if (!enough) Desc(link).rw(a).must(rt);
    return CONSORT_OK;
  }, 1);
  Desc(link).rw(a).must(rt);
  for (int i = 0; i < 5; ++i) EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(rt, 10'000'000, 0), "time");
  enough = true;
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_GT(links, 5);
}

}  // namespace
