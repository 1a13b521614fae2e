// What tasks take: by themselves once a policy asks, by a model that a codelet is given, by what a driver knows. The policy
// under test stands in this file: it asks about each task that is pushed, and writes down what it is told.
#define CONSORT_STATIC_PLUGIN
#include <consort/model.h>
#include <consort/scheduler.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "api/harness.hpp"
#include "support/policy_plugin.hpp"

namespace {

using namespace consort_test;

struct Notes {
  std::mutex mutex;
  std::deque<consort_task *> waiting;
  const consort_host *host = nullptr;
  const consort_sched_host *sched = nullptr;
  uint64_t epoch = 0;
  uint32_t nworkers = 0, ask_impl = CONSORT_NONE;
  bool ask = true;
  std::vector<std::vector<float>> times, energies;  // by push, by worker
  std::vector<float> loads;                         // when it was last asked
  std::set<uint64_t> popped;                        // tasks
  int again = 0, unsaid = 0;                        // pushed though they were popped before; and that was not said
} notes;

using Lock = std::lock_guard<std::mutex>;

void ask_all(const consort_task *const *tasks, uint32_t n) {
  std::vector<uint32_t> w(notes.nworkers);
  for (uint32_t i = 0; i < w.size(); ++i) w[i] = i;
  std::vector<float> times(size_t{n} * w.size()), energies(times.size());
  notes.loads.assign(w.size(), 0);
  notes.sched->expected_ns(notes.host, tasks, n, w.data(), notes.nworkers, notes.ask_impl, times.data());
  notes.sched->energy_uj(notes.host, tasks, n, w.data(), notes.nworkers, notes.ask_impl, energies.data());
  notes.sched->load_ns(notes.host, w.data(), notes.nworkers, notes.loads.data());
  for (uint32_t t = 0; t < n; ++t) {
    notes.times.emplace_back(times.begin() + t * w.size(), times.begin() + (t + 1) * w.size());
    notes.energies.emplace_back(energies.begin() + t * w.size(), energies.begin() + (t + 1) * w.size());
  }
}

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops),
    .flags = CONSORT_SF_NO_BYPASS,
    .create = [](void *, const consort_host *host, const consort_topology *t, uint64_t epoch,
                 void **out) -> consort_status {
      const Lock lock(notes.mutex);
      notes.host = host;
      notes.sched = static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID));
      notes.nworkers = t->nworkers;
      notes.epoch = epoch;
      *out = &notes;
      return CONSORT_OK;
    },
    .destroy = [](void *) {},
    .workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *,
                  uint32_t) -> consort_status { return CONSORT_OK; },
    .push = [](void *, const consort_push *p) -> uint32_t {
      const Lock lock(notes.mutex);
      if (p->epoch != notes.epoch) return 0;
      if (notes.ask) ask_all(p->ready, p->n);
      for (uint32_t i = 0; i < p->n; ++i) {
        const bool again = notes.popped.count(p->ready[i]->id);
        notes.again += again;
        notes.unsaid += again && !(p->flags & CONSORT_PUSH_RETRIED);
        notes.waiting.push_back(p->ready[i]);
        for (uint32_t w = 0; p->wake && w < notes.nworkers; ++w) p->wake->bits[0] |= uint64_t{1} << w, ++p->wake->k;
      }
      return p->n;
    },
    .pop = [](void *, uint32_t worker, consort_pick *out, uint32_t) -> uint32_t {
      const Lock lock(notes.mutex);
      for (auto i = notes.waiting.begin(); i != notes.waiting.end(); ++i) {
        uint64_t can = 0;
        notes.sched->can_execute(notes.host, &*i, 1, &worker, 1, &can);
        if (!can) continue;
        *out = {*i, CONSORT_NONE, CONSORT_NONE};
        notes.popped.insert((*i)->id);
        notes.waiting.erase(i);
        return 1;
      }
      return 0;
    },
    .drain = [](void *, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
      const Lock lock(notes.mutex);
      notes.epoch = epoch;
      uint32_t n = 0;
      for (; n < max && !notes.waiting.empty(); notes.waiting.pop_front()) out[n++] = notes.waiting.front();
      return n;
    },
    .quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; },
    .submitted = nullptr,
    .adopt = nullptr,
    .dropped = nullptr,
    .started = nullptr,
    .finished = nullptr,
    .flush = nullptr,
    .urgency = nullptr,
    .victim = nullptr,
    .next_event = nullptr,
    .direct = nullptr,
};

constexpr uint32_t kFlags = CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL;
constexpr consort_plugin plugin = consort_test::policy_plugin("asks", "asks what tasks take", ops, kFlags);
CONSORT_MODULE(asks, SCHEDULER, kFlags, "asks", "1.0", plugin);

struct Rows {
  struct One {
    std::string name, klass, impl, arch;
    consort_model_row row;
  };
  std::vector<One> all;
  explicit Rows(consort_runtime *rt, consort_codelet_id c = {0}) {
    EXPECT_OK(consort_model_rows(rt, c, [](void *user, const consort_model_row *r) {
      static_cast<Rows *>(user)->all.push_back({r->name, r->klass, r->impl, r->arch, *r});
    }, this));
  }
};

class Models : public ::testing::Test {
 protected:
  void begin(const Pairs &more, bool ask = true) {
    {
      const Lock lock(notes.mutex);
      notes.waiting.clear();
      notes.popped.clear();
      notes.again = notes.unsaid = 0;
      notes.times.clear(), notes.energies.clear(), notes.loads.clear();
      notes.ask = ask;
      notes.ask_impl = CONSORT_NONE;
    }
    Pairs pairs = {{"scheduler", "asks"}, {"keep_models", "no"}};
    if (std::none_of(more.begin(), more.end(), [](const auto &s) { return std::string(s.key) == "drivers"; })) {
      pairs.push_back({"cpu.topology", kFourCores});
      pairs.push_back({"workers", "1"});
    }
    pairs.insert(pairs.end(), more.begin(), more.end());
    static consort_entry_fn *const entries[] = {CONSORT_ENTRY_NAME(asks)};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.modules = entries;
    s.nmodules = 1;
    need(consort_start(&s, &rt_), "start");
  }
  void TearDown() override { stop(); }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  void run(Desc d, int times = 1) {
    for (int i = 0; i < times; ++i) d.must(rt_);
    EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  }
  consort_status expected(Desc &d, double *out, uint32_t worker = 0, uint32_t impl = CONSORT_NONE,
                          uint32_t what = CONSORT_MODEL_TIME) {
    return consort_expected(rt_, d.desc(), worker, impl, what, out);
  }
  consort_status feed(Desc &d, double x, uint32_t worker = 0, uint32_t impl = CONSORT_NONE,
                      uint32_t what = CONSORT_MODEL_TIME) {
    return consort_model_feed(rt_, d.desc(), worker, impl, what, x);
  }
  static std::vector<float> last_times() {
    const Lock lock(notes.mutex);
    return notes.times.empty() ? std::vector<float>() : notes.times.back();
  }

  Bodies body_;
  consort_runtime *rt_ = nullptr;
};

Body nap(std::chrono::microseconds time) {
  return [time](const consort_call &) { return std::this_thread::sleep_for(time), CONSORT_OK; };
}

TEST_F(Models, NothingIsMeasuredUntilSomebodyAsks) {
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

TEST_F(Models, AHistoryIsKnownOnceThereIsEnoughOfIt) {
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

TEST_F(Models, TheArchitectureOfAWorkerIsThatOfItsMeasurements) {  // PRF-12
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

TEST_F(Models, TenMeasurementsMakeAnEstimateByDefault) {  // CAL-04
  begin({});
  Desc d(body_(rt_, "fed", nap(0us)));
  double ns = 0;
  for (int i = 0; i < 9; ++i) ASSERT_OK(feed(d, 1000));
  EXPECT_EQ(expected(d, &ns), CONSORT_AGAIN) << "nine are too few";
  ASSERT_OK(feed(d, 1000));
  EXPECT_EQ(expected(d, &ns), CONSORT_OK);
  EXPECT_EQ(ns, 1000);
}

TEST_F(Models, BySizeOfTheDataByWorkAndByWhatTheTaskSays) {
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

TEST_F(Models, OneBadMeasurementOfManyIsSetApart) {
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

TEST_F(Models, TimesThatHaveChangedForGoodAreSoonBelieved) {
  begin({});
  const auto c = body_(rt_, "fed", nap(0us));
  Desc d(c);
  for (int i = 0; i < 100; ++i) ASSERT_OK(feed(d, 1000 + i % 7));
  for (int i = 0; i < 12; ++i) ASSERT_OK(feed(d, 4000 + i % 7));
  double x = 0;
  ASSERT_EQ(expected(d, &x), CONSORT_OK);
  EXPECT_NEAR(x, 4003, 7);
}

TEST_F(Models, WhatFailsOrRunsOthersInBetweenIsNotMeasured) {
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

TEST_F(Models, EnergyIsFedAndTold) {
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

TEST_F(Models, AFunctionForAllWithAFactorForEachClass) {
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

TEST_F(Models, AFunctionForEachClassOrEachWorker) {
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
  EXPECT_TRUE(std::isnan(last_times().at(2))) << "who throws does not know";
}

TEST_F(Models, AFootprintOfTheProgramsOwn) {
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

TEST_F(Models, CodeletsOfOneNameShareWhatIsKnown) {
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

TEST_F(Models, OfSeveralImplementationsTheFastestIsRun) {
  begin({{"calibrate_samples", "3"}});
  std::atomic<int> ran[3] = {};
  struct One { std::atomic<int> *ran; int us; } ones[] = {{&ran[0], 3000}, {&ran[1], 300}, {&ran[2], 3000}};
  const auto fn = [](const consort_call *c) -> consort_status {
    const One &one = *static_cast<One *>(c->user);
    ++*one.ran;
    std::this_thread::sleep_for(std::chrono::microseconds(one.us));
    return CONSORT_OK;
  };
  const consort_impl impls[] = {{"cpu", fn, &ones[0], "slow", nullptr, nullptr, nullptr, 0},
                                {"cpu", fn, &ones[1], "fast", nullptr, nullptr, nullptr, 0},
                                {"cpu", fn, &ones[2], "slow too", nullptr, nullptr, nullptr, 0}};
  Desc d(codelet_of(rt_, "choice", impls));
  for (int i = 0; i < 12; ++i) run(d);  // one by one: the first is asked about before anything is measured
  for (const auto &r : ran) EXPECT_GE(r.load(), 3) << "each is tried until it is known";
  // What it sleeps longer is the machine's affair; the figures say which is fastest.
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

TEST_F(Models, OfAllFromTheStartOrOnlyOfThoseThatWereGiven) {
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

// A worker's load: what it has begun, by what was expected of it.
TEST_F(Models, LoadIsWhatWasBegunAndIsNotOver) {
  begin({{"workers", "2"}, {"calibrate_samples", "1"}});
  Gate gate;
  const auto held = body_(rt_, "held", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto next = body_(rt_, "next", nap(0us));
  Desc d(held);
  ASSERT_OK(feed(d, 1e15));  // longer than any test
  Desc(next).must(rt_);      // somebody asks
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

// One that waits for its data has not begun; its worker's load is not nothing.
TEST_F(Models, LoadCountsWhatWaitsForItsData) {
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

// Tasks that use a datum in any order are popped, find it in use, and come back when they have it: a policy that counts what
// it handed out is told.
TEST_F(Models, WhatComesBackIsSaidToHaveBeenThere) {
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

// A simulated machine's own word, from the first task on; then what was measured.
TEST_F(Models, WhatADriverKnowsIsToldUntilThereIsMore) {
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

TEST_F(Models, BadQuestionsAreRefused) {
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
TEST_F(Models, AskedAndMeasuredAtOnce) {
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
        std::this_thread::sleep_for(50us);
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
