// A policy may hold ready tasks back until the application waits: scheduler.h, `flush`. The policy under test holds
// back all pushed tasks until the next flush, and its pushes wake no worker. Every kind of wait ends all the same.
#define CONSORT_STATIC_PLUGIN
#include <consort/order.h>
#include <consort/scheduler.h>

#include "api/team_bodies.hpp"
#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

struct Hoard : Fifo {  // `waiting`: flushed
  std::deque<consort_task *> held;
  uint32_t team = CONSORT_NONE;  // that gets all tasks for teams
} hoard;

using Lock = std::lock_guard<std::mutex>;

constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = fifo_policy<hoard>();
  o.flags = CONSORT_SF_NO_BYPASS;
  o.workers = [](void *, const consort_topology *t, const uint32_t *, uint32_t, const uint32_t *, uint32_t) -> consort_status {
    const Lock lock(hoard.mutex);
    hoard.team = t->nteams ? t->teams[0].id : CONSORT_NONE;
    return CONSORT_OK;
  };
  o.push = [](void *, const consort_push *p) -> uint32_t {
    const Lock lock(hoard.mutex);
    if (p->epoch != hoard.epoch) return 0;
    hoard.held.insert(hoard.held.end(), p->ready, p->ready + p->n);
    return p->n;
  };
  o.pop = [](void *, uint32_t, consort_pick *out, uint32_t) -> uint32_t {
    const Lock lock(hoard.mutex);
    if (hoard.waiting.empty()) return 0;
    consort_task *first = hoard.waiting.front();
    *out = {first, CONSORT_NONE, first->flags & CONSORT_TK_TEAM ? hoard.team : CONSORT_NONE};
    hoard.waiting.pop_front();
    return 1;
  };
  o.drain = [](void *, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
    const Lock lock(hoard.mutex);
    hoard.epoch = epoch;
    const uint32_t n = Fifo::take(hoard.waiting, out, max);
    return n + Fifo::take(hoard.held, out + n, max - n);
  };
  o.flush = [](void *) {
    const Lock lock(hoard.mutex);
    hoard.waiting.insert(hoard.waiting.end(), hoard.held.begin(), hoard.held.end());
    hoard.held.clear();
  };
  return o;
}();

constexpr consort_plugin plugin = consort_test::policy_plugin("hoard", "holds tasks back until it is flushed", ops);
CONSORT_MODULE(hoard, SCHEDULER, CONSORT_PF_SWAPPABLE, "hoard", "1.0", plugin);

// "manual": the pump; else the number of threads.
class PolicyFlush : public ::testing::TestWithParam<const char *> {
 protected:
  void SetUp() override { begin({}); }
  void begin(const Pairs &more) {
    hoard.held.clear();
    hoard.waiting.clear();
    const bool manual = !std::strcmp(GetParam(), "manual");
    Pairs pairs = {{"cpu.topology", kFourCores}, {"scheduler", "hoard"}, {"spin_us", "0"},
                   {"workers", manual ? "2" : GetParam()}};
    if (manual) pairs.push_back({"pump", "manual"});
    pairs.insert(pairs.end(), more.begin(), more.end());
    static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(hoard);
    const consort_settings s = settings_with(pairs, entry);
    need(consort_start(&s, &rt_), "start");
    count_ = body_(rt_, "count", [this](const consort_call &) { return ++ran_, CONSORT_OK; });
  }
  void TearDown() override { EXPECT_OK(consort_stop(rt_)); }

  // Each comes after the one before: it is pushed, and held back, while the application waits already.
  std::vector<consort_task_id> chain(int n, consort_group_id group = {0}) {
    std::vector<consort_task_id> ids;
    for (int i = 0; i < n; ++i) {
      Desc d(count_);
      d.in(group);
      if (i) d.then(ids.back());
      ids.push_back(d.must(rt_));
    }
    return ids;
  }

  Bodies body_;
  consort_runtime *rt_ = nullptr;
  consort_codelet_id count_{0};
  std::atomic<int> ran_{0};
};

TEST_P(PolicyFlush, OnWaitAll) {
  chain(20);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(ran_, 20);
}

TEST_P(PolicyFlush, OnWaitWithoutHelping) {
  const auto ids = chain(20);
  EXPECT_OK(consort_task_wait(rt_, ids.back(), kLong, CONSORT_WAIT_NO_HELP));
  consort_group_id group;
  ASSERT_OK(consort_group_create(rt_, nullptr, &group));
  chain(20, group);
  EXPECT_OK(consort_group_wait(rt_, group, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_OK(consort_group_destroy(rt_, group));
  EXPECT_EQ(ran_, 40);
}

TEST_P(PolicyFlush, OnWaitNoReady) {
  chain(20);
  EXPECT_OK(consort_wait_no_ready(rt_, kLong, 0));
  EXPECT_EQ(ran_, 20);
  EXPECT_TRUE(eventually([&] { return consort_wait_no_ready(rt_, 0, 0) == CONSORT_OK; })) << "a look sees it, too";
}

TEST_P(PolicyFlush, OnWaitInsideABody) {
  const auto parent = body_(rt_, "parent", [this](const consort_call &) {
    const auto ids = chain(5);
    return consort_task_wait(rt_, ids.back(), kLong, 0);
  });
  for (int i = 0; i < 4; ++i) Desc(parent).must(rt_);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(ran_, 20);
}

TEST_P(PolicyFlush, OnAcquireAndUnregister) {
  int x = 0;
  const auto datum = variable_of(rt_, &x);
  const auto add = body_(rt_, "add", [](const consort_call &c) { return ++*pointer<int>(c, 0), CONSORT_OK; });
  for (int i = 0; i < 5; ++i) Desc(add).rw(datum).must(rt_);
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt_, datum, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(x, 5);
  EXPECT_OK(consort_release(rt_, hold));
  for (int i = 0; i < 5; ++i) Desc(add).rw(datum).must(rt_);
  EXPECT_OK(consort_unregister(rt_, datum));
  EXPECT_EQ(x, 10);
}

TEST_P(PolicyFlush, OnWaitWithZeroTimeout) {
  if (!std::strcmp(GetParam(), "manual")) GTEST_SKIP() << "a look without a wait runs nothing there";
  const auto ids = chain(20);
  EXPECT_TRUE(eventually([&] { return consort_task_wait(rt_, ids.back(), 0, 0) == CONSORT_OK; }));
  EXPECT_EQ(ran_, 20);
}

TEST_P(PolicyFlush, OnStop) {
  chain(20);
  EXPECT_OK(consort_stop(rt_));
  EXPECT_EQ(ran_, 20);
  rt_ = nullptr;
}

TEST_P(PolicyFlush, OnAFullWindow) {
  EXPECT_OK(consort_stop(rt_));
  begin({{"window", "16"}});
  for (int i = 0; i < 10; ++i) chain(20);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(ran_, 200);
}

TEST_P(PolicyFlush, OnAFullWindowBehindATag) {
  EXPECT_OK(consort_stop(rt_));
  begin({{"window", "16"}});
  constexpr uint64_t kTag = 3;
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.flags = CONSORT_MORE_TAG;
  for (int i = 0; i < 40; ++i) {
    more.tag = 100 + static_cast<uint64_t>(i);
    ASSERT_OK(consort_tag_after(rt_, more.tag, &kTag, 1));
    Desc d(count_);
    d.d.more = &more;
    d.must(rt_);
  }
  EXPECT_OK(consort_tag_notify(rt_, kTag));
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(ran_, 40);
}

TEST_P(PolicyFlush, BesideAContext) {
  consort_context_id context;
  consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
  d.scheduler = "lws";
  ASSERT_OK(consort_context_create(rt_, &d, &context));
  const auto ids = chain(10);
  EXPECT_OK(consort_task_wait(rt_, ids.back(), kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_OK(consort_context_destroy(rt_, context));
  EXPECT_EQ(ran_, 10);
}

// The body that waits may not run it alone on its worker: the policy has given it to a team.
TEST_P(PolicyFlush, OnWaitForATeamTask) {
  if (std::strcmp(GetParam(), "2")) GTEST_SKIP() << "two workers with a thread each are a team";
  TeamBodies codelets;
  std::atomic<uint32_t> calls{0}, wrong{0};
  const auto child = codelets(rt_, "child", CONSORT_CL_SPMD, [&](const consort_call &c) {
    ++calls;
    wrong += c.team != 2;
    return CONSORT_OK;
  });
  const auto parent = body_(rt_, "parent", [&](const consort_call &) {
    return consort_task_wait(rt_, Desc(child).must(rt_), kLong, 0);
  });
  for (int i = 0; i < 20; ++i) Desc(parent).must(rt_);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(calls, 40u);
  EXPECT_EQ(wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(Pumps, PolicyFlush, ::testing::Values("1", "2", "manual"), [](const auto &info) {
  return std::strcmp(info.param, "manual") ? "threads_" + std::string(info.param) : std::string("manual");
});

}  // namespace
