// A policy of the application, linked into it (SPA-01, SPA-13). Each function of its table is called when and as often
// as it has to be. Its name and messages are passed on. First come, first served, for any worker.
#define CONSORT_STATIC_PLUGIN
#include <consort/scheduler.h>

#include <map>
#include <mutex>

#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

Fifo fifo;
std::mutex counting;
std::map<std::string, int> calls;  // by function
void called(const char *function, int n = 1) {
  const std::lock_guard lock(counting);
  calls[function] += n;
}

constexpr consort_scheduler_ops base = fifo_policy<fifo>();
constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = base;
  o.create = [](void *user, const consort_host *host, const consort_topology *t, uint64_t epoch, void **out) -> consort_status {
    called("create");
    called("known workers", static_cast<int>(t->nworkers));
    return base.create(user, host, t, epoch, out);
  };
  o.destroy = [](void *) { called("destroy"); };
  o.workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *, uint32_t) -> consort_status {
    return called("workers"), CONSORT_OK;
  };
  o.push = [](void *self, const consort_push *p) -> uint32_t {
    const uint32_t n = base.push(self, p);
    return called("push", static_cast<int>(n)), n;
  };
  o.pop = [](void *self, uint32_t worker, consort_pick *out, uint32_t max) -> uint32_t {
    const uint32_t n = base.pop(self, worker, out, max);
    return called("pop", static_cast<int>(n)), n;
  };
  o.drain = [](void *self, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
    const uint32_t n = base.drain(self, epoch, out, max);
    called("drain");
    return called("drained", static_cast<int>(n)), n;
  };
  o.quiesce = [](void *, uint64_t) -> consort_status { return called("quiesce"), CONSORT_OK; };
  o.submitted = [](void *, const consort_task *const *, uint32_t n) { called("submitted", static_cast<int>(n)); };
  o.started = [](void *, uint32_t, const consort_task *const *, uint32_t n) { called("started", static_cast<int>(n)); };
  o.finished = [](void *, uint32_t, const consort_done *, uint32_t n) { called("finished", static_cast<int>(n)); };
  return o;
}();

constexpr consort_plugin plugin = consort_test::policy_plugin("house-of-mine", "first come, first served", ops);
CONSORT_MODULE(house_of_mine, SCHEDULER, CONSORT_PF_SWAPPABLE, "house-of-mine", "1.0", plugin);

TEST(LinkedPolicy, CallsEachFunctionOfItsTable) {
  static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(house_of_mine);
  const Pairs pairs = {{"cpu.topology", kFourCores}, {"workers", "2"}, {"scheduler", "house-of-mine"}, {"bypass", "0"}};
  const consort_settings s = settings_with(pairs, entry);
  std::string summary;
  ASSERT_OK(consort_list_plugins(&s, CONSORT_LIST_LOAD, [](void *user, const consort_plugin_row *row) {
    if (std::string(row->name) == "house-of-mine") *static_cast<std::string *>(user) = row->summary;
  }, &summary));
  EXPECT_EQ(summary, "first come, first served");
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
      EXPECT_EQ(calls["known workers"], 2);
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
