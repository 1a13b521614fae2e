// The optional hooks of a policy, each called where scheduler.h says: submitted, adopt, dropped, started, finished,
// flush. The policy under test stands in this file, is linked into the program, and records its calls.
#define CONSORT_STATIC_PLUGIN
#include <consort/scheduler.h>

#include <algorithm>
#include <map>

#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

struct Notes : Fifo {
  std::map<uint64_t, int> submitted, adopted, pushed, started, finished;
  int dropped = 0, flushed = 0, refuse = 0;
  bool bad_time = false;
} notes;

using Lock = std::lock_guard<std::mutex>;

constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = fifo_policy<notes>();
  o.push = [](void *, const consort_push *p) -> uint32_t {
    const Lock lock(notes.mutex);
    if (p->epoch != notes.epoch || notes.refuse) return 0;
    for (uint32_t i = 0; i < p->n; ++i) ++notes.pushed[p->ready[i]->id];
    return notes.accept(p);
  };
  o.submitted = [](void *, const consort_task *const *t, uint32_t n) {
    const Lock lock(notes.mutex);
    for (uint32_t i = 0; i < n; ++i) ++notes.submitted[t[i]->id];
  };
  o.adopt = [](void *, const consort_task *const *t, uint32_t n) {
    const Lock lock(notes.mutex);
    for (uint32_t i = 0; i < n; ++i) ++notes.adopted[t[i]->id];
  };
  o.dropped = [](void *, consort_task *const *t, uint32_t n, consort_task **held) -> uint32_t {
    const Lock lock(notes.mutex);
    uint32_t out = 0;
    for (uint32_t i = 0; i < n; ++i)
      if (std::erase(notes.waiting, t[i])) held[out++] = t[i], ++notes.dropped;
    return out;
  };
  o.started = [](void *, uint32_t, const consort_task *const *t, uint32_t n) {
    const Lock lock(notes.mutex);
    for (uint32_t i = 0; i < n; ++i) ++notes.started[t[i]->id];
  };
  o.finished = [](void *, uint32_t, const consort_done *d, uint32_t n) {
    const Lock lock(notes.mutex);
    for (uint32_t i = 0; i < n; ++i) {
      ++notes.finished[d[i].cookie];
      notes.bad_time |= d[i].t1 < d[i].t0 || !d[i].t0;
    }
  };
  o.flush = [](void *) {
    const Lock lock(notes.mutex);
    ++notes.flushed;
  };
  return o;
}();

constexpr consort_plugin plugin = consort_test::policy_plugin("notes", "records its calls", ops);
CONSORT_MODULE(notes, SCHEDULER, CONSORT_PF_SWAPPABLE, "notes", "1.0", plugin);

class PolicyHooks : public ::testing::Test {
 protected:
  void begin(const Pairs &more) {
    notes.waiting.clear();
    notes.submitted.clear(), notes.adopted.clear(), notes.pushed.clear(), notes.started.clear(), notes.finished.clear();
    notes.dropped = notes.flushed = notes.refuse = 0;
    notes.bad_time = false;
    Pairs pairs = {{"cpu.topology", kFourCores}, {"workers", "2"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(notes);
    consort_settings s = settings_with(pairs, entry);
    s.log = [](void *, int32_t level, const char *) { errors_ += level == 0; };
    errors_ = 0;
    need(consort_start(&s, &rt_), "start");
  }
  void TearDown() override { EXPECT_OK(consort_stop(rt_)); }

  Bodies body_;
  consort_runtime *rt_ = nullptr;
  static inline std::atomic<int> errors_{0};
};

bool once(const std::map<uint64_t, int> &m, size_t n) {
  return m.size() == n && std::all_of(m.begin(), m.end(), [](const auto &e) { return e.second == 1; });
}

TEST_F(PolicyHooks, CallsEachHookOncePerTask) {
  begin({{"scheduler", "notes"}});
  const auto c = body_(rt_, "nothing", [](const consort_call &) { return CONSORT_OK; });
  int x = 0;
  const auto datum = variable_of(rt_, &x);
  for (int i = 0; i < 200; ++i) {
    Desc d(c);
    if (i % 2) d.rw(datum);
    d.must(rt_);
  }
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_OK(consort_unregister(rt_, datum));
  const Lock lock(notes.mutex);
  EXPECT_TRUE(once(notes.submitted, 200));
  EXPECT_TRUE(once(notes.started, 200));
  EXPECT_TRUE(once(notes.finished, 200));
  EXPECT_EQ(notes.submitted, notes.finished);
  EXPECT_FALSE(notes.bad_time);
}

TEST_F(PolicyHooks, WaitsCallFlush) {
  begin({{"scheduler", "notes"}, {"spin_us", "0"}});
  Gate gate;
  const auto stop = body_(rt_, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto t = Desc(stop).on(0).must(rt_);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt_, t, 50'000'000, 0), "");
  gate.open();
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  const Lock lock(notes.mutex);
  EXPECT_GT(notes.flushed, 0);
}

// A swap brings it in late: tasks of the old policy are adopted, then pushed; later submissions are reported to it.
TEST_F(PolicyHooks, SwapCallsAdoptForQueuedTasks) {
  begin({{"scheduler", "lws"}});
  Gate gate;
  const auto stop = body_(rt_, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto c = body_(rt_, "nothing", [](const consort_call &) { return CONSORT_OK; });
  int x = 0;
  const auto datum = variable_of(rt_, &x);
  for (int w = 0; w < 2; ++w) Desc(stop).must(rt_);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
  for (int i = 0; i < 30; ++i) Desc(c).must(rt_);
  Desc(c).rw(datum).must(rt_);
  Desc(c).rw(datum).must(rt_);  // not ready: it comes by push without having been told of
  EXPECT_OK(consort_runtime_set_scheduler(rt_, "notes"));
  {
    const Lock lock(notes.mutex);
    EXPECT_TRUE(once(notes.adopted, 31) || once(notes.adopted, 30)) << notes.adopted.size();
    EXPECT_EQ(notes.adopted, notes.pushed);
    EXPECT_TRUE(notes.submitted.empty());
  }
  for (int i = 0; i < 10; ++i) Desc(c).must(rt_);
  gate.open();
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_OK(consort_unregister(rt_, datum));
  {
    const Lock lock(notes.mutex);
    EXPECT_TRUE(once(notes.submitted, 10));
    EXPECT_EQ(notes.started, notes.finished);  // the gates were not told of: they began before
    EXPECT_EQ(notes.started.size(), 42u);
  }
  EXPECT_OK(consort_runtime_set_scheduler(rt_, "lws"));
  for (int i = 0; i < 10; ++i) Desc(c).must(rt_);  // the short way again
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  const Lock lock(notes.mutex);
  EXPECT_EQ(notes.submitted.size(), 10u);
  EXPECT_EQ(notes.started.size(), 42u);
}

TEST_F(PolicyHooks, CancelledTaskIsDroppedAtOnce) {
  begin({{"scheduler", "notes"}, {"workers", "1"}});
  Gate gate;
  std::atomic<int> ran{0};
  const auto stop = body_(rt_, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto c = body_(rt_, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  Desc(stop).must(rt_);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  std::vector<consort_task_id> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(Desc(c).must(rt_));
  size_t before = 0, after = 0;
  {
    const Lock lock(notes.mutex);
    before = notes.waiting.size();
  }
  EXPECT_OK(consort_task_cancel(rt_, tasks[3]));
  EXPECT_OK(consort_task_cancel(rt_, tasks[3]));
  {
    const Lock lock(notes.mutex);
    after = notes.waiting.size();
    EXPECT_LE(notes.dropped, 1);
    EXPECT_EQ(after, before - static_cast<size_t>(notes.dropped));
  }
  gate.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt_, tasks[3], kLong, 0), "cancelled");
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_wait_all(rt_, kLong, 0), "cancelled");
  EXPECT_EQ(ran, 19);
  EXPECT_OK(consort_task_cancel(rt_, tasks[3]));
}

// A policy that takes nothing breaks its contract: it is told of in the log, and the tasks run.
TEST_F(PolicyHooks, RefusedTasksStillRun) {
  begin({{"scheduler", "notes"}});
  {
    const Lock lock(notes.mutex);
    notes.refuse = 1;
  }
  std::atomic<int> ran{0};
  const auto c = body_(rt_, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 50; ++i) Desc(c).must(rt_);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(ran, 50);
  EXPECT_EQ(errors_, 1);
}

}  // namespace
