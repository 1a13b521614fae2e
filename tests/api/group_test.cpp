// Groups: waiting for one's own tasks, event fd, callbacks, cancelling, destruction; several libraries side by side.
#include <poll.h>
#include <sys/epoll.h>

#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct Groups : ::testing::Test {
  Rt rt;
  Bodies body;
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_group_id make(const char *name = nullptr) {
    const consort_group_desc d{sizeof d, 0, name, nullptr, nullptr};
    consort_group_id g{0};
    need(consort_group_create(rt, &d, &g), "group");
    return g;
  }
};

bool readable(int fd, int ms) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, ms) == 1;
}

TEST_F(Groups, RefusesBadArguments) {
  consort_group_id g{0};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_create(rt, nullptr, nullptr), "NULL");
  const consort_group_desc small{4, 0, nullptr, nullptr, nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_create(rt, &small, &g), "size");
  EXPECT_OK(consort_group_create(rt, nullptr, &g));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_fd(rt, g, nullptr), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_failure(rt, g, nullptr), "NULL");
  consort_failure f{};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_failure(rt, g, &f), "size");
  EXPECT_OK(consort_group_destroy(rt, g));
}

TEST_F(Groups, DestroyedGroupsAreStale) {
  const auto g = make("gone");
  int fd;
  consort_failure f{};
  f.size = sizeof f;
  EXPECT_OK(consort_group_destroy(rt, g));
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_destroy(rt, g), "group");
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_wait(rt, g, 0, 0), "group");
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_cancel(rt, g), "group");
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_fd(rt, g, &fd), "group");
  EXPECT_SAYS(CONSORT_E_STALE, consort_group_failure(rt, g, &f), "group");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(nop).in(g).to(rt), "group");
  const auto h = make("next");
  EXPECT_NE(g.v, h.v);
  EXPECT_SAYS(CONSORT_E_STALE, Desc(nop).in(g).to(rt), "group");
  EXPECT_OK(consort_group_destroy(rt, h));
}

TEST_F(Groups, DefaultGroupCannotBeDestroyed) { EXPECT_SAYS(CONSORT_E_INVAL, consort_group_destroy(rt, {0}), "default"); }

TEST_F(Groups, DestroyIsBusyWhileTasksArePending) {
  Gate gate;
  const auto g = make("busy bees");
  Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).in(g).must(rt);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_group_destroy(rt, g), "busy bees", "pending");
  gate.open();
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
  EXPECT_OK(consort_group_destroy(rt, g));
}

TEST_F(Groups, WaitCoversOnlyItsOwnTasks) {
  Gate gate;
  const auto mine = make("mine"), theirs = make("theirs");
  std::atomic<int> ran{0};
  Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).in(theirs).on(1).must(rt);
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; })) << "else the wait below might help with it";
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 100; ++i) Desc(c).in(mine).on(0).must(rt);
  EXPECT_OK(consort_group_wait(rt, mine, kLong, 0));
  EXPECT_EQ(ran, 100);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_group_wait(rt, theirs, 5'000'000, 0), "theirs");
  gate.open();
  EXPECT_OK(consort_group_wait(rt, theirs, kLong, 0));
}

TEST_F(Groups, ChildrenJoinTheGroupOfTheirParent) {
  const auto g = make();
  std::atomic<int> ran{0};
  consort_codelet_id tree{0};
  tree = body(rt, "tree", [&](const consort_call &k) -> consort_status {
    ++ran;
    std::this_thread::sleep_for(50us);  // nap: the wait begins before the tree has grown
    for (int i = 0; i < 2 && value<int>(k, 0); ++i)
      if (const auto s = Desc(tree).arg(value<int>(k, 0) - 1).to(rt); s < 0) return s;
    return CONSORT_OK;
  });
  Desc(tree).arg(8).in(g).must(rt);
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
  EXPECT_EQ(ran, (1 << 9) - 1) << "the wait ended before the children did";
}

// A group whose creator's group was destroyed still has its place in the tree of groups, which stays free of cycles.
TEST_F(Groups, GroupsOutliveTheGroupOfTheirCreator) {
  consort_group_id g[4] = {}, other{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &other));
  const auto child = codelet(rt, "child", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  for (int round = 0; round < 50; ++round) {
    struct Maker { consort_runtime *rt; consort_group_id made, wait_for; consort_codelet_id child; } m{rt, {0}, other, child};
    const auto make = codelet(rt, "make", [](const consort_call *c) -> consort_status {
      auto &m = *static_cast<Maker *>(c->user);
      Desc(m.child).in(m.wait_for).must(m.rt);
      need(consort_group_wait(m.rt, m.wait_for, kLong, 0), "wait");
      return consort_group_create(m.rt, nullptr, &m.made);
    }, 0, &m);
    const int in = round % 4, out = (round * 7 + 1) % 4;
    Desc(make).in(g[in]).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    if (g[out].v) {
      ASSERT_OK(consort_group_destroy(rt, g[out]));
    }
    g[out] = m.made;
    ASSERT_OK(consort_codelet_remove(rt, make));
  }
  for (const auto one : g) {
    if (!one.v) continue;
    EXPECT_OK(consort_group_destroy(rt, one));
  }
  EXPECT_OK(consort_group_destroy(rt, other));
}

TEST_F(Groups, FdBecomesReadableWhenNothingIsPending) {
  const auto g = make();
  int fd = -1, again = -1;
  ASSERT_OK(consort_group_fd(rt, g, &fd));
  ASSERT_OK(consort_group_fd(rt, g, &again));
  EXPECT_EQ(fd, again);
  EXPECT_GE(fd, 0);
  uint64_t count;
  if (readable(fd, 0)) (void)!read(fd, &count, sizeof count);  // nothing was pending: that may be news
  const int ep = epoll_create1(EPOLL_CLOEXEC);
  epoll_event e{EPOLLIN, {}};
  ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    Bodies local;
    const auto c =  // nap: some tasks end while the loop sleeps
        local(rt, "count", [&](const consort_call &) { return std::this_thread::sleep_for(100us), ++ran, CONSORT_OK; });
    for (int i = 0; i < 10; ++i) Desc(c).in(g).must(rt);
    epoll_event out;
    while (ran < 10 || consort_group_wait(rt, g, 0, 0) == CONSORT_E_TIMEOUT) {
      ASSERT_EQ(epoll_wait(ep, &out, 1, 20000), 1) << "round " << round << ": " << ran << " ran, and no event";
      ASSERT_EQ(read(fd, &count, sizeof count), 8);
    }
    EXPECT_OK(consort_codelet_remove(rt, c));
    if (readable(fd, 0)) (void)!read(fd, &count, sizeof count);
  }
  close(ep);
  EXPECT_OK(consort_group_destroy(rt, g));
}

TEST_F(Groups, DefaultGroupHasAnFd) {
  int fd = -1;
  ASSERT_OK(consort_group_fd(rt, {0}, &fd));
  uint64_t count;
  if (readable(fd, 0)) (void)!read(fd, &count, sizeof count);
  Desc(nop).must(rt);
  EXPECT_TRUE(readable(fd, 20000));
}

TEST_F(Groups, FdStaysUnreadableWhileTasksArePending) {
  Gate gate;
  const auto g = make();
  Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).in(g).must(rt);
  int fd = -1;
  ASSERT_OK(consort_group_fd(rt, g, &fd));
  EXPECT_FALSE(readable(fd, 30));
  gate.open();
  EXPECT_TRUE(readable(fd, 20000));
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
}

TEST_F(Groups, CallbackRunsWhenTheLastTaskEnds) {
  struct Seen { std::atomic<int> calls{0}; std::atomic<uint64_t> id{0}; } seen;
  const consort_group_desc d{sizeof d, 0, "told", [](void *p, consort_group_id g) {
    auto *s = static_cast<Seen *>(p);
    s->id = g.v;
    ++s->calls;
  }, &seen};
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, &d, &g));
  for (int round = 1; round <= 20; ++round) {
    const int before = seen.calls;
    Gate gate;
    Bodies local;
    const auto c = local(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    Desc(c).in(g).must(rt);
    Desc(c).in(g).must(rt);
    EXPECT_EQ(seen.calls, before) << "while tasks are pending";
    gate.open();
    EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
    EXPECT_TRUE(eventually([&] { return seen.calls > before; })) << "round " << round;
    EXPECT_OK(consort_codelet_remove(rt, c));
  }
  EXPECT_EQ(seen.id, g.v);
  EXPECT_LE(seen.calls, 20) << "more often than the group ran empty";
}

TEST_F(Groups, DestroyWaitsForTheCallback) {
  struct Told {
    consort_runtime *rt;
    std::atomic<bool> inside{false}, over{false};
    consort_status from_inside = CONSORT_OK;
  } told;
  told.rt = rt;
  const auto done = [](void *arg, consort_group_id g) {
    auto &t = *static_cast<Told *>(arg);
    t.from_inside = consort_group_destroy(t.rt, g);
    t.inside = true;
    std::this_thread::sleep_for(20ms);  // nap: time for the destroy to return early, which would be wrong
    t.over = true;
  };
  const consort_group_desc d{sizeof d, 0, "slow", done, &told};
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, &d, &g));
  ASSERT_OK(Desc(nop).in(g).to(rt));
  while (!told.inside) std::this_thread::yield();  // on a worker: this thread does not wait, so it does not help
  ASSERT_OK(consort_group_destroy(rt, g));
  EXPECT_TRUE(told.over) << "its argument was still in use";
  EXPECT_EQ(told.from_inside, CONSORT_E_BUSY);
}

// Whether a group is over for the thread that waits for it must not depend on what its record is used for next.
TEST_F(Groups, DestroyedGroupEndsTheWaitForItAndNotItsSuccessors) {
  for (int round = 0; round < 50; ++round) {
    const auto g = make();
    Gate first, second;
    Bodies local;
    const auto opens_first = local(rt, "first", [&](const consort_call &) { return first.pass(), CONSORT_OK; });
    const auto opens_second = local(rt, "second", [&](const consort_call &) { return second.pass(), CONSORT_OK; });
    Desc(opens_first).in(g).must(rt);
    std::atomic<bool> waits{false}, over{false};
    Answer answer(CONSORT_OK);
    std::thread waiter([&] {
      waits = true;
      answer = consort_group_wait(rt, g, CONSORT_FOREVER, CONSORT_WAIT_NO_HELP);
      over = true;
    });
    ASSERT_TRUE(eventually([&] { return waits && first.waiting() == 1 && others_sleep(); }));
    first.open();
    while (consort_group_destroy(rt, g) == CONSORT_E_BUSY) {
    }
    std::atomic<int> told{0};
    const auto done = [](void *arg, consort_group_id) { ++*static_cast<std::atomic<int> *>(arg); };
    const consort_group_desc d{sizeof d, 0, "successor", done, &told};
    consort_group_id next{0};
    ASSERT_OK(consort_group_create(rt, &d, &next));
    ASSERT_EQ(static_cast<uint32_t>(next.v), static_cast<uint32_t>(g.v)) << "its record is used again";
    Desc(opens_second).in(next).must(rt);
    EXPECT_TRUE(eventually([&] { return over.load(); })) << "round " << round;
    second.open();
    EXPECT_TRUE(eventually([&] { return told > 0; })) << "round " << round;
    waiter.join();
    if (answer.status != CONSORT_OK) {
      EXPECT_TRUE(answered(CONSORT_E_STALE, answer, {"destroyed while it was waited for"}));
    }
    ASSERT_OK(consort_group_wait(rt, next, kLong, 0));
    ASSERT_OK(consort_group_destroy(rt, next));
    EXPECT_OK(consort_codelet_remove(rt, opens_first));
    EXPECT_OK(consort_codelet_remove(rt, opens_second));
    if (HasFailure()) break;
  }
}

// A hold that a body asks for belongs to the body's group. Its release, by any thread, may be the group's last end.
TEST_F(Groups, CallbackRunsWhenAThreadOutsideReleasesTheLastHold) {
  std::atomic<int> told{0};
  const auto done = [](void *arg, consort_group_id) { ++*static_cast<std::atomic<int> *>(arg); };
  const consort_group_desc d{sizeof d, 0, "told", done, &told};
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, &d, &g));
  long v = 0;
  const auto x = variable_of(rt, &v);
  struct Given { std::atomic<bool> yes{false}; consort_hold hold{}; } given;
  const auto grant = [](void *arg, consort_status s, const consort_hold *hold) {
    auto &its = *static_cast<Given *>(arg);
    if (s >= 0) its.hold = *hold;
    its.yes = true;
  };
  const auto asks = body(rt, "asks", [&, grant](const consort_call &) {
    return consort_acquire_later(rt, x, CONSORT_M_RW, grant, &given);
  });
  Desc(asks).in(g).must(rt);
  ASSERT_TRUE(eventually([&] { return given.yes.load(); }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(told, 0) << "the hold is one of its tasks";
  ASSERT_OK(consort_release(rt, given.hold));
  EXPECT_TRUE(eventually([&] { return told > 0; }));
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(Groups, CancelStopsPendingTasksOnly) {
  const auto g = make("doomed");
  int x = 0;
  const auto a = variable_of(rt, &x);
  std::atomic<int> ran{0};
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_RW, kLong, &hold));
  for (int i = 0; i < 50; ++i) Desc(c).in(g).rw(a).must(rt);
  EXPECT_OK(consort_group_cancel(rt, g));
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_group_wait(rt, g, kLong, 0), "cancel");
  EXPECT_EQ(ran, 0);
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0)) << "collected once";
  EXPECT_OK(consort_invalidate(rt, a));
  for (int i = 0; i < 5; ++i) Desc(c).in(g).w(a).must(rt);
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
  EXPECT_EQ(ran, 5);
}

TEST_F(Groups, CancelLeavesOtherGroups) {
  const auto g = make(), other = make();
  int x = 0;
  const auto a = variable_of(rt, &x);
  std::atomic<int> ran{0};
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_R, kLong, &hold));
  Desc(c).in(other).rw(a).must(rt);
  EXPECT_OK(consort_group_cancel(rt, g));
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_group_wait(rt, other, kLong, 0));
  EXPECT_EQ(ran, 1);
}

TEST_F(Groups, CollectsEachFailureOnce) {
  const auto g = make("team"), other = make("others");
  int x = 0;
  const auto a = variable_of(rt, &x, "the ledger");
  const auto breaks =
      body(rt, "breaks", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "ink ran out"); });
  Desc(breaks).in(g).rw(a).name("clerk").must(rt);
  Desc(nop).in(g).r(a).name("reader").must(rt);
  Desc(nop).in(other).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, g, kLong, 0), "clerk", "ink ran out");
  EXPECT_OK(consort_group_wait(rt, other, kLong, 0)) << "their failure is not ours";
  consort_failure f{};
  f.size = sizeof f;
  ASSERT_OK(consort_group_failure(rt, g, &f));
  EXPECT_EQ(f.status, CONSORT_E_IO);
  EXPECT_STREQ(f.task_name, "clerk");
  EXPECT_STREQ(f.text, "ink ran out");
  EXPECT_STRNE(f.worker_name, "");
  EXPECT_LT(f.worker, 2u);
  EXPECT_EQ(f.nfailed, 2u) << "the reader of its data failed too";
  EXPECT_NE(std::string(f.chain).find("ink ran out"), std::string::npos);
  ASSERT_OK(consort_group_failure(rt, other, &f));
  EXPECT_EQ(f.status, CONSORT_OK);
  EXPECT_STREQ(f.task_name, "");
  EXPECT_EQ(f.nfailed, 0u);
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
}

TEST_F(Groups, CreateAndDestroyDoNotExhaustHandles) {
  for (int i = 0; i < 100000; ++i) {
    consort_group_id g;
    ASSERT_OK(consort_group_create(rt, nullptr, &g)) << i;
    if (i % 100 == 0) {
      Desc(nop).in(g).must(rt);
      ASSERT_OK(consort_group_wait(rt, g, kLong, 0));
    }
    ASSERT_OK(consort_group_destroy(rt, g));
  }
}

TEST_F(Groups, OneThreadAlternatesBetweenGroups) {
  std::vector<consort_group_id> g;
  for (int i = 0; i < 16; ++i) g.push_back(make());
  std::atomic<int> ran[16] = {};
  consort_codelet_id c = codelet(rt, "count", [](const consort_call *k) -> consort_status {
    return ++static_cast<std::atomic<int> *>(k->user)[value<int>(*k, 0)], 0; }, 0, ran);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 16; ++i) Desc(c).in(g[i]).arg(i).must(rt);
    const int k = round % 16;
    EXPECT_OK(consort_group_wait(rt, g[k], kLong, 0));
    EXPECT_EQ(ran[k], round + 1);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  for (auto &n : ran) EXPECT_EQ(n, 50);
}

}  // namespace
