// A policy that chooses the implementation of each task, on a device with memory of its own: the choice holds also for
// a task that waits for its data.
#define CONSORT_STATIC_PLUGIN
#include <consort/scheduler.h>

#include "memory/memory_machine.hpp"
#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

Fifo fifo;
constexpr consort_scheduler_ops base = fifo_policy<fifo>();
constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = base;
  o.pop = [](void *self, uint32_t worker, consort_pick *out, uint32_t max) -> uint32_t {
    const uint32_t n = base.pop(self, worker, out, max);
    if (n) out->impl = 1;
    return n;
  };
  return o;
}();
constexpr consort_plugin plugin = policy_plugin("second-choice", "the second implementation of each task", ops);
CONSORT_MODULE(second_choice, SCHEDULER, CONSORT_PF_SWAPPABLE, "second-choice", "1.0", plugin);

std::atomic<int> ran[2];
template <int kWhich>
consort_status count(const consort_call *c) {
  EXPECT_EQ(c->impl, uint32_t{kWhich});
  *pointer<uint64_t>(*c, 0) += 1;
  return ++ran[kWhich], CONSORT_OK;
}

TEST(ChosenImplementation, HoldsWhileDataAreFetched) {
  static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(second_choice);
  uint64_t counters[STREAM_COUNTERS] = {};
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void *>(counters));
  const Pairs pairs = {{"plugins", "+" CONSORT_TEST_PLUGIN_DIR "/stream.so"}, {"drivers", "cpu, stream"}, {"cpu.workers", "1"},
                       {"cpu.topology", kFourCores}, {"stream.counters", address}, {"stream.space", "apart"},
                       {"stream.latency_ns", "1000000"}, {"scheduler", "second-choice"}};
  const consort_settings s = settings_with(pairs, entry);
  consort_runtime *started = nullptr;
  ASSERT_OK(consort_start(&s, &started));
  Rt rt(started);
  const consort_impl impls[] = {{"stream", count<0>, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                {"stream", count<1>, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  const consort_codelet_id codelet = codelet_of(rt, "count", impls);
  uint64_t x[8] = {};
  consort_data_id data[8];
  for (int i = 0; i < 8; ++i) data[i] = variable_of(rt, &x[i]);
  for (int round = 0; round < 2; ++round) {  // in the second one the data are on the device already
    for (const consort_data_id d : data) Desc(codelet).rw(d).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));  // a task issued behind an unfinished one would not be popped
  }
  EXPECT_EQ(ran[0], 0);
  EXPECT_EQ(ran[1], 16);
  for (int i = 0; i < 8; ++i) {
    ASSERT_OK(consort_unregister(rt, data[i]));
    EXPECT_EQ(x[i], 2u);
  }
  EXPECT_OK(rt.stop());
}

}  // namespace
