// TSK-23: tasks that come again; BUN-01..05: bundles.
#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct RepeatedTasks : ::testing::Test {
  Rt rt;
  Bodies body;
  std::atomic<int> n{0};
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
};

TEST_F(RepeatedTasks, RepeatUntilTheBodyStops) {
  struct Counts { std::atomic<int> ready{0}, begun{0}, dropped{0}, done{0}; } seen;
  const auto c = body(rt, "again", [&](const consort_call &call) -> consort_status {
    EXPECT_EQ(value<int>(call, 0), 7);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(static_cast<uintptr_t>(call.args[1].scalar))), "a longer argument than a word");
    *pointer<long>(call, 0) += 1;
    return ++n == 100 ? consort_task_stop_repeating(rt, consort_current_task(rt)) : CONSORT_OK;
  });
  long v = 0;
  const auto x = variable_of(rt, &v);
  {
    char text[] = "a longer argument than a word";  // copied with the submission: turns come later
    Desc t(c);
    t.rw(x).arg(7);
    t.args.push_back({CONSORT_ARG_BYTES, sizeof text, {0, 0}, 0, reinterpret_cast<uint64_t>(text)});
    t.done([](void *p, const consort_outcome *) { ++static_cast<Counts *>(p)->done; }, &seen);
    consort_task_more more = CONSORT_TASK_MORE_INIT;
    const auto drop = [](void *p) { ++static_cast<Counts *>(p)->dropped; };
    more.ready = {[](void *p, consort_task_id) { ++static_cast<Counts *>(p)->ready; }, &seen, drop};
    more.begin = {[](void *p, consort_task_id) { ++static_cast<Counts *>(p)->begun; }, &seen, drop};
    more.done_drop = drop;
    t.d.more = &more;
    t.d.flags = CONSORT_TASK_REPEAT;
    std::string name = "named";
    t.name(name.c_str());
    t.must(rt);
    text[0] = name[0] = 'X';
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 100);
  EXPECT_EQ(v, 100);
  EXPECT_EQ(seen.ready, 100);
  EXPECT_EQ(seen.begun, 100);
  EXPECT_EQ(seen.done, 100);
  EXPECT_EQ(seen.dropped, 3);
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(RepeatedTasks, RepeatsAreOrderedWithLaterTasks) {
  Gate gate;
  std::string order;
  const auto turn = body(rt, "turn", [&](const consort_call &) {
    if (order.empty()) gate.pass();
    order += 't';
    return order.size() >= 4 ? consort_task_stop_repeating(rt, consort_current_task(rt)) : static_cast<consort_status>(CONSORT_OK);
  });
  const auto other = body(rt, "other", [&](const consort_call &) { return order += 'o', CONSORT_OK; });
  long v = 0;
  const auto x = variable_of(rt, &v);
  Desc t(turn);
  t.rw(x);
  t.d.flags = CONSORT_TASK_REPEAT;
  t.must(rt);
  Desc(other).rw(x).must(rt);
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(order, "tott");
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(RepeatedTasks, FirstIdStopsTheTask) {
  const auto c = body(rt, "again", [&](const consort_call &) { return ++n, CONSORT_OK; });
  for (int i = 0; i < 20; ++i) {
    n = 0;
    Desc t(c);
    t.d.flags = CONSORT_TASK_REPEAT;
    t.d.size = CONSORT_TASK_BRIEF;
    const auto id = t.must(rt);
    EXPECT_TRUE(eventually([&] { return n > 5; }));
    EXPECT_OK(consort_task_stop_repeating(rt, id));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_OK(consort_task_stop_repeating(rt, id));  // over: nothing repeats
  }
}

TEST_F(RepeatedTasks, FirstIdReleasesCompletionHolds) {
  const auto c = body(rt, "again", [&](const consort_call &) {
    return ++n == 5 ? consort_task_stop_repeating(rt, consort_current_task(rt)) : static_cast<consort_status>(CONSORT_OK);
  });
  Desc t(c);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.end_holds = 1;
  t.d.more = &more;
  t.d.flags = CONSORT_TASK_REPEAT;
  const auto first = t.must(rt);
  for (int turn = 1; turn <= 5; ++turn) {
    ASSERT_TRUE(eventually([&] { return n == turn; }));
    EXPECT_TRUE(settled());
    EXPECT_EQ(n, turn) << "its end is held: there is no next turn yet";
    if (turn == 3) {
      EXPECT_OK(consort_task_end_hold(rt, first));
      EXPECT_OK(consort_task_end_release(rt, first));
      EXPECT_TRUE(settled());
      EXPECT_EQ(n, 3);
    }
    EXPECT_OK(consort_task_end_release(rt, first));
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 5);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_release(rt, first), "nothing holds");
  EXPECT_SAYS(CONSORT_E_STALE, consort_task_end_hold(rt, first), "ended");
}

TEST_F(RepeatedTasks, FirstIdHoldsCompletionInTheBody) {
  std::atomic<uint64_t> first{0};
  const auto c = body(rt, "again", [&](const consort_call &) -> consort_status {
    while (!first) std::this_thread::yield();
    if (const consort_status s = consort_task_end_hold(rt, {first}); s < 0) return s;
    return ++n == 3 ? consort_task_stop_repeating(rt, {first}) : CONSORT_OK;
  });
  Desc t(c);
  t.d.flags = CONSORT_TASK_REPEAT;
  first = t.must(rt).v;
  for (int turn = 1; turn <= 3; ++turn) {
    ASSERT_TRUE(eventually([&] { return n == turn; }));
    EXPECT_OK(consort_task_end_release(rt, {first}));
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 3);
}

TEST_F(RepeatedTasks, FailureEndsRepetition) {
  std::atomic<int> dropped{0};
  const auto c = body(rt, "again", [&](const consort_call &) { return ++n == 5 ? consort_fail(CONSORT_E_IO, "on purpose") : static_cast<consort_status>(CONSORT_OK); });
  Desc t(c);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready = {nullptr, &dropped, [](void *p) { ++*static_cast<std::atomic<int> *>(p); }};
  t.d.more = &more;
  t.d.flags = CONSORT_TASK_REPEAT;
  t.must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "on purpose");
  EXPECT_EQ(n, 5);
  EXPECT_EQ(dropped, 1);
}

// Arguments of hooks are dropped while the name of the last turn is still valid.
TEST_F(RepeatedTasks, StopFromAHookOfTheLastTurnIsAccepted) {
  struct Drop {
    consort_runtime *rt;
    std::atomic<int> status{1};
  } drop{rt};
  const auto c = body(rt, "again", [&](const consort_call &) {
    return ++n == 3 ? consort_task_stop_repeating(rt, consort_current_task(rt)) : static_cast<consort_status>(CONSORT_OK);
  });
  Desc t(c);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready = {nullptr, &drop, [](void *p) {
                  auto *d = static_cast<Drop *>(p);
                  d->status = consort_task_stop_repeating(d->rt, consort_current_task(d->rt));
                }};
  t.d.more = &more;
  t.d.flags = CONSORT_TASK_REPEAT;
  t.must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 3);
  EXPECT_EQ(drop.status, CONSORT_OK);
}

TEST_F(RepeatedTasks, UnregisteredDatumEndsRepetition) {
  const auto c = body(rt, "again", [&](const consort_call &) { return ++n, CONSORT_OK; });
  long v = 0;
  const auto x = variable_of(rt, &v);
  Desc t(c);
  t.rw(x);
  t.d.flags = CONSORT_TASK_REPEAT;
  t.must(rt);
  EXPECT_TRUE(eventually([&] { return n > 5; }));
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_SAYS(CONSORT_E_STALE, consort_wait_all(rt, kLong, 0), "next turn", "datum 0");
}

TEST_F(RepeatedTasks, RefusesBadArguments) {
  Desc empty;
  empty.d.flags = CONSORT_TASK_REPEAT;
  EXPECT_SAYS(CONSORT_E_INVAL, empty.to(rt), "empty task");
  Gate gate;
  const auto id = Desc(body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_stop_repeating(rt, id), "does not repeat");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_stop_repeating(rt, {3}), "no task");
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
}

TEST_F(RepeatedTasks, StopEndsRepetition) {
  const auto c = body(rt, "again", [&](const consort_call &) { return ++n, CONSORT_OK; });
  for (int i = 0; i < 3; ++i) {
    Desc t(c);
    t.d.flags = CONSORT_TASK_REPEAT;
    t.must(rt);
  }
  EXPECT_TRUE(eventually([&] { return n > 20; }));
  EXPECT_OK(rt.stop());
}

TEST_F(RepeatedTasks, EachRepeatReachesTheTag) {
  const auto c = body(rt, "again", [&](const consort_call &) {
    return ++n == 3 ? consort_task_stop_repeating(rt, consort_current_task(rt)) : static_cast<consort_status>(CONSORT_OK);
  });
  Desc t(c);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.flags = CONSORT_MORE_TAG;
  more.tag = 9;
  t.d.more = &more;
  t.d.flags = CONSORT_TASK_REPEAT;
  t.must(rt);
  EXPECT_OK(consort_tag_wait(rt, &more.tag, 1, kLong, 0));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 3);
  EXPECT_OK(consort_tag_restart(rt, 9));
  EXPECT_OK(consort_tag_remove(rt, 9));
}

// -- bundles --------------------------------------------------------------------------------------------------------

struct Bundled : Desc {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  Bundled(consort_codelet_id c, consort_bundle_id b) : Desc(c) {
    more.bundle = b;
    d.more = &more;
  }
};

TEST_F(RepeatedTasks, BundlesLiveWhileOpenOrInUse) {
  consort_bundle_id b{0}, next{0};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_bundle_create(rt, nullptr), "NULL");
  EXPECT_OK(consort_bundle_create(rt, &b));
  for (int i = 0; i < 50; ++i) Bundled(nop, b).must(rt);
  EXPECT_OK(consort_bundle_close(rt, b));
  EXPECT_SAYS(CONSORT_E_STALE, Bundled(nop, b).to(rt), "closed");
  EXPECT_SAYS(CONSORT_E_STALE, consort_bundle_close(rt, b), "closed");
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_bundle_create(rt, &next));
  EXPECT_NE(b.v, next.v);
  EXPECT_SAYS(CONSORT_E_STALE, Bundled(nop, b).to(rt), "closed");
  EXPECT_SAYS(CONSORT_E_STALE, Bundled(nop, {77}).to(rt), "closed");
  EXPECT_OK(consort_bundle_close(rt, next));
}

// The first task of the bundle runs on worker 1. Later tasks of the bundle become ready on worker 0 and are offered to
// worker 1 first.
TEST(Bundles, OffersTasksToTheWorkerOfTheFirst) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", "manual"}, {"scheduler", "lws"}});
  Bodies body;
  std::vector<uint32_t> ran;
  const auto c = body(rt, "member", [&](const consort_call &call) { return ran.push_back(call.worker), CONSORT_OK; });
  const auto nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_bundle_id b{0};
  EXPECT_OK(consort_bundle_create(rt, &b));
  Bundled first(c, b);
  first.on(1);
  first.must(rt);
  while (consort_step(rt, 1) == CONSORT_OK) {
  }
  EXPECT_EQ(ran.size(), 1u);
  const auto trigger = Desc(nop).on(0).must(rt);
  for (int i = 0; i < 4; ++i) Bundled(c, b).then(trigger).to(rt);
  EXPECT_EQ(consort_step(rt, 0), CONSORT_OK);  // they become ready here
  EXPECT_EQ(consort_step(rt, 1), CONSORT_OK);  // and are there first
  ASSERT_EQ(ran.size(), 2u);
  EXPECT_EQ(ran[1], 1u);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));  // a hint: the others may have gone anywhere
  EXPECT_EQ(ran.size(), 5u);
  EXPECT_OK(consort_bundle_close(rt, b));
}

TEST_F(RepeatedTasks, ConcurrentBundles) {
  std::vector<std::thread> threads;
  const auto c = body(rt, "count", [&](const consort_call &) { return ++n, CONSORT_OK; });
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        consort_bundle_id b{0};
        need(consort_bundle_create(rt, &b), "bundle");
        for (int m = 0; m < 6; ++m) need(Bundled(c, b).to(rt), "submit");
        need(consort_bundle_close(rt, b), "close");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 900);
}

}  // namespace
