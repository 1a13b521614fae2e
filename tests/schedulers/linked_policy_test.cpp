// A policy of the application, linked into it (SPA-01, SPA-13): each function of its table is called when and as often
// as it has to be, and its name and messages are passed on. First come, first served, for any worker.
#define CONSORT_STATIC_PLUGIN
#include <consort/scheduler.h>

#include <deque>
#include <map>
#include <mutex>

#include "api/harness.hpp"
#include "support/policy_plugin.hpp"

namespace {

using namespace consort_test;

struct Policy {  // one instance
  std::mutex mutex;
  std::deque<consort_task *> waiting;
  uint64_t epoch = 0;
};
std::mutex counting;
std::map<std::string, int> calls;  // by function
void called(const char *function, int n = 1) {
  const std::lock_guard lock(counting);
  calls[function] += n;
}
Policy &of(void *self) { return *static_cast<Policy *>(self); }

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops),
    .flags = 0,
    .create = [](void *, const consort_host *, const consort_topology *t, uint64_t epoch, void **out) -> consort_status {
      called("create");
      called("workers it was told of", static_cast<int>(t->nworkers));
      auto *p = new Policy;
      p->epoch = epoch;
      *out = p;
      return CONSORT_OK;
    },
    .destroy =
        [](void *self) {
          called("destroy");
          delete static_cast<Policy *>(self);
        },
    .workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *, uint32_t) -> consort_status {
      called("workers");
      return CONSORT_OK;
    },
    .push = [](void *self, const consort_push *p) -> uint32_t {
      const std::lock_guard lock(of(self).mutex);
      if (p->epoch != of(self).epoch) return 0;
      called("push", static_cast<int>(p->n));
      for (uint32_t i = 0; i < p->n; ++i) of(self).waiting.push_back(p->ready[i]);
      if (p->wake) p->wake->bits[0] |= 3, p->wake->k += p->n;
      return p->n;
    },
    .pop = [](void *self, uint32_t, consort_pick *out, uint32_t) -> uint32_t {
      const std::lock_guard lock(of(self).mutex);
      if (of(self).waiting.empty()) return 0;
      called("pop");
      *out = {of(self).waiting.front(), CONSORT_NONE, CONSORT_NONE};
      of(self).waiting.pop_front();
      return 1;
    },
    .drain = [](void *self, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
      const std::lock_guard lock(of(self).mutex);
      called("drain");
      of(self).epoch = epoch;
      uint32_t n = 0;
      for (; n < max && !of(self).waiting.empty(); of(self).waiting.pop_front()) out[n++] = of(self).waiting.front();
      called("drained", static_cast<int>(n));
      return n;
    },
    .quiesce = [](void *, uint64_t) -> consort_status { return called("quiesce"), CONSORT_OK; },
    .submitted = [](void *, const consort_task *const *, uint32_t n) { called("submitted", static_cast<int>(n)); },
    .adopt = nullptr,
    .dropped = nullptr,
    .started = [](void *, uint32_t, const consort_task *const *, uint32_t n) { called("started", static_cast<int>(n)); },
    .finished = [](void *, uint32_t, const consort_done *, uint32_t n) { called("finished", static_cast<int>(n)); },
    .flush = nullptr,
    .urgency = nullptr,
    .victim = nullptr,
    .next_event = nullptr,
    .direct = nullptr,
};

constexpr consort_plugin plugin = consort_test::policy_plugin("house-of-mine", "what comes first goes first", ops);
CONSORT_MODULE(house_of_mine, SCHEDULER, CONSORT_PF_SWAPPABLE, "house-of-mine", "1.0", plugin);

TEST(LinkedPolicy, CallsEachFunctionOfItsTable) {
  static consort_entry_fn *const entries[] = {CONSORT_ENTRY_NAME(house_of_mine)};
  const Pairs pairs = {{"cpu.topology", kFourCores}, {"workers", "2"}, {"scheduler", "house-of-mine"}, {"bypass", "0"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.modules = entries;
  s.nmodules = 1;
  std::string told;
  ASSERT_OK(consort_list_plugins(&s, CONSORT_LIST_LOAD, [](void *user, const consort_plugin_row *row) {
    if (std::string(row->name) == "house-of-mine") *static_cast<std::string *>(user) = row->summary;
  }, &told));
  EXPECT_EQ(told, "what comes first goes first");
  calls.clear();
  consort_runtime *started = nullptr;
  ASSERT_OK(consort_start(&s, &started));
  {
    Rt rt(started);
    consort_info info{};
    info.size = sizeof info;
    ASSERT_OK(consort_get_info(rt, &info));
    EXPECT_STREQ(info.scheduler, "house-of-mine");
    Bodies body;
    std::atomic<int> ran{0};
    const auto count = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    for (int i = 0; i < 300; ++i) Desc(count).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 300);
    {
      const std::lock_guard lock(counting);
      EXPECT_EQ(calls["create"], 1);
      EXPECT_EQ(calls["workers it was told of"], 2);
      for (const char *each : {"submitted", "push", "pop", "started", "finished"}) EXPECT_EQ(calls[each], 300) << each;
      EXPECT_EQ(calls["destroy"], 0);
    }
    // Both workers are busy: a pushed task waits in the policy, and is drained by the swap.
    Gate gate;
    const auto stand = body(rt, "stand", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    for (int i = 0; i < 2; ++i) Desc(stand).must(rt);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
    for (int i = 0; i < 50; ++i) Desc(count).must(rt);
    ASSERT_OK(consort_runtime_set_scheduler(rt, "eager"));
    gate.open();
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 350);
    EXPECT_OK(rt.stop());
  }
  const std::lock_guard lock(counting);
  EXPECT_GE(calls["drain"], 1);
  EXPECT_GT(calls["drained"], 0);
  EXPECT_LE(calls["drained"], 50);
  EXPECT_GE(calls["quiesce"], 1);
  EXPECT_EQ(calls["destroy"], calls["create"]);
}

}  // namespace
