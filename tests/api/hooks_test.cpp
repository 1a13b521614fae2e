// TSK-16, TSK-17, TSK-34, WRK-03: hooks around one task, their order, and the current task and worker inside of them.
// Each argument is dropped exactly once however the task ends.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

// The events of one task, in order: r ready, b begin, x body, d done; R, B, D: their arguments were dropped.
struct Story {
  std::mutex mutex;
  std::string told;
  void tell(char c) {
    std::lock_guard lock(mutex);
    told += c;
  }
  std::string all() {
    std::lock_guard lock(mutex);
    return told;
  }
};
struct Line { Story *story; char call, drop; consort_runtime *rt; consort_task_id seen; };

struct Hooked : Desc {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  Story story;
  Line ready{&story, 'r', 'R', nullptr, {}}, begin{&story, 'b', 'B', nullptr, {}}, end{&story, 'd', 'D', nullptr, {}};
  static void told(void *p, consort_task_id t) {
    Line &l = *static_cast<Line *>(p);
    l.seen = t;
    if (l.rt) {
      EXPECT_EQ(consort_current_task(l.rt).v, t.v);
    }
    l.story->tell(l.call);
  }
  static void drop(void *p) { static_cast<Line *>(p)->story->tell(static_cast<Line *>(p)->drop); }
  static void ended(void *p, const consort_outcome *o) { told(p, o->task); }

  explicit Hooked(consort_codelet_id c, consort_runtime *rt = nullptr) : Desc(c) {
    ready.rt = begin.rt = end.rt = rt;
    more.ready = {told, &ready, drop};
    more.begin = {told, &begin, drop};
    more.done_drop = drop;
    done(ended, &end);
    d.more = &more;
  }
};

struct TaskHooks : ::testing::Test {
  Rt rt;
  Bodies body;
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_codelet_id bad = codelet(rt, "bad", [](const consort_call *) { return consort_fail(CONSORT_E_IO, "on purpose"); });
};

TEST_F(TaskHooks, RunInOrderAroundAPlainTask) {
  for (int i = 0; i < 50; ++i) {
    Story *s = nullptr;
    const auto c = body(rt, "teller", [&](const consort_call &) { return s->tell('x'), CONSORT_OK; });
    Hooked t(c, rt);
    s = &t.story;
    const auto id = t.must(rt);
    EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
    EXPECT_EQ(t.story.all(), "rRbBxdD");
    EXPECT_EQ(t.ready.seen.v, id.v);
    EXPECT_EQ(t.begin.seen.v, id.v);
    EXPECT_EQ(t.end.seen.v, id.v);
    EXPECT_OK(consort_codelet_remove(rt, c));
  }
}

TEST_F(TaskHooks, ReadyFollowsTheLastPredecessor) {
  Gate gate;
  std::atomic<bool> over{false};
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), over = true, CONSORT_OK; });
  struct Look { std::atomic<bool> *over; bool saw; } look{&over, false};
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready = {[](void *p, consort_task_id) { static_cast<Look *>(p)->saw = *static_cast<Look *>(p)->over; }, &look, nullptr};
  Desc t(nop);
  t.then(Desc(held).must(rt));
  t.d.more = &more;
  const auto id = t.must(rt);
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_TRUE(look.saw);
}

TEST_F(TaskHooks, DropsArgumentsWithoutCalls) {  // an argument without a call is dropped when the task ends
  int dropped = 0;
  const auto drop = [](void *p) { ++*static_cast<int *>(p); };
  Desc t(nop);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready = {nullptr, &dropped, drop};
  more.begin = {nullptr, &dropped, drop};
  more.done_drop = drop;
  t.d.done_arg = &dropped;
  t.d.more = &more;
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
  EXPECT_EQ(dropped, 3);
}

TEST_F(TaskHooks, FailedTaskRunsAllHooks) {
  Hooked t(bad, rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t.must(rt), kLong, 0), "on purpose");
  EXPECT_EQ(t.story.all(), "rRbBdD");
  (void)consort_wait_all(rt, kLong, 0);
}

TEST_F(TaskHooks, PoisonedTaskDoesNotBegin) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), consort_fail(CONSORT_E_IO, "on purpose"); });
  Hooked t(nop, rt);
  t.then(Desc(held).must(rt));
  const auto id = t.must(rt);
  gate.open();
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, id, kLong, 0), "comes after");
  EXPECT_EQ(t.story.all(), "rRdDB");
  (void)consort_wait_all(rt, kLong, 0);
}

TEST_F(TaskHooks, CancelledTaskDoesNotBegin) {
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  Hooked t(nop, rt);
  t.then(Desc(held).must(rt));
  const auto id = t.must(rt);
  EXPECT_OK(consort_task_cancel(rt, id));
  gate.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, id, kLong, 0), "cancelled");
  EXPECT_EQ(t.story.all(), "rRdDB");
  (void)consort_wait_all(rt, kLong, 0);
}

TEST_F(TaskHooks, EmptyTaskDoesNotBegin) {
  Hooked t({0}, rt);
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
  EXPECT_EQ(t.story.all(), "rRdDB");
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  Hooked u({0}, rt);
  u.then(Desc(held).must(rt));
  const auto id = u.must(rt);
  gate.open();
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(u.story.all(), "rRdDB");
}

TEST_F(TaskHooks, BoundTaskRunsAllHooks) {
  for (uint32_t w = 0; w < 2; ++w) {
    Hooked t(nop, rt);
    t.on(w);
    EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
    EXPECT_EQ(t.story.all(), "rRbBdD");
  }
}

TEST_F(TaskHooks, RefusedSubmissionCallsAndDropsNothing) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  EXPECT_OK(consort_unregister(rt, x));
  Hooked t(nop, rt);
  t.rw(x);
  EXPECT_SAYS(CONSORT_E_STALE, t.to(rt), "datum 0");
  Hooked u(nop, rt);
  u.on(99);
  EXPECT_SAYS(CONSORT_E_INVAL, u.to(rt), "worker 99");
  EXPECT_EQ(t.story.all() + u.story.all(), "");
}

TEST_F(TaskHooks, RefusesBadArguments) {
  Hooked t(nop);
  t.more.size = 8;
  EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), "more->size", "CONSORT_TASK_MORE_INIT");
  t.more.size = sizeof t.more;
  t.more.flags = 0x80;
  EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), "more->flags", "0x80");
  Desc u(nop);
  u.d.flags = 0x4000;
  EXPECT_SAYS(CONSORT_E_INVAL, u.to(rt), "task->flags", "0x4000");
  u.d.size = CONSORT_TASK_BRIEF;
  EXPECT_SAYS(CONSORT_E_INVAL, u.to(rt), "task->flags");
  EXPECT_EQ(t.story.all(), "");
}

// A program that was built before the struct grew gives a shorter one: fields beyond its size are not read.
TEST_F(TaskHooks, AcceptsDescriptionsOfOlderHeaders) {
  int n = 0;
  Desc t(body(rt, "count", [&](const consort_call &) { return ++n, CONSORT_OK; }));
  std::vector<char> old(offsetof(consort_task_desc, more));
  t.d.size = static_cast<uint32_t>(old.size());
  std::memcpy(old.data(), t.desc(), old.size());
  consort_task_id id{0};
  EXPECT_OK(consort_submit(rt, reinterpret_cast<const consort_task_desc *>(old.data()), &id));
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(n, 1);
}

TEST_F(TaskHooks, MaySubmitAndMayNotWait) {
  struct Part { consort_runtime *rt; consort_codelet_id nop; consort_status wait; consort_task_id child; } p{rt, nop, 0, {}};
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready = {[](void *arg, consort_task_id) {
                  Part &p = *static_cast<Part *>(arg);
                  p.wait = consort_group_wait(p.rt, {0}, 0, 0);
                  need(Desc(p.nop).to(p.rt, &p.child), "submit in a hook");
                }, &p, nullptr};
  Desc t(nop);
  t.d.more = &more;
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
  EXPECT_EQ(p.wait, CONSORT_E_BUSY);
  EXPECT_OK(consort_task_wait(rt, p.child, kLong, 0));
}

TEST_F(TaskHooks, ExceptionsAreDropped) {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.ready.fn = more.begin.fn = [](void *, consort_task_id) { throw 7; };
  Desc t(nop);
  t.d.more = &more;
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
}

TEST_F(TaskHooks, CurrentTaskAndWorkerAreKnown) {  // TSK-17, WRK-03
  EXPECT_EQ(consort_current_task(rt).v, 0u);
  EXPECT_EQ(consort_current_worker(rt), CONSORT_NONE);
  EXPECT_EQ(consort_current_task(nullptr).v, 0u);
  EXPECT_EQ(consort_current_worker(nullptr), CONSORT_NONE);
  Rt other;
  std::atomic<uint64_t> seen{0};
  std::atomic<uint32_t> worker{0}, strange{0};
  const auto c = body(rt, "who", [&](const consort_call &call) {
    seen = consort_current_task(rt).v;
    worker = consort_current_worker(rt);
    EXPECT_EQ(worker, call.worker);
    strange = consort_current_worker(other);
    EXPECT_EQ(consort_current_task(other).v, 0u);
    return CONSORT_OK;
  });
  for (uint32_t w = 0; w < 2; ++w) {
    const auto id = Desc(c).on(w).must(rt);
    EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
    EXPECT_EQ(seen, id.v);
    EXPECT_EQ(worker, w);
    EXPECT_EQ(strange, CONSORT_NONE);
  }
  EXPECT_EQ(consort_current_task(rt).v, 0u);
}

TEST_F(TaskHooks, EachHookRunsOnceUnderConcurrency) {
  constexpr int kThreads = 3, kEach = 500;
  std::atomic<int> calls{0}, drops{0};
  struct Counts { std::atomic<int> *calls, *drops; } counts{&calls, &drops};
  const consort_hook hook{[](void *p, consort_task_id) { ++*static_cast<Counts *>(p)->calls; }, &counts,
                                 [](void *p) { ++*static_cast<Counts *>(p)->drops; }};
  long v = 0;
  const auto x = variable_of(rt, &v);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < kEach; ++k) {
        consort_task_more more = CONSORT_TASK_MORE_INIT;
        more.ready = more.begin = hook;
        Desc t(nop);
        if (k & 1) t.rw(x);
        if (k % 3 == i) t.on(static_cast<uint32_t>(i) & 1);
        t.d.more = &more;
        need(t.to(rt), "submit");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(calls, 2 * kThreads * kEach);
  EXPECT_EQ(drops, 2 * kThreads * kEach);
  EXPECT_OK(consort_unregister(rt, x));
}

using SubmissionList = TaskHooks;

// TLS-01..06: an array of descriptions is the list; it stops at the first that is refused.
TEST_F(SubmissionList, StopsAtTheFirstRefusedTask) {
  int n = 0;
  const auto c = body(rt, "count", [&](const consort_call &) { return ++n, CONSORT_OK; });
  long v = 0;
  const auto x = variable_of(rt, &v);
  Desc a(c), b(c), wrong(c);
  a.rw(x);
  b.rw(x);
  wrong.on(77);
  const consort_task_desc *good[] = {a.desc(), b.desc(), a.desc()}, *mixed[] = {a.desc(), wrong.desc(), b.desc()};
  consort_task_id ids[3] = {};
  uint32_t sent = 99;
  EXPECT_OK(consort_submit_list(rt, good, 3, ids, &sent));
  EXPECT_EQ(sent, 3u);
  EXPECT_OK(consort_task_wait(rt, ids[2], kLong, 0));
  EXPECT_EQ(n, 3);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit_list(rt, mixed, 3, nullptr, &sent), "worker 77");
  EXPECT_EQ(sent, 1u);
  EXPECT_OK(consort_submit_list(rt, nullptr, 0, nullptr, nullptr));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit_list(rt, nullptr, 1, nullptr, &sent), "NULL");
  const consort_task_desc *hole[] = {nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit_list(rt, hole, 1, nullptr, nullptr), "NULL");
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(n, 4);
  EXPECT_OK(consort_unregister(rt, x));
}

}  // namespace
