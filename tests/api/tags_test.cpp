// DEP-06..DEP-09, X33..X35: tags, before and after the tasks that carry them exist; cycles; waits; failures. A stop
// with tags that no task reaches; concurrent notifications and declarations.
#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct Tags : ::testing::Test {
  Rt rt;
  Bodies body;
  std::atomic<int> n{0};
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_codelet_id bad = codelet(rt, "bad", [](const consort_call *) { return consort_fail(CONSORT_E_IO, "on purpose"); });
  consort_codelet_id count = body(rt, "count", [this](const consort_call &) { return ++n, CONSORT_OK; });
  consort_status after(uint64_t tag, std::vector<uint64_t> others) {
    return consort_tag_after(rt, tag, others.data(), static_cast<uint32_t>(others.size()));
  }
  consort_status wait(std::vector<uint64_t> tags, int64_t timeout = kLong) {
    return consort_tag_wait(rt, tags.data(), static_cast<uint32_t>(tags.size()), timeout, 0);
  }
};

TEST_F(Tags, MayBeDeclaredBeforeTheirTasks) {
  std::mutex mutex;
  std::string order;
  const auto told = [&](char c) {
    return body(rt, "told", [&, c](const consort_call &) {
      std::lock_guard lock(mutex);
      order += c;
      return CONSORT_OK;
    });
  };
  EXPECT_OK(after(3, {1, 2}));
  EXPECT_OK(after(2, {1}));
  EXPECT_OK(after(3, {2}));  // cumulative; twice is once
  Tagged(told('c'), 3).must(rt);
  Tagged(told('b'), 2).must(rt);
  EXPECT_EQ(consort_tag_state(rt, 3), CONSORT_AGAIN);
  EXPECT_EQ(order, "");
  Tagged(told('a'), 1).must(rt);
  EXPECT_OK(wait({3, 1, 2}));
  EXPECT_EQ(order, "abc");
  EXPECT_OK(wait({3}));  // again, though its task is gone
  EXPECT_EQ(consort_tag_state(rt, 3), CONSORT_OK);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Tags, TaskWaitImpliesTagReached) {
  for (uint64_t i = 0; i < 200; ++i) {
    const auto t = Tagged(nop, i).must(rt);
    EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
    EXPECT_EQ(consort_tag_state(rt, i), CONSORT_OK);
    EXPECT_OK(consort_tag_restart(rt, i));
    EXPECT_OK(consort_tag_remove(rt, i));
  }
}

// What is declared after a restart waits for the next time. A wait that began before it has seen the tag reached.
TEST_F(Tags, WaitEndsThoughTheTagIsRestartedAtOnce) {
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    const uint64_t tags[] = {1, 2};
    std::atomic<bool> waits{false}, over{false};
    Answer answer(CONSORT_OK);
    std::thread waiter([&] {
      waits = true;
      answer = consort_tag_wait(rt, tags, 2, CONSORT_FOREVER, CONSORT_WAIT_NO_HELP);
      over = true;
    });
    ASSERT_TRUE(eventually([&] { return waits && others_sleep(); }));
    for (const uint64_t tag : tags) {
      EXPECT_OK(consort_tag_notify(rt, tag));
      EXPECT_OK(consort_tag_restart(rt, tag));
    }
    EXPECT_TRUE(eventually([&] { return over.load(); }));
    for (const uint64_t tag : tags) EXPECT_OK(consort_tag_notify(rt, tag));  // so that a wait that was missed ends
    waiter.join();
    EXPECT_TRUE(answered(CONSORT_OK, answer, {}));
    for (const uint64_t tag : tags) EXPECT_OK(consort_tag_restart(rt, tag));
  }
}

TEST_F(Tags, WaitReturnsTheFailureOfATagThatIsRestartedAtOnce) {
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    std::atomic<bool> waits{false};
    Answer answer(CONSORT_OK);
    std::thread waiter([&] {
      const uint64_t tags[] = {1, 2};
      waits = true;
      answer = consort_tag_wait(rt, tags, 2, 2'000'000'000, CONSORT_WAIT_NO_HELP);
    });
    ASSERT_TRUE(eventually([&] { return waits && others_sleep(); }));
    const auto t = Tagged(bad, 1).must(rt);
    ASSERT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t, kLong, CONSORT_WAIT_KEEP_FAILURE));
    ASSERT_OK(consort_tag_restart(rt, 1));
    ASSERT_OK(consort_tag_notify(rt, 2));
    waiter.join();
    EXPECT_TRUE(answered(CONSORT_E_IO, answer, {"on purpose"}));
    ASSERT_OK(consort_tag_restart(rt, 2));
    (void)consort_wait_all(rt, kLong, 0);
  }
}

TEST_F(Tags, NotifyStartsAGraph) {  // one word holds back a whole graph
  EXPECT_OK(after(10, {9}));
  long v = 0;
  const auto x = variable_of(rt, &v);
  Tagged first(count, 10);
  first.rw(x);
  first.must(rt);
  for (int i = 0; i < 20; ++i) Desc(count).rw(x).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(rt, 20'000'000, 0), "time");
  EXPECT_EQ(n, 0);
  EXPECT_OK(consort_tag_notify(rt, 9));
  EXPECT_OK(consort_tag_notify(rt, 9));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 21);
  EXPECT_OK(consort_unregister(rt, x));
}

// The thread that will reach the tag must not wait at its window for tasks behind the tag, while another thread waits,
// too.
TEST_F(Tags, WindowOpensForTheSubmitterThatReachesTheTag) {
  for (const char *workers : {"1", "2", "4"}) {
    Rt small({{"workers", workers}, {"cpu.topology", kFourCores}, {"window", "16"}});
    const auto nop_here = codelet(small, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
    const uint64_t one = 1;
    ASSERT_OK(consort_tag_after(small, 2, &one, 1));
    long v = 0;
    const auto x = variable_of(small, &v);
    Tagged(nop_here, 2).rw(x).must(small);
    std::thread other([&] { EXPECT_OK(consort_wait_all(small, kLong, 0)); });
    for (int i = 0; i < 100; ++i) Desc(nop_here).rw(x).must(small);
    EXPECT_OK(consort_tag_notify(small, 1));
    other.join();
    EXPECT_OK(consort_wait_all(small, kLong, 0));
    EXPECT_OK(consort_unregister(small, x));
  }
}

TEST_F(Tags, NotifyBeforeDeclaration) {
  EXPECT_OK(consort_tag_notify(rt, 1));
  EXPECT_OK(after(2, {1}));
  const auto t = Tagged(count, 2).must(rt);
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_EQ(n, 1);
}

TEST_F(Tags, RestartAllowsReuse) {
  EXPECT_OK(after(2, {1}));
  for (int round = 0; round < 50; ++round) {
    Tagged(count, 2).must(rt);
    EXPECT_EQ(n, round);
    EXPECT_SAYS(CONSORT_E_BUSY, consort_tag_restart(rt, 2), "tag 2", "unfinished");
    Tagged(nop, 1).must(rt);
    EXPECT_OK(wait({2}));
    EXPECT_EQ(n, round + 1);
    EXPECT_OK(consort_tag_restart(rt, 1));
    EXPECT_OK(consort_tag_restart(rt, 2));
    EXPECT_EQ(consort_tag_state(rt, 2), CONSORT_AGAIN);
  }
  EXPECT_OK(consort_tag_restart(rt, 77));  // never heard of: nothing to do
}

TEST_F(Tags, RefusalNamesEachLinkOfACycle) {
  EXPECT_SAYS(CONSORT_E_INVAL, after(3, {3}), "tag 3 comes after 3");
  EXPECT_OK(after(5, {3}));
  EXPECT_SAYS(CONSORT_E_INVAL, after(3, {5}), "circle", "tag 3 comes after 5 comes after 3");
  EXPECT_OK(after(7, {5}));
  EXPECT_OK(after(9, {7, 8}));
  EXPECT_SAYS(CONSORT_E_INVAL, after(3, {8, 9}), "tag 3 comes after 9 comes after 7 comes after 5 comes after 3");
  EXPECT_OK(after(3, {8}));  // the refused call has left nothing behind
  for (uint64_t i = 100; i < 300; ++i) EXPECT_OK(after(i + 1, {i}));
  EXPECT_SAYS(CONSORT_E_INVAL, after(100, {300}), "tag 100 comes after 300 comes after 299", "through 201 tags");
}

TEST_F(Tags, LongChains) {
  constexpr uint64_t kLongOne = 20000;
  for (uint64_t i = 1; i < kLongOne; ++i) ASSERT_OK(after(i, {i - 1}));
  for (uint64_t i = kLongOne; i-- > 1;) Tagged(count, i).must(rt);
  EXPECT_EQ(n, 0);
  EXPECT_OK(consort_tag_notify(rt, 0));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, kLongOne - 1);
}

TEST_F(Tags, EmptyTasksCarryTags) {  // a chain of those ends on one stack
  constexpr uint64_t kMany = 20000;
  for (uint64_t i = 1; i < kMany; ++i) ASSERT_OK(after(i, {i - 1}));
  for (uint64_t i = 1; i < kMany; ++i) Tagged({0}, i).must(rt);
  EXPECT_OK(consort_tag_notify(rt, 0));
  EXPECT_OK(wait({kMany - 1}));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Tags, WaitsForManyTags) {
  std::vector<uint64_t> many(500);
  for (uint64_t i = 0; i < many.size(); ++i) many[i] = 1000 + i;
  EXPECT_OK(after(1, many));
  Tagged(count, 1).must(rt);
  for (const uint64_t tag : many) {
    EXPECT_EQ(n, 0);
    Tagged(nop, tag).must(rt);
  }
  EXPECT_OK(wait({1}));
  EXPECT_EQ(n, 1);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Tags, CombineWithPredecessorsAndData) {
  EXPECT_OK(after(2, {1}));
  long v = 0;
  const auto x = variable_of(rt, &v);
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  Tagged t(count, 2);
  t.then(Desc(held).must(rt)).rw(x);
  const auto id = t.must(rt);
  EXPECT_OK(consort_tag_notify(rt, 1));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, id, 5'000'000, CONSORT_WAIT_NO_HELP));
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(n, 1);
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(Tags, RefusesWrongUse) {
  EXPECT_OK(after(2, {1}));
  Tagged(nop, 2).must(rt);
  EXPECT_SAYS(CONSORT_E_BUSY, after(2, {4}), "tag 2", "submitted already");           // X34
  EXPECT_SAYS(CONSORT_E_BUSY, Tagged(nop, 2).to(rt), "tag 2", "another task");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_tag_remove(rt, 2), "tag 2", "unfinished");      // X35
  EXPECT_SAYS(CONSORT_E_BUSY, consort_tag_remove(rt, 1), "tag 1", "wait");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_tag_after(rt, 1, nullptr, 1), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_tag_wait(rt, nullptr, 1, 0, 0), "NULL");
  EXPECT_OK(consort_tag_wait(rt, nullptr, 0, 0, 0));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, wait({1}, 0), "tag 1");
  EXPECT_SAYS(CONSORT_E_TIMEOUT, wait({1}, 2'000'000), "tag 1");
  EXPECT_OK(consort_tag_notify(rt, 1));
  EXPECT_OK(wait({2}));
  EXPECT_SAYS(CONSORT_E_BUSY, after(2, {4}), "tag 2");
  EXPECT_OK(consort_tag_restart(rt, 2));
  EXPECT_OK(after(2, {4}));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_tag_remove(rt, 4), "tag 2", "tag 4");
  EXPECT_OK(consort_tag_remove(rt, 2));
  EXPECT_OK(consort_tag_remove(rt, 4));
  EXPECT_OK(consort_tag_remove(rt, 4));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_tag_state(nullptr, 1), "NULL");
}

TEST_F(Tags, RefusedTaskDoesNotCarryItsTag) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  EXPECT_OK(consort_unregister(rt, x));
  Tagged t(nop, 6);
  t.rw(x);
  EXPECT_SAYS(CONSORT_E_STALE, t.to(rt), "datum 0");
  EXPECT_OK(after(6, {5}));
  EXPECT_OK(consort_tag_notify(rt, 5));
  Tagged(nop, 6).must(rt);
  EXPECT_OK(wait({6}));
}

TEST_F(Tags, WaitsInBodiesAndCallbacksAreRefused) {  // X33
  const uint64_t tag = 1;
  std::atomic<consort_status> inside{0}, callback{0};
  const auto c = body(rt, "waits", [&](const consort_call &) { return inside = consort_tag_wait(rt, &tag, 1, kLong, 0), CONSORT_OK; });
  struct Arg { consort_runtime *rt; std::atomic<consort_status> *s; } arg{rt, &callback};
  const auto id = Desc(c).done([](void *p, const consort_outcome *) {
    const Arg &a = *static_cast<Arg *>(p);
    const uint64_t t = 1;
    *a.s = consort_tag_wait(a.rt, &t, 1, kLong, 0);
  }, &arg).must(rt);
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(inside, CONSORT_E_BUSY);
  EXPECT_EQ(callback, CONSORT_E_BUSY);
}

TEST_F(Tags, NotifyInBodiesAndCallbacks) {
  EXPECT_OK(after(2, {1}));
  EXPECT_OK(after(4, {2, 3}));
  Tagged(count, 4).must(rt);
  const auto from_body = body(rt, "notifies", [&](const consort_call &) { return consort_tag_notify(rt, 3); });
  Tagged t(from_body, 2);
  consort_runtime *const raw = rt;
  Desc first(nop);
  first.done([](void *p, const consort_outcome *) { need(consort_tag_notify(static_cast<consort_runtime *>(p), 1), "notify"); }, raw);
  t.must(rt);
  first.must(rt);
  EXPECT_OK(wait({4}));
  EXPECT_EQ(n, 1);
}

TEST_F(Tags, FailurePoisonsSuccessorsOfTheTag) {
  EXPECT_OK(after(2, {1}));
  EXPECT_OK(after(3, {2}));
  const auto before = Tagged(count, 2).must(rt);  // waits already when the failure comes
  Tagged(bad, 1).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, wait({1}), "on purpose");
  EXPECT_SAYS(CONSORT_E_POISONED, wait({2}), "comes after", "'bad'", "on purpose");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, before, kLong, 0), "on purpose");
  EXPECT_EQ(consort_tag_state(rt, 1), CONSORT_OK);  // reached all the same
  const auto later = Tagged(count, 3).must(rt);  // submitted when all others have ended
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, later, kLong, 0), "on purpose");
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_EQ(n, 0);
  for (const uint64_t tag : {1, 2, 3}) EXPECT_OK(consort_tag_restart(rt, tag));  // forgotten with it
  EXPECT_OK(consort_tag_notify(rt, 1));
  EXPECT_OK(consort_tag_notify(rt, 2));
  Tagged(count, 3).must(rt);
  EXPECT_OK(wait({3}));
  EXPECT_EQ(n, 1);
}

TEST_F(Tags, OtherGroupsDoNotWaitForTheTag) {
  EXPECT_OK(after(2, {1}));
  consort_group_id g{0};
  EXPECT_OK(consort_group_create(rt, nullptr, &g));
  Tagged t(count, 2);
  t.in(g);
  t.must(rt);
  Desc(nop).must(rt);
  EXPECT_OK(consort_group_wait(rt, {0}, kLong, 0));  // the default group has nothing to do with it
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_group_wait(rt, g, 0, 0));
  EXPECT_OK(consort_tag_notify(rt, 1));
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
  EXPECT_OK(consort_group_destroy(rt, g));
}

TEST_F(Tags, ExplainNamesTheTag) {
  EXPECT_OK(after(2, {41}));
  const auto t = Tagged(count, 2).must(rt);
  char text[512];
  consort_explain(rt, t, text, sizeof text);
  EXPECT_NE(std::string(text).find("tag 41"), std::string::npos) << text;
  EXPECT_OK(consort_tag_notify(rt, 41));
  EXPECT_OK(wait({2}));
}

TEST(TagsStop, CancelsAndNamesUnreachableTags) {
  Rt rt;
  Bodies body;
  std::atomic<int> n{0};
  const auto count = body(rt, "late", [&](const consort_call &) { return ++n, CONSORT_OK; });
  const uint64_t never = 42;
  EXPECT_OK(consort_tag_after(rt, 43, &never, 1));
  Tagged(count, 43).must(rt);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_SAYS(CONSORT_E_CANCELLED, rt.stop(), "'late'", "tag 42 was never reached", "consort_stop");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s * kSlow);
  EXPECT_EQ(n, 0);
}

TEST(TagsStop, WaitsForTagsOfRunningTasks) {
  Rt rt;
  Bodies body;
  std::atomic<int> n{0};
  const auto count = body(rt, "late", [&](const consort_call &) { return ++n, CONSORT_OK; });
  consort_runtime *const raw = rt;
  const auto slow = body(rt, "slow", [raw](const consort_call &) {
    std::this_thread::sleep_for(400ms);  // nap: longer than the stop looks before it gives tags up
    return consort_tag_notify(raw, 42);
  });
  const uint64_t tag = 42;
  EXPECT_OK(consort_tag_after(rt, 43, &tag, 1));
  Tagged(count, 43).must(rt);
  Desc(slow).must(rt);
  EXPECT_OK(rt.stop());
  EXPECT_EQ(n, 1);
}

TEST(TagsStop, WorksWithTheManualPump) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", "manual"}});
  const auto nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  const uint64_t never = 1;
  EXPECT_OK(consort_tag_after(rt, 2, &never, 1));
  Tagged(nop, 2).must(rt);
  EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
  EXPECT_SAYS(CONSORT_E_CANCELLED, rt.stop(), "tag 1 was never reached");
}

// Two threads declare, submit, notify, restart and remove tags of their own and one in common.
TEST_F(Tags, ConcurrentDeclareNotifyAndRestart) {
  constexpr uint64_t kEach = 300;
  std::atomic<uint64_t> waits{0};
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= 3; ++id)
    threads.emplace_back([&, id] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t a = id << 32 | (2 * i), b = a + 1, common = 5;
        const uint64_t others[] = {a, common};
        need(consort_tag_after(rt, b, others, 2), "after");
        need(Tagged(count, b).to(rt), "submit");
        if (i & 1) need(consort_tag_notify(rt, a), "notify");
        else need(Tagged(nop, a).to(rt), "submit");
        need(consort_tag_notify(rt, common), "notify");
        if (i % 3 == 0) {
          need(consort_tag_wait(rt, &b, 1, kLong, 0), "wait");
          need(consort_tag_remove(rt, b), "remove");
          ++waits;
        }
        (void)consort_tag_state(rt, a);
        (void)consort_tag_restart(rt, common);
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_tag_notify(rt, 5));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, static_cast<int>(3 * kEach));
}

}  // namespace
