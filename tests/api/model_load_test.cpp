// What models tell a policy beside times: a worker's load, returned tasks, estimates of a driver; and queries that are
// refused or concurrent.
#include "api/model_asking.hpp"

namespace {

// A worker's load is the expected time of the tasks that it has begun.
TEST_F(Models, LoadIsTheExpectedTimeOfRunningTasks) {
  begin({{"workers", "2"}, {"calibrate_samples", "1"}});
  Gate gate;
  const auto held = body_(rt_, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto next = body_(rt_, "next", nap(0us));
  Desc d(held);
  ASSERT_OK(feed(d, 1e15));  // longer than any test
  Desc(next).must(rt_);  // the policy asks
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  Desc(held).on(1).must(rt_);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  Desc(next).on(0).must(rt_);
  const auto loads = [] {
    std::vector<float> out(2);
    const uint32_t workers[] = {0, 1};
    notes.sched->load_ns(notes.host, workers, 2, out.data());
    return out;
  };
  EXPECT_GT(loads().at(1), 1e14f);
  gate.open();
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_TRUE(eventually([&] { return loads() == std::vector<float>{0, 0}; }));
}

// A task that waits for its data has not begun; its worker's load counts it.
TEST_F(Models, LoadCountsTasksThatWaitForData) {
  begin({{"drivers", "sim"}, {"time", "virtual"}, {"sim.devices", "1"}, {"sim.cores", "1"}, {"sim.class", "cpu"},
         {"sim.latency", "10ms"}, {"sim.times", "task=1ms"}, {"calibrate_samples", "1"}});
  int v[2] = {0, 0};
  const auto loads = [] {  // of the host's core and of the device
    std::vector<float> out(2);
    const uint32_t workers[] = {0, 1};
    notes.sched->load_ns(notes.host, workers, 2, out.data());
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto c = body_(rt_, "task", nap(0us));
  run(Desc(c));
  for (uint32_t w = 0; w < 2; ++w) Desc(c).rw(variable_of(rt_, &v[w])).on(w).must(rt_);
  EXPECT_EQ(consort_wait_all(rt_, 5'000'000, 0), CONSORT_E_TIMEOUT);
  EXPECT_EQ(loads(), (std::vector<float>{0, 1}));
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(loads(), (std::vector<float>{0, 0}));
  stop();                              // brings them home
}

// Tasks with a commutative access are popped, find the datum in use, and return to the policy when they hold it. A
// policy that counts its tasks is told.
TEST_F(Models, ReturnedTasksAreFlagged) {
  begin({{"workers", "2"}});
  int x = 0;
  const auto datum = variable_of(rt_, &x);
  const auto c = body_(rt_, "commutes", nap(100us));
  const auto again = [] {
    const Lock lock(notes.mutex);
    return notes.again;
  };
  for (int round = 0; round < 200 && !again(); ++round) {  // two at once, sooner or later
    for (int i = 0; i < 20; ++i) Desc(c).use(datum, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt_);
    ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  }
  EXPECT_GT(again(), 0);
  ASSERT_OK(consort_unregister(rt_, datum));
  const Lock lock(notes.mutex);
  EXPECT_EQ(notes.unsaid, 0);
}

// A simulated machine's own estimate applies from the first task on; measurements replace it.
TEST_F(Models, DriverEstimatesApplyUntilMeasured) {
  begin({{"drivers", "sim"}, {"time", "virtual"}, {"sim.devices", "0"}, {"sim.cores", "2"}, {"sim.times", "slow=5ms"},
         {"calibrate_samples", "4"}});
  Desc d(body_(rt_, "slow", nap(0us)));
  run(d);
  EXPECT_FLOAT_EQ(last_times().at(0), 5e6f);
  EXPECT_FLOAT_EQ(last_times().at(1), 5e6f);
  run(d, 12);
  EXPECT_NEAR(last_times().at(0), 5e6f, 5e4f);
  const Rows rows(rt_);
  ASSERT_EQ(rows.all.size(), 1u) << "two units of one kind";
  EXPECT_EQ(rows.all[0].row.told, 5e6);
  EXPECT_EQ(rows.all[0].row.count, 13u);
}

TEST_F(Models, RefusesBadQueries) {
  begin({});
  const auto c = body_(rt_, "c", nap(0us));
  Desc d(c);
  double x = 0;
  consort_model m = CONSORT_MODEL_INIT;
  EXPECT_SAYS(CONSORT_E_INVAL, expected(d, &x, 99), "worker 99 does not exist");
  EXPECT_SAYS(CONSORT_E_INVAL, expected(d, &x, 0, CONSORT_NONE, 7), "what is 7");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_expected(rt_, nullptr, 0, 0, 0, &x), "task is NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_expected(rt_, d.desc(), 0, 0, 0, nullptr), "out is NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, feed(d, -1), "value is -1");
  EXPECT_SAYS(CONSORT_E_INVAL, feed(d, NAN), "above 0");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, feed(d, 1, 0, 5), "no such implementation");
  m.kind = 77;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_set_model(rt_, c, 0, &m), "kind is 77");
  m.kind = CONSORT_MODEL_PER_CLASS;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_set_model(rt_, c, 0, &m), "cost is NULL");
  m.size = 4;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_set_model(rt_, c, 0, &m), "sizeof(consort_model)");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_set_model(rt_, {0}, 0, &m), "no codelet");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_model_rows(rt_, c, nullptr, nullptr), "each is NULL");
  const auto gone = body_(rt_, "gone", nap(0us));
  ASSERT_OK(consort_codelet_remove(rt_, gone));
  Desc stale(gone);
  EXPECT_SAYS(CONSORT_E_STALE, expected(stale, &x), "stale");
}

// Many ask, many measure, models come and go: for the sanitizers.
TEST_F(Models, ConcurrentQueriesAndMeasurements) {
  begin({{"workers", "4"}, {"calibrate_samples", "2"}});
  const auto a = body_(rt_, "a", nap(0us)), b = body_(rt_, "b", nap(20us));
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int k = 0; k < 2; ++k)
    others.emplace_back([&, k] {
      for (uint64_t i = 1; !over.load(); ++i) {
        Desc d(k ? a : b);
        d.d.footprint = i % 8 + 1;
        double x = 0;
        EXPECT_GE(expected(d, &x, static_cast<uint32_t>(i % 4)), 0);
        if (i % 16 == 0) {
          EXPECT_OK(feed(d, 100, 0));
        }
        if (i % 64 == 0) (void)Rows(rt_);
        std::this_thread::sleep_for(50us);  // nap: questions between many samples
      }
    });
  for (int i = 0; i < 1000; ++i) {
    Desc d(i % 2 ? a : b);
    d.d.footprint = static_cast<uint64_t>(i / 2 % 8 + 1);
    d.must(rt_);
  }
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  over = true;
  for (auto &t : others) t.join();
  EXPECT_EQ(Rows(rt_).all.size(), 16u);
}

}  // namespace
