// Units with queues. Chains are issued without a host round trip for each task, and failures in flight are reported.
// Tasks behind an unfinished predecessor end after it. Over the stream double.
#include "../api/harness.hpp"
#include "../api/settled.hpp"
#include "../plugins/stream/stream.h"

namespace {

using namespace consort_test;

struct StreamMachine {
  uint64_t counters[STREAM_COUNTERS] = {};
  std::string address, plugin = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so";
  Pairs pairs;
  std::unique_ptr<Rt> rt;
  explicit StreamMachine(const Pairs &more, const char *workers = "2") {
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<void *>(counters));
    address = text;
    pairs = {{"plugins", plugin.c_str()}, {"cpu.workers", workers}, {"cpu.topology", kFourCores}, {"stream.counters", address.c_str()}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
  }
  uint64_t count(int what) const { return __atomic_load_n(&counters[what], __ATOMIC_SEQ_CST); }
};

consort_codelet_id on(consort_runtime *rt, const char *klass, consort_call_fn *fn, uint32_t flags = 0, const char *second = nullptr) {
  const consort_impl impls[] = {{klass, fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0}, {second, fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "link";
  d.impls = impls;
  d.nimpls = second ? 2 : 1;
  d.flags = flags;
  consort_codelet_id id{0};
  need(consort_codelet_add(rt, &d, &id), "codelet");
  return id;
}

consort_status times3plus1(const consort_call *c) {
  uint64_t *x = pointer<uint64_t>(*c, 0);
  *x = *x * 3 + 1;
  return CONSORT_OK;
}
uint64_t after(uint64_t x, int n) {
  while (n--) x = x * 3 + 1;
  return x;
}

TEST(Queue, AcquireWaitsForIssuedTasks) {
  StreamMachine m(Pairs{{"stream.latency_ns", "2000000"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id link = on(*m.rt, "stream", times3plus1);
  for (int round = 1; round <= 20; ++round) {
    for (int i = 0; i < 3; ++i) Desc(link).rw(d).must(*m.rt);
    consort_hold hold;
    ASSERT_OK(consort_acquire(*m.rt, d, CONSORT_M_R, kLong, &hold));
    ASSERT_EQ(x, after(1, 3 * round));
    ASSERT_OK(consort_release(*m.rt, hold));
  }
  ASSERT_OK(consort_unregister(*m.rt, d));
}

TEST(Queue, BatchWakesOneWorkerOfEachClass) {
  StreamMachine m(Pairs{}, "4");
  uint64_t x[3] = {1, 1, 1};
  consort_data_id d[3];
  for (int i = 0; i < 3; ++i) d[i] = variable_of(*m.rt, &x[i]);
  const consort_codelet_id here = on(*m.rt, "cpu", times3plus1), there = on(*m.rt, "stream", times3plus1);
  Bodies bodies;
  Gate *gate = nullptr;
  const consort_codelet_id held = bodies(*m.rt, "first", [&](const consort_call &) { return gate->pass(), CONSORT_OK; });
  for (int round = 0; round < 20; ++round) {
    Gate now;
    gate = &now;
    Desc first(held);
    for (int i = 0; i < 3; ++i) first.rw(d[i]);
    first.must(*m.rt);
    for (int i = 0; i < 3; ++i) Desc(i == 1 ? there : here).rw(d[i]).must(*m.rt);
    ASSERT_TRUE(settled());  // all but one sleep
    now.open();
    ASSERT_OK(consort_wait_all(*m.rt, kLong, CONSORT_WAIT_NO_HELP));
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(consort_unregister(*m.rt, d[i]));
    EXPECT_EQ(x[i], after(1, 20));
  }
}

// The first unit's queue has as many ops in flight as it takes; the second unit sleeps.
TEST(Queue, FullQueueKeepsNoTaskFromAnother) {
  static std::atomic<int> begun, ended;
  static std::atomic<bool> open;
  begun = ended = 0;
  open = false;
  const auto wait = [](const consort_call *) -> consort_status {
    for (++begun; !open;) std::this_thread::sleep_for(1ms);  // nap: between two looks
    return CONSORT_OK;
  };
  const auto count = [](const consort_call *) -> consort_status { return ++ended, CONSORT_OK; };
  StreamMachine m({{"stream.units", "2"}, {"stream.depth", "1"}, {"scheduler", "eager"}, {"spin_us", "0"}}, "1");
  const consort_codelet_id held = on(*m.rt, "stream", wait), other = on(*m.rt, "stream", count);
  for (int round = 1; round <= 5; ++round) {
    open = false;
    Desc(held).must(*m.rt);
    ASSERT_TRUE(eventually([&] { return begun == round; }));
    ASSERT_TRUE(settled());
    Desc(other).must(*m.rt);
    EXPECT_TRUE(eventually([&] { return ended == round; })) << "round " << round;
    open = true;
    ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  }
}

TEST(Queue, WorkerSleepsWhileItsDeviceWorks) {
  StreamMachine m(Pairs{{"stream.latency_ns", "100000000"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x);
  Desc(on(*m.rt, "stream", times3plus1)).rw(d).must(*m.rt);
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  EXPECT_GE(m.count(STREAM_ARMS), 1u);
  EXPECT_LE(m.count(STREAM_POLLS), 20000u) << "a tenth of a second of polling is some 10^6 polls";
  ASSERT_OK(consort_unregister(*m.rt, d));
  EXPECT_EQ(x, 4u);
}

TEST(Queue, IssuesChainsWithoutRoundTrips) {
  StreamMachine m(Pairs{{"stream.latency_ns", "20000"}, {"window", "0"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id link = on(*m.rt, "stream", times3plus1);
  for (int i = 0; i < 1000; ++i) Desc(link).rw(d).must(*m.rt);
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  ASSERT_OK(consort_unregister(*m.rt, d));
  EXPECT_EQ(x, after(1, 1000));
  EXPECT_EQ(m.count(STREAM_OPS), 1000u);
  EXPECT_EQ(m.count(STREAM_COMPLETED), 1000u);
  EXPECT_GE(m.count(STREAM_IN_FLIGHT), 16u) << "followers should be in flight together";
  EXPECT_LE(m.count(STREAM_ROUND_TRIPS), 50u) << "the device ran dry between links";
}

TEST(Queue, WindowHoldsWhileADeviceWorks) {
  for (const char *pump : {"threads", "manual"}) {
    StreamMachine m(Pairs{{"stream.latency_ns", "3000000"}, {"window", "4"}, {"pump", pump}});
    static std::atomic<int> ran;
    ran = 0;
    const consort_codelet_id link = on(*m.rt, "stream", [](const consort_call *) -> consort_status { return ++ran, CONSORT_OK; });
    int most = 0;
    for (int i = 0; i < 100; ++i) {
      Desc(link).must(*m.rt);
      most = std::max(most, i + 1 - ran.load());
    }
    ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
    EXPECT_LE(most, 4) << pump;
  }
}

TEST(Queue, AsynchronousCodeletsAreIssuedEarly) {
  StreamMachine m(Pairs{{"stream.latency_ns", "20000"}, {"window", "0"}});
  uint64_t x = 0;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id link = on(*m.rt, "stream", [](const consort_call *c) -> consort_status {
    auto *native = static_cast<stream_native *>(c->native_queue);
    native->enqueue(native, [](void *p) { ++*static_cast<uint64_t *>(p); }, pointer<uint64_t>(*c, 0));
    return CONSORT_OK;
  }, CONSORT_CL_ASYNC);
  for (int i = 0; i < 300; ++i) Desc(link).rw(d).must(*m.rt);
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  EXPECT_EQ(x, 300u);
  EXPECT_LE(m.count(STREAM_ROUND_TRIPS), 30u);
}

TEST(Queue, QueuesWaitForEachOthersTickets) {
  StreamMachine m(Pairs{{"stream.latency_ns", "20000"}, {"stream.units", "2"}, {"stream.waits", "true"}, {"window", "0"}});
  uint64_t x = 1, y = 1;
  const consort_data_id dx = variable_of(*m.rt, &x), dy = variable_of(*m.rt, &y);
  const consort_codelet_id link = on(*m.rt, "stream", times3plus1);
  const consort_codelet_id add = on(*m.rt, "stream", [](const consort_call *c) -> consort_status {
    *pointer<uint64_t>(*c, 0) += *pointer<uint64_t>(*c, 1);
    return CONSORT_OK;
  });
  uint64_t ex = 1, ey = 1;
  for (int i = 0; i < 200; ++i) {
    Desc(link).rw(dx).must(*m.rt);
    Desc(link).rw(dy).must(*m.rt);
    Desc(add).rw(dx).r(dy).must(*m.rt);
    Desc(add).rw(dy).r(dx).must(*m.rt);
    ex = ex * 3 + 1;
    ey = ey * 3 + 1;
    ex += ey;
    ey += ex;
  }
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  ASSERT_OK(consort_unregister(*m.rt, dx));
  ASSERT_OK(consort_unregister(*m.rt, dy));
  EXPECT_EQ(x, ex);
  EXPECT_EQ(y, ey);
}

TEST(Queue, HostAndStreamAlternateOnOneDatum) {
  StreamMachine m(Pairs{{"stream.latency_ns", "5000"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id here = on(*m.rt, "cpu", times3plus1), there = on(*m.rt, "stream", times3plus1), either = on(*m.rt, "cpu", times3plus1, 0, "stream");
  for (int i = 0; i < 300; ++i) Desc(i % 3 == 0 ? here : i % 3 == 1 ? there : either).rw(d).must(*m.rt);
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  ASSERT_OK(consort_unregister(*m.rt, d));
  EXPECT_EQ(x, after(1, 300));
}

// Submitted while its predecessor, issued long ago, is just ending: either the submitter has it follow, or it is ready.
TEST(Queue, TaskSubmittedAtItsPredecessorsEndRunsOnce) {
  StreamMachine m(Pairs{{"stream.latency_ns", "50000"}}, "1");
  uint64_t x = 0;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id there = on(*m.rt, "stream", [](const consort_call *c) -> consort_status {
    ++*pointer<uint64_t>(*c, 0);
    return CONSORT_OK;
  });
  const uint64_t n = full() ? 200'000 : 1'500 / kSlow;
  for (uint64_t i = 0; i < n; i += 2) {
    Desc(there).rw(d).must(*m.rt);
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(i * 7919 % 300'000);
    while (std::chrono::steady_clock::now() < until) {}
    const consort_task_id second = Desc(there).rw(d).must(*m.rt);
    ASSERT_OK(consort_task_wait(*m.rt, second, kLong, CONSORT_WAIT_NO_HELP));
  }
  ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
  ASSERT_OK(consort_unregister(*m.rt, d));
  EXPECT_EQ(x, n);
}

TEST(Queue, FailedOpPoisonsIssuedSuccessors) {
  StreamMachine m(Pairs{{"stream.latency_ns", "20000"}, {"stream.fail_op", "10"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x, "the datum");
  const consort_codelet_id link = on(*m.rt, "stream", times3plus1);
  for (int i = 0; i < 40; ++i) Desc(link).rw(d).must(*m.rt);
  EXPECT_LT(consort_wait_all(*m.rt, kLong, 0), 0);
  consort_failure f{};
  f.size = sizeof f;
  ASSERT_OK(consort_group_failure(*m.rt, {0}, &f));
  EXPECT_EQ(f.nfailed, 31u) << f.chain;
  consort_hold h;
  EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(*m.rt, d, CONSORT_M_R, kLong, &h), "the datum");
  ASSERT_OK(consort_invalidate(*m.rt, d));
  ASSERT_OK(consort_unregister(*m.rt, d));
}

TEST(Queue, LostDeviceFailsItsTasks) {
  StreamMachine m(Pairs{{"stream.latency_ns", "10000"}, {"stream.lost_after", "50"}, {"log", "error"}});
  uint64_t x = 1;
  const consort_data_id d = variable_of(*m.rt, &x);
  const consort_codelet_id link = on(*m.rt, "stream", times3plus1);
  for (int i = 0; i < 200; ++i) Desc(link).rw(d).must(*m.rt);
  EXPECT_SAYS(CONSORT_E_DEVICE_LOST, consort_wait_all(*m.rt, kLong, 0), "task 'link' failed", "its device is lost");
  const Answer last(consort_unregister(*m.rt, d));
  EXPECT_TRUE(answered(CONSORT_E_DEVICE_LOST, last, {"its device is lost"}));
  EXPECT_EQ(last.text.find("no reason"), last.text.npos) << "of any link: " << last.text;
  EXPECT_OK(m.rt->stop());
}

TEST(Queue, ExceptionOnTheStreamFailsTheTask) {
  StreamMachine m(Pairs{});
  const consort_codelet_id bad = on(*m.rt, "stream", [](const consort_call *) -> consort_status { throw std::runtime_error("the disk is full of cats"); });
  const consort_task_id t = Desc(bad).must(*m.rt);
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(*m.rt, t, kLong, 0), "full of cats", "stream0");
  EXPECT_LT(consort_wait_all(*m.rt, kLong, 0), 0);
}

TEST(Queue, RandomGraphsGiveTheSequentialValues) {
  for (int round = 0; round < (full() ? 60 : 8); ++round) {
    StreamMachine m(Pairs{{"stream.latency_ns", round % 2 ? "0" : "3000"}, {"stream.units", "2"}, {"stream.depth", round % 3 ? "64" : "3"}, {"stream.waits", round % 4 < 2 ? "true" : "false"}});
    constexpr int kData = 8;
    uint64_t x[kData], want[kData];
    consort_data_id d[kData];
    for (int i = 0; i < kData; ++i) x[i] = want[i] = static_cast<uint64_t>(i), d[i] = variable_of(*m.rt, &x[i]);
    const auto mix = [](const consort_call *c) -> consort_status {
      uint64_t h = value<uint64_t>(*c, 0);
      for (uint32_t i = 0; i < c->nviews; ++i) h = h * 6364136223846793005u + *pointer<uint64_t>(*c, i);
      *pointer<uint64_t>(*c, 0) = h;
      return CONSORT_OK;
    };
    const consort_codelet_id c[] = {on(*m.rt, "cpu", mix), on(*m.rt, "stream", mix), on(*m.rt, "stream", mix, 0, "cpu")};
    uint64_t seed = 88172645463325252u + static_cast<uint64_t>(round);
    const auto draw = [&](uint64_t n) { seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; return seed % n; };
    for (uint64_t t = 0; t < 600; ++t) {
      const uint64_t n = 1 + draw(4), first = draw(kData), step = 1 + 2 * draw(3);
      Desc task(c[draw(3)]);
      uint64_t h = t;
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t k = (first + i * step) % kData;
        i ? task.r(d[k]) : task.rw(d[k]);
        h = h * 6364136223846793005u + want[k];
      }
      want[first] = h;
      task.arg(t).must(*m.rt);
    }
    ASSERT_OK(consort_wait_all(*m.rt, kLong, 0));
    for (int i = 0; i < kData; ++i) {
      ASSERT_OK(consort_unregister(*m.rt, d[i]));
      ASSERT_EQ(x[i], want[i]) << "round " << round << ", datum " << i;
    }
  }
}

}  // namespace
