// The optional hooks of a policy, each called where scheduler.h says: submitted, adopt, dropped, started, finished,
// flush. The policy under test stands in this file, is linked into the program, and records its calls.
#define CONSORT_STATIC_PLUGIN
#include <consort/scheduler.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "api/harness.hpp"
#include "support/policy_plugin.hpp"

namespace {

using namespace consort_test;

struct Notes {
  std::mutex mutex;
  std::deque<consort_task *> waiting;
  uint64_t epoch = 0;
  std::map<uint64_t, int> submitted, adopted, pushed, started, finished;
  int dropped = 0, flushed = 0, refuse = 0;
  bool bad_time = false;
} notes;

using Lock = std::lock_guard<std::mutex>;

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops),
    .flags = 0,
    .create = [](void *, const consort_host *, const consort_topology *, uint64_t epoch, void **out) -> consort_status {
      const Lock lock(notes.mutex);
      notes.epoch = epoch;
      *out = &notes;
      return CONSORT_OK;
    },
    .destroy = [](void *) {},
    .workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *,
                  uint32_t) -> consort_status { return CONSORT_OK; },
    .push = [](void *, const consort_push *p) -> uint32_t {
      const Lock lock(notes.mutex);
      if (p->epoch != notes.epoch || notes.refuse) return 0;
      for (uint32_t i = 0; i < p->n; ++i) {
        notes.waiting.push_back(p->ready[i]);
        ++notes.pushed[p->ready[i]->id];
        if (p->wake) p->wake->bits[0] |= 3, ++p->wake->k;
      }
      return p->n;
    },
    .pop = [](void *, uint32_t, consort_pick *out, uint32_t) -> uint32_t {
      const Lock lock(notes.mutex);
      if (notes.waiting.empty()) return 0;
      *out = {notes.waiting.front(), CONSORT_NONE, CONSORT_NONE};
      notes.waiting.pop_front();
      return 1;
    },
    .drain = [](void *, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
      const Lock lock(notes.mutex);
      notes.epoch = epoch;
      uint32_t n = 0;
      for (; n < max && !notes.waiting.empty(); notes.waiting.pop_front()) out[n++] = notes.waiting.front();
      return n;
    },
    .quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; },
    .submitted =
        [](void *, const consort_task *const *t, uint32_t n) {
          const Lock lock(notes.mutex);
          for (uint32_t i = 0; i < n; ++i) ++notes.submitted[t[i]->id];
        },
    .adopt =
        [](void *, const consort_task *const *t, uint32_t n) {
          const Lock lock(notes.mutex);
          for (uint32_t i = 0; i < n; ++i) ++notes.adopted[t[i]->id];
        },
    .dropped = [](void *, consort_task *const *t, uint32_t n, consort_task **held) -> uint32_t {
      const Lock lock(notes.mutex);
      uint32_t out = 0;
      for (uint32_t i = 0; i < n; ++i)
        if (std::erase(notes.waiting, t[i])) held[out++] = t[i], ++notes.dropped;
      return out;
    },
    .started =
        [](void *, uint32_t, const consort_task *const *t, uint32_t n) {
          const Lock lock(notes.mutex);
          for (uint32_t i = 0; i < n; ++i) ++notes.started[t[i]->id];
        },
    .finished =
        [](void *, uint32_t, const consort_done *d, uint32_t n) {
          const Lock lock(notes.mutex);
          for (uint32_t i = 0; i < n; ++i) {
            ++notes.finished[d[i].cookie];
            notes.bad_time |= d[i].t1 < d[i].t0 || !d[i].t0;
          }
        },
    .flush =
        [](void *) {
          const Lock lock(notes.mutex);
          ++notes.flushed;
        },
    .urgency = nullptr,
    .victim = nullptr,
    .next_event = nullptr,
    .direct = nullptr,
};

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
    static consort_entry_fn *const entries[] = {CONSORT_ENTRY_NAME(notes)};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.modules = entries;
    s.nmodules = 1;
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
