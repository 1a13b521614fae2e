// TSK-16 and the ends of tasks that are held: end_holds, end_after, holds from bodies and hooks, releases from anywhere.
#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct HeldEnd : Desc {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  std::vector<consort_task_id> others;
  HeldEnd(consort_codelet_id c, uint32_t holds) : Desc(c) {
    more.end_holds = holds;
    d.more = &more;
  }
  HeldEnd &end_after(consort_task_id t) {
    others.push_back(t);
    more.end_after = others.data();
    more.nend_after = static_cast<uint32_t>(others.size());
    return *this;
  }
};

struct CompletionHold : ::testing::Test {
  Rt rt;
  Bodies body;
  std::atomic<int> n{0};
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_codelet_id bad = codelet(rt, "bad", [](const consort_call *) { return consort_fail(CONSORT_E_IO, "on purpose"); });
  consort_codelet_id count = body(rt, "count", [this](const consort_call &) { return ++n, CONSORT_OK; });
  bool ended(consort_task_id t) { return consort_task_state(rt, t) == CONSORT_OK; }
};

TEST_F(CompletionHold, SuccessorsAndWaitsFollowTheLastRelease) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  HeldEnd t(count, 2);
  t.rw(x);
  const auto id = t.must(rt);
  const auto next = Desc(count).rw(x).must(rt), other = Desc(count).then(id).must(rt);
  EXPECT_TRUE(eventually([&] { return n == 1; }));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, id, 10'000'000, 0));
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_group_wait(rt, {0}, 10'000'000, 0));
  EXPECT_EQ(n, 1);
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, next, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, other, kLong, 0));
  EXPECT_EQ(n, 3);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_release(rt, id), "holds");
  EXPECT_SAYS(CONSORT_E_STALE, consort_task_end_hold(rt, id), "ended");
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(CompletionHold, ReleaseBeforeBodyEnds) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto id = HeldEnd(held, 1).must(rt);
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_FALSE(ended(id));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_release(rt, id), "holds");
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
}

TEST_F(CompletionHold, HoldTakenInTheBody) {
  std::atomic<uint64_t> name{0};
  const auto holds = body(rt, "holds", [&](const consort_call &) -> consort_status {
    const consort_task_id me = consort_current_task(rt);
    for (int i = 0; i < 2; ++i)
      if (const consort_status s = consort_task_end_hold(rt, me); s < 0) return s;
    name = me.v;
    return CONSORT_OK;
  });
  for (int i = 0; i < 20; ++i) {
    name = 0;
    const auto id = Desc(holds).must(rt);
    EXPECT_TRUE(eventually([&] { return name != 0; }));
    EXPECT_FALSE(ended(id));
    EXPECT_OK(consort_task_end_hold(rt, id));  // the caller knows that the task is held
    for (int k = 0; k < 3; ++k) {
      EXPECT_FALSE(ended(id));
      EXPECT_OK(consort_task_end_release(rt, id));
    }
    EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  }
}

TEST_F(CompletionHold, HoldTakenInAHook) {
  struct Arg { consort_runtime *rt; consort_status status; } arg{rt, 1};
  HeldEnd t(nop, 0);
  t.more.begin = {[](void *p, consort_task_id id) { static_cast<Arg *>(p)->status = consort_task_end_hold(static_cast<Arg *>(p)->rt, id); }, &arg, nullptr};
  const auto id = t.must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, id, 20'000'000, 0));
  EXPECT_EQ(arg.status, CONSORT_OK);
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
}

TEST_F(CompletionHold, HoldInTheCallbackIsRefused) {
  struct Arg { consort_runtime *rt; std::atomic<consort_status> status; } arg{rt, {1}};
  const auto late = [](void *p, const consort_outcome *o) { static_cast<Arg *>(p)->status = consort_task_end_hold(static_cast<Arg *>(p)->rt, o->task); };
  EXPECT_OK(consort_task_wait(rt, Desc(nop).done(late, &arg).must(rt), kLong, 0));
  EXPECT_EQ(arg.status, CONSORT_E_INVAL);
  arg.status = 1;
  HeldEnd t(nop, 1);
  t.done(late, &arg);
  const auto id = t.must(rt);
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(arg.status, CONSORT_E_INVAL);
}

TEST_F(CompletionHold, RefusesBadArguments) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto id = Desc(held).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_hold(rt, id), "is not held");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_release(rt, id), "nothing holds");
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_hold(rt, {0}), "no task");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_end_release(rt, {77}), "no task");
  HeldEnd t(nop, 0);
  t.more.nend_after = 2;
  EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), "nend_after");
  HeldEnd u(nop, 0);
  u.end_after({0});
  EXPECT_SAYS(CONSORT_E_INVAL, u.to(rt), "end_after[0]");
}

TEST_F(CompletionHold, FailureIsReportedAtTheLastRelease) {
  long v = 0;
  const auto x = variable_of(rt, &v, "x");
  struct Seen { std::atomic<consort_status> status{1}; std::string text; } seen;
  HeldEnd t(bad, 1);
  t.rw(x).done([](void *p, const consort_outcome *o) {
    static_cast<Seen *>(p)->text = o->text;
    static_cast<Seen *>(p)->status = o->status;
  }, &seen);
  const auto id = t.must(rt);
  const auto next = Desc(count).r(x).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, id, 20'000'000, 0));
  EXPECT_EQ(seen.status, 1);
  (void)consort_codelet_add(nullptr, nullptr, nullptr);  // another error in between, on this thread
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_EQ(seen.status, CONSORT_E_IO);
  EXPECT_NE(seen.text.find("on purpose"), std::string::npos) << seen.text;
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, id, kLong, 0), "on purpose");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, next, kLong, 0), "on purpose");
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, x), "on purpose");
}

TEST_F(CompletionHold, EndAfterWaitsForTheNamedTasks) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto slow = Desc(held).must(rt);
  EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; }));  // not here, where a wait helps
  const auto quick = Desc(nop).must(rt);
  EXPECT_OK(consort_task_wait(rt, quick, kLong, 0));
  HeldEnd t(count, 0);
  t.end_after(slow).end_after(quick);
  const auto id = t.must(rt);
  const auto next = Desc(count).then(id).must(rt);
  EXPECT_TRUE(eventually([&] { return n == 1; }));
  EXPECT_FALSE(ended(id));
  gate.open();
  EXPECT_OK(consort_task_wait(rt, next, kLong, 0));
  EXPECT_TRUE(ended(id));
  HeldEnd over(count, 1);  // all over already, and a hold of one's own
  over.end_after(slow).end_after(quick);
  const auto last = over.must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, last, 5'000'000, 0));
  EXPECT_OK(consort_task_end_release(rt, last));
  EXPECT_OK(consort_task_wait(rt, last, kLong, 0));
}

TEST_F(CompletionHold, FailureOfAwaitedTasksDoesNotPropagate) {
  const auto fails = Desc(bad).must(rt);
  HeldEnd t(count, 0);
  t.end_after(fails);
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
  EXPECT_EQ(consort_wait_all(rt, kLong, 0), CONSORT_E_IO);
}

TEST_F(CompletionHold, EndAfterManyTasksAndLongChains) {
  std::vector<consort_task_id> many;
  EXPECT_OK(consort_tag_restart(rt, 1));
  const uint64_t gate = 1;
  EXPECT_OK(consort_tag_after(rt, 2, &gate, 1));
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.flags = CONSORT_MORE_TAG;
  more.tag = 2;
  Desc first({0});
  first.d.more = &more;
  many.push_back(first.must(rt));
  for (int i = 0; i < 200; ++i) many.push_back(Desc().then(many[0]).must(rt));
  HeldEnd wide(count, 0);
  for (const auto t : many) wide.end_after(t);
  const auto wide_one = wide.must(rt);
  consort_task_id last = many[0];
  for (int i = 0; i < 20000; ++i) {  // each ends after the one before: no stack grows with them
    HeldEnd t({0}, 0);
    t.end_after(last);
    last = t.must(rt);
  }
  EXPECT_FALSE(ended(wide_one));
  EXPECT_FALSE(ended(last));
  EXPECT_OK(consort_tag_notify(rt, gate));
  EXPECT_OK(consort_task_wait(rt, last, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, wide_one, kLong, 0));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(CompletionHold, ChainedReleasesInCallbacksNeedNoStack) {  // nor here
  constexpr int kMany = 20000;
  struct Chain { consort_runtime *rt; std::vector<consort_task_id> ids; } chain{rt, {}};
  struct Link { Chain *chain; size_t next; };
  std::vector<Link> links(kMany);
  for (int i = 0; i < kMany; ++i) {
    links[static_cast<size_t>(i)] = {&chain, static_cast<size_t>(i) + 1};
    HeldEnd t({0}, 1);
    t.done([](void *p, const consort_outcome *) {
      const Link &l = *static_cast<Link *>(p);
      if (l.next < l.chain->ids.size()) need(consort_task_end_release(l.chain->rt, l.chain->ids[l.next]), "release");
    }, &links[static_cast<size_t>(i)]);
    chain.ids.push_back(t.must(rt));
  }
  EXPECT_OK(consort_task_end_release(rt, chain.ids[0]));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(CompletionHold, CancelledTasksStayHeld) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  HeldEnd t(count, 1);
  t.then(Desc(held).must(rt));
  const auto id = t.must(rt);
  EXPECT_OK(consort_task_cancel(rt, id));
  gate.open();
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, id, 20'000'000, 0));
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, id, kLong, 0));
  (void)consort_wait_all(rt, kLong, 0);
}

TEST_F(CompletionHold, ScratchAndCommuteTokensAreKeptUntilRelease) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  HeldEnd t(count, 1);
  t.use(x, CONSORT_M_RW | CONSORT_M_COMMUTE);
  const auto id = t.must(rt);
  EXPECT_TRUE(eventually([&] { return n == 1; }));
  Desc(count).use(x, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(rt, 20'000'000, 0));
  EXPECT_EQ(n, 1) << "two at once in a datum that each has alone";
  EXPECT_OK(consort_task_end_release(rt, id));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 2);
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(CompletionHold, ReleaseFromOtherThreads) {
  constexpr int kMany = 2000;
  std::mutex mutex;
  std::vector<consort_task_id> open;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (;;) {
        consort_task_id t{0};
        const bool last = over;
        {
          std::lock_guard lock(mutex);
          if (!open.empty()) {
            t = open.back();
            open.pop_back();
          }
        }
        if (t.v) need(consort_task_end_release(rt, t), "release");
        else if (last) return;
        else std::this_thread::yield();
      }
    });
  long v = 0;
  const auto x = variable_of(rt, &v);
  for (int i = 0; i < kMany; ++i) {
    HeldEnd t(count, 2);
    if (i % 3) t.rw(x);
    const auto id = t.must(rt);
    std::lock_guard lock(mutex);
    open.push_back(id);
    open.push_back(id);
  }
  over = true;
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, kMany);
  EXPECT_OK(consort_unregister(rt, x));
}

using WaitNoReady = CompletionHold;

// TSK-31: the tasks that are left wait for a tag, a hold, or one another.
TEST_F(WaitNoReady, ReturnsWhenOnlyBlockedTasksAreLeft) {
  EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
  const auto held = HeldEnd(count, 1).must(rt);
  for (int i = 0; i < 500; ++i) Desc(count).must(rt);
  Desc(count).then(held).must(rt);
  EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
  EXPECT_EQ(n, 501);
  Gate gate;
  const auto closed = body(rt, "closed", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  Desc(closed).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_no_ready(rt, 30'000'000, 0), "ready tasks");
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_no_ready(rt, 0, 0));
  gate.open();
  EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
  EXPECT_EQ(n, 501);
  EXPECT_OK(consort_task_end_release(rt, held));
  EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
  EXPECT_EQ(n, 502);
  std::atomic<consort_status> inside{0};
  const auto asks = body(rt, "asks", [&](const consort_call &) { return inside = consort_wait_no_ready(rt, kLong, 0), CONSORT_OK; });
  EXPECT_OK(consort_task_wait(rt, Desc(asks).must(rt), kLong, 0));
  EXPECT_EQ(inside, CONSORT_E_BUSY);
}

TEST_F(WaitNoReady, CountsBodiesThatWait) {
  Gate gate;
  std::atomic<int> inside{0};
  const auto closed = body(rt, "closed", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto parent = body(rt, "parent", [&](const consort_call &) {
    const auto child = Desc(closed).must(rt);
    ++inside;
    const consort_status s = consort_task_wait(rt, child, kLong, CONSORT_WAIT_NO_HELP);
    std::this_thread::sleep_for(30ms);  // nap: time for the wait to return early, which would be wrong
    ++inside;
    return s;
  });
  for (int i = 0; i < 3; ++i) {
    inside = 0;
    Desc(parent).must(rt);
    EXPECT_TRUE(eventually([&] { return inside == 1; }));
    std::thread opener([&] {
      EXPECT_TRUE(settled());  // this call waits
      gate.open();
    });
    EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
    EXPECT_EQ(inside, 2);
    opener.join();
  }
}

}  // namespace
