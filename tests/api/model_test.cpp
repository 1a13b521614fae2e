// Times of tasks: measured once a policy queries, or by a model given to the codelet.
#include "api/model_asking.hpp"

namespace {

TEST_F(Models, MeasuringStartsWithTheFirstQuery) {
  begin({{"scheduler", "eager"}});
  const auto c = body_(rt_, "quiet", nap(0us));
  run(Desc(c), 20);
  EXPECT_TRUE(Rows(rt_).all.empty());
  ASSERT_OK(consort_runtime_set_scheduler(rt_, "asks"));
  run(Desc(c), 20);
  ASSERT_EQ(Rows(rt_).all.size(), 1u);
  // The first may have been on its way before the first question was.
  EXPECT_GE(Rows(rt_).all[0].row.count, 19u);
  EXPECT_EQ(Rows(rt_).all[0].name, "quiet");
}

TEST_F(Models, HistoryNeedsEnoughSamples) {
  begin({{"calibrate_samples", "4"}});
  int x = 0;
  const auto datum = variable_of(rt_, &x);
  const auto c = body_(rt_, "nap", nap(2000us));
  Desc d(c);
  d.rw(datum);
  run(d);
  EXPECT_TRUE(std::isnan(last_times().at(0)));
  for (int i = 0; i < 6; ++i) run(d);
  EXPECT_GE(last_times().at(0), 2e6f);
  double ns = 0;
  EXPECT_EQ(expected(d, &ns), CONSORT_OK);
  EXPECT_GE(ns, 2e6);
  const Rows rows(rt_, c);
  ASSERT_EQ(rows.all.size(), 1u);
  EXPECT_EQ(rows.all[0].klass, "cpu");
  EXPECT_EQ(rows.all[0].row.bytes, sizeof x);
  EXPECT_GE(rows.all[0].row.count, 6u);
  EXPECT_GE(rows.all[0].row.median, 2e6);
  EXPECT_TRUE(std::isnan(rows.all[0].row.told));
  ASSERT_OK(consort_unregister(rt_, datum));
}

TEST_F(Models, MeasurementsCarryTheWorkersArchitecture) {  // PRF-12
  begin({{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "1"}, {"sim.devices", "1"}, {"calibrate_samples", "1"}});
  consort_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_info(rt_, &info));
  ASSERT_EQ(info.nworkers, 2u);
  std::vector<std::string> archs, classes;
  for (uint32_t w = 0; w < 2; ++w) {
    consort_worker_info i{};
    i.size = sizeof i;
    ASSERT_OK(consort_get_worker(rt_, w, &i));
    archs.push_back(i.arch), classes.push_back(i.klass);
  }
  EXPECT_NE(archs[0], archs[1]);
  Body nothing = nap(0us);
  const consort_impl impls[] = {{classes[0].c_str(), run_body, &nothing, nullptr, nullptr, nullptr, nullptr, 0},
                                {classes[1].c_str(), run_body, &nothing, nullptr, nullptr, nullptr, nullptr, 0}};
  Desc d(codelet_of(rt_, "both", impls));
  ASSERT_OK(feed(d, 10, 0, 0));
  ASSERT_OK(feed(d, 20, 1, 1));
  const Rows rows(rt_, d.d.codelet);
  ASSERT_EQ(rows.all.size(), 2u);
  for (const auto &one : rows.all) {
    const size_t w = one.klass == classes[1];
    EXPECT_EQ(one.arch, archs[w]);
    EXPECT_EQ(one.row.median, w ? 20 : 10) << "measurements of one architecture are no other's";
  }
  stop();
}

TEST_F(Models, DefaultsToTenSamples) {  // CAL-04
  begin({});
  Desc d(body_(rt_, "fed", nap(0us)));
  double ns = 0;
  for (int i = 0; i < 9; ++i) ASSERT_OK(feed(d, 1000));
  EXPECT_EQ(expected(d, &ns), CONSORT_AGAIN) << "nine are too few";
  ASSERT_OK(feed(d, 1000));
  EXPECT_EQ(expected(d, &ns), CONSORT_OK);
  EXPECT_EQ(ns, 1000);
}

TEST_F(Models, SeparatesBySizeWorkAndFootprint) {
  begin({{"calibrate_samples", "1"}});
  double v[64] = {};
  const auto small = vector_of(rt_, v, 8, sizeof *v), large = vector_of(rt_, v, 64, sizeof *v),
             alike = vector_of(rt_, v + 8, 8, sizeof *v);
  const auto c = body_(rt_, "sized", nap(0us));
  Desc a(c), b(c), like_a(c), more(c), own(c), quiet(c);
  a.r(small), b.r(large), like_a.r(alike), more.r(small), own.r(large);
  more.d.work = 1000;
  own.d.footprint = 77;
  quiet.use(small, CONSORT_M_R).use(large, CONSORT_M_R | CONSORT_M_NOFOOTPRINT);
  Desc quiet_too(c);
  quiet_too.use(small, CONSORT_M_R).use(alike, CONSORT_M_R | CONSORT_M_NOFOOTPRINT);
  double x = 0;
  ASSERT_OK(feed(a, 10));
  EXPECT_EQ(expected(b, &x), CONSORT_AGAIN);
  EXPECT_TRUE(std::isnan(x));
  ASSERT_EQ(expected(like_a, &x), CONSORT_OK);
  EXPECT_EQ(x, 10);
  EXPECT_EQ(expected(more, &x), CONSORT_AGAIN);
  ASSERT_OK(feed(own, 33));
  own.uses.clear();
  ASSERT_EQ(expected(own, &x), CONSORT_OK) << "its own word is all there is to it";
  EXPECT_EQ(x, 33);
  ASSERT_OK(feed(quiet, 44));
  ASSERT_EQ(expected(quiet_too, &x), CONSORT_OK) << "a datum that says so is no part of the size";
  EXPECT_EQ(x, 44);
  for (const auto id : {small, large, alike}) ASSERT_OK(consort_unregister(rt_, id));
}

TEST_F(Models, OutliersAreSetAside) {
  begin({});
  const auto c = body_(rt_, "fed", nap(0us));
  Desc d(c);
  for (int i = 0; i < 20; ++i) ASSERT_OK(feed(d, 1000 + i % 5));
  ASSERT_OK(feed(d, 1e12));
  double x = 0;
  ASSERT_EQ(expected(d, &x), CONSORT_OK);
  EXPECT_NEAR(x, 1002, 5);
  EXPECT_EQ(Rows(rt_).all.at(0).row.outliers, 1u);
  EXPECT_EQ(Rows(rt_).all.at(0).row.used, 20u);
}

TEST_F(Models, AdaptsToLastingChanges) {
  begin({});
  const auto c = body_(rt_, "fed", nap(0us));
  Desc d(c);
  for (int i = 0; i < 100; ++i) ASSERT_OK(feed(d, 1000 + i % 7));
  for (int i = 0; i < 12; ++i) ASSERT_OK(feed(d, 4000 + i % 7));
  double x = 0;
  ASSERT_EQ(expected(d, &x), CONSORT_OK);
  EXPECT_NEAR(x, 4003, 7);
}

TEST_F(Models, FailedAndWaitingTasksAreNotMeasured) {
  begin({{"calibrate_samples", "1"}});
  const auto bad = body_(rt_, "bad", [](const consort_call &) -> consort_status { return consort_fail(CONSORT_E_IO, "no"); });
  consort_task_id t = Desc(bad).must(rt_);
  EXPECT_EQ(consort_wait_all(rt_, kLong, 0), CONSORT_E_IO);
  (void)t;
  EXPECT_TRUE(Rows(rt_, bad).all.empty());
  const auto inner = body_(rt_, "inner", nap(1000us));
  const auto outer = body_(rt_, "outer", [&](const consort_call &) -> consort_status {
    const consort_task_id child = Desc(inner).must(rt_);
    return consort_task_wait(rt_, child, kLong, 0);
  });
  run(Desc(outer), 3);
  for (const auto &r : Rows(rt_).all) EXPECT_NE(r.name, "outer") << r.row.median;
}

TEST_F(Models, EnergyIsFedAndEstimated) {
  begin({{"calibrate_samples", "2"}});
  const auto c = body_(rt_, "hot", nap(0us));
  Desc d(c);
  double x = 0;
  EXPECT_EQ(expected(d, &x, 0, CONSORT_NONE, CONSORT_MODEL_ENERGY), CONSORT_AGAIN);
  for (int i = 0; i < 3; ++i) ASSERT_OK(feed(d, 250, 0, CONSORT_NONE, CONSORT_MODEL_ENERGY));
  ASSERT_EQ(expected(d, &x, 0, CONSORT_NONE, CONSORT_MODEL_ENERGY), CONSORT_OK);
  EXPECT_EQ(x, 250);
  run(d);
  const Lock lock(notes.mutex);
  EXPECT_EQ(notes.energies.back().at(0), 250);
}

double by_bytes(void *user, const consort_model_ask *a) { return *static_cast<double *>(user) * static_cast<double>(a->bytes); }

TEST_F(Models, CommonModelAppliesClassFactors) {
  begin({});
  double per_byte = 2, x = 0;
  uint64_t v[16] = {};
  const auto datum = vector_of(rt_, v, 16, sizeof *v);
  const auto c = body_(rt_, "known", nap(0us));
  const consort_model_factor factors[] = {{"cpu", 3}, {"elsewhere", 100}};
  consort_model m = CONSORT_MODEL_INIT;
  m.kind = CONSORT_MODEL_COMMON;
  m.cost = by_bytes;
  m.user = &per_byte;
  m.factors = factors;
  m.nfactors = 2;
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, &m));
  Desc d(c);
  d.r(datum);
  ASSERT_EQ(expected(d, &x), CONSORT_OK);
  EXPECT_EQ(x, 2 * 128 * 3);
  run(d);
  EXPECT_EQ(last_times().at(0), 2 * 128 * 3);
  EXPECT_SAYS(CONSORT_E_INVAL, feed(d, 1), "takes no measurements");
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, nullptr));
  EXPECT_EQ(expected(d, &x), CONSORT_AGAIN);
  ASSERT_OK(consort_unregister(rt_, datum));
}

TEST_F(Models, ModelsPerClassAndPerWorker) {
  begin({{"workers", "3"}});
  const auto c = body_(rt_, "known", nap(0us));
  consort_model m = CONSORT_MODEL_INIT;
  m.kind = CONSORT_MODEL_PER_CLASS;
  m.cost = [](void *, const consort_model_ask *a) -> double {
    return std::string(a->klass) == "cpu" && *a->arch && a->worker == CONSORT_NONE ? 7 : NAN;
  };
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, &m));
  run(Desc(c));
  EXPECT_EQ(last_times(), (std::vector<float>{7, 7, 7}));
  m.kind = CONSORT_MODEL_PER_WORKER;
  m.cost = [](void *, const consort_model_ask *a) -> double { return 10 + a->worker; };
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, &m));
  run(Desc(c));
  EXPECT_EQ(last_times(), (std::vector<float>{10, 11, 12}));
  m.cost = [](void *, const consort_model_ask *) -> double { throw 1; };
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, &m));
  run(Desc(c));
  EXPECT_TRUE(std::isnan(last_times().at(2))) << "an exception is no estimate";
}

TEST_F(Models, CustomFootprintGroupsTasks) {
  begin({{"calibrate_samples", "1"}});
  uint64_t v[64] = {};
  const auto a = vector_of(rt_, v, 30, sizeof *v), b = vector_of(rt_, v, 31, sizeof *v), far = vector_of(rt_, v, 50, sizeof *v);
  const auto c = body_(rt_, "coarse", nap(0us));
  consort_model m = CONSORT_MODEL_INIT;
  m.footprint = [](void *, const consort_model_ask *ask) -> uint64_t {
    uint64_t n[3] = {};
    return ask->sizes(ask, 0, n, 3) == 1 ? n[0] / 10 : 99;
  };
  ASSERT_OK(consort_codelet_set_model(rt_, c, CONSORT_MODEL_TIME, &m));
  Desc da(c), db(c), dfar(c);
  da.r(a), db.r(b), dfar.r(far);
  double x = 0;
  ASSERT_OK(feed(da, 5));
  ASSERT_EQ(expected(db, &x), CONSORT_OK);
  EXPECT_EQ(x, 5);
  EXPECT_EQ(expected(dfar, &x), CONSORT_AGAIN);
  for (const auto id : {a, b, far}) ASSERT_OK(consort_unregister(rt_, id));
}

TEST_F(Models, CodeletsOfOneNameShareAModel) {
  begin({{"calibrate_samples", "1"}});
  double x = 0;
  auto first = body_(rt_, "twice", nap(0us));
  Desc d(first);
  ASSERT_OK(feed(d, 5));
  ASSERT_OK(consort_codelet_remove(rt_, first));
  Desc again(body_(rt_, "twice", nap(0us)));
  ASSERT_EQ(expected(again, &x), CONSORT_OK);
  EXPECT_EQ(x, 5);
  run(again);
  EXPECT_EQ(Rows(rt_).all.at(0).row.count, 2u);
}

TEST_F(Models, RunsTheFastestImplementation) {
  begin({{"calibrate_samples", "3"}});
  std::atomic<int> ran[3] = {};
  struct One { std::atomic<int> *ran; int us; } ones[] = {{&ran[0], 3000}, {&ran[1], 300}, {&ran[2], 3000}};
  const auto fn = [](const consort_call *c) -> consort_status {
    const One &one = *static_cast<One *>(c->user);
    ++*one.ran;
    std::this_thread::sleep_for(std::chrono::microseconds(one.us));  // nap: a time that is measured
    return CONSORT_OK;
  };
  const consort_impl impls[] = {{"cpu", fn, &ones[0], "slow", nullptr, nullptr, nullptr, 0},
                                {"cpu", fn, &ones[1], "fast", nullptr, nullptr, nullptr, 0},
                                {"cpu", fn, &ones[2], "slow too", nullptr, nullptr, nullptr, 0}};
  Desc d(codelet_of(rt_, "choice", impls));
  for (int i = 0; i < 12; ++i) run(d);  // one by one: the first is asked about before anything is measured
  for (const auto &r : ran) EXPECT_GE(r.load(), 3) << "each is tried until it is known";
  // Sleeps last longer by an amount that depends on the machine; the measurements say which is fastest.
  double x[3] = {}, best = 0;
  for (uint32_t i = 0; i < 3; ++i) ASSERT_EQ(expected(d, &x[i], 0, i), CONSORT_OK);
  ASSERT_EQ(expected(d, &best), CONSORT_OK);
  const int fastest = static_cast<int>(std::min_element(x, x + 3) - x);
  EXPECT_EQ(best, x[fastest]);
  const Rows rows(rt_);
  ASSERT_EQ(rows.all.size(), 3u);
  EXPECT_EQ(rows.all[1].impl, "fast");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, expected(d, &best, 0, 9), "no such implementation");
}

TEST_F(Models, CalibrationOffMeasuresNothing) {
  begin({{"calibrate", "off"}});
  run(Desc(body_(rt_, "off", nap(0us))), 20);
  EXPECT_TRUE(std::isnan(last_times().at(0)));
  for (const auto &r : Rows(rt_).all) EXPECT_EQ(r.row.count, 0u);
}

TEST_F(Models, SettingSelectsAllOrGivenModels) {
  begin({{"models", "all"}}, false);
  run(Desc(body_(rt_, "all", nap(100us))), 5);
  EXPECT_EQ(Rows(rt_).all.size(), 1u);
  stop();
  begin({{"models", "given"}});
  const auto given = body_(rt_, "given", nap(100us)), other = body_(rt_, "other", nap(100us));
  consort_model m = CONSORT_MODEL_INIT;
  ASSERT_OK(consort_codelet_set_model(rt_, given, CONSORT_MODEL_TIME, &m));
  run(Desc(given), 3);
  run(Desc(other), 3);
  ASSERT_EQ(Rows(rt_).all.size(), 1u);
  EXPECT_EQ(Rows(rt_).all[0].name, "given");
}

}  // namespace
