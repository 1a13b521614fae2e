// Regressions: estimates for sizes without measurements, by a curve through measured sizes. PRF-04, PRF-05, PRF-08,
// PRF-14.
#include <consort/model.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "api/harness.hpp"
#include "support/folder.hpp"

namespace {

using namespace consort_test;

struct Curves {
  std::vector<consort_model_curve> all;
  explicit Curves(consort_runtime *rt, consort_codelet_id c = {0}) {
    EXPECT_OK(consort_model_curves(rt, c, [](void *user, const consort_model_curve *one) {
      static_cast<Curves *>(user)->all.push_back(*one);
    }, this));
  }
};

class ModelRegression : public ::testing::Test {
 protected:
  void begin(const char *keep = "no") {
    stop();
    const Pairs pairs = {{"scheduler", "eager"}, {"workers", "1"}, {"cpu.topology", kFourCores}, {"calibrate_samples", "4"},
                         {"keep_models", keep}, {"model_folder", folder_.path().c_str()}};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    need(consort_start(&s, &rt_), "start");
    codelet_ = body_(rt_, "curved", [](const consort_call &) { return CONSORT_OK; });
  }
  void TearDown() override { stop(); }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  // Told by `work`, so that sizes need no data.
  static void by_work(void *, const consort_model_ask *ask, double *out) { out[0] = static_cast<double>(ask->work); }
  static void by_two(void *, const consort_model_ask *ask, double *out) {
    out[0] = static_cast<double>(ask->work % 1000);
    out[1] = static_cast<double>(ask->work / 1000);
  }
  void give(uint32_t kind, consort_model_measure_fn *measure = by_work) {
    consort_model m = CONSORT_MODEL_INIT;
    m.kind = kind;
    m.measure = measure;
    ASSERT_OK(consort_codelet_set_model(rt_, codelet_, CONSORT_MODEL_TIME, &m));
  }
  Desc task(uint64_t work) const {
    Desc d(codelet_);
    d.d.work = work;
    return d;
  }
  void feed(uint64_t work, double ns, int times = 4) {
    Desc d = task(work);
    for (int i = 0; i < times; ++i) ASSERT_OK(consort_model_feed(rt_, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, ns));
  }
  double expected(uint64_t work) {
    Desc d = task(work);
    double x = NAN;
    const consort_status s = consort_expected(rt_, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, &x);
    EXPECT_EQ(s, std::isnan(x) ? CONSORT_AGAIN : CONSORT_OK);
    return x;
  }

  const Folder folder_{"curves"};
  Bodies body_;
  consort_runtime *rt_ = nullptr;
  consort_codelet_id codelet_{};
};

TEST_F(ModelRegression, EstimatesUnmeasuredSizes) {
  begin();
  give(CONSORT_MODEL_LINEAR);
  for (const uint64_t n : {100, 200}) feed(n, 50.0 * static_cast<double>(n) + 1000);
  EXPECT_TRUE(std::isnan(expected(150))) << "two make no curve";
  feed(400, 21000, 3);
  EXPECT_TRUE(std::isnan(expected(150))) << "three measurements are not enough of a size";
  feed(400, 21000, 1);
  EXPECT_NEAR(expected(150), 8500, 1);
  EXPECT_NEAR(expected(800), 41000, 5);
  EXPECT_TRUE(std::isnan(expected(10000))) << "too far out";
  // A measurement of that size takes precedence.
  feed(150, 9999);
  EXPECT_EQ(expected(150), 9999);
  const Curves curves(rt_, codelet_);
  ASSERT_EQ(curves.all.size(), 1u);
  EXPECT_EQ(curves.all[0].kind, uint32_t{CONSORT_MODEL_LINEAR});
  EXPECT_GE(curves.all[0].points, 3u);
  EXPECT_NEAR(curves.all[0].factors[0], 50, 3);
  EXPECT_EQ(curves.all[0].low, 100);
  EXPECT_EQ(curves.all[0].high, 400);
}

TEST_F(ModelRegression, FitsEveryKind) {
  begin();
  const auto cube = [](double n) { return 2 * n * n * n; };
  give(CONSORT_MODEL_POWER);
  for (const uint64_t n : {32, 64, 128, 256}) feed(n, cube(static_cast<double>(n)));
  EXPECT_NEAR(expected(100), cube(100), 10);
  EXPECT_NEAR(Curves(rt_).all.at(0).exponent, 3, 1e-4);
  const auto late = [](double n) { return 100000 + n * n; };
  give(CONSORT_MODEL_POWER_OFFSET);
  for (const uint64_t n : {50, 100, 500, 1000, 2000}) feed(n, late(static_cast<double>(n)));
  EXPECT_NEAR(expected(700) / late(700), 1, 0.01);
  consort_model m = CONSORT_MODEL_INIT;
  m.kind = CONSORT_MODEL_TERMS;
  m.measure = by_two;
  const double exponents[] = {1, 1, 0, 1};  // a b, b
  m.exponents = exponents;
  m.nmeasures = m.nterms = 2;
  ASSERT_OK(consort_codelet_set_model(rt_, codelet_, CONSORT_MODEL_TIME, &m));
  for (const uint64_t a : {5, 50, 100})
    for (const uint64_t b : {2, 20}) feed(a + 1000 * b, 3.0 * static_cast<double>(a * b) + 11.0 * static_cast<double>(b) + 70);
  EXPECT_NEAR(expected(20 + 1000 * 10), 600 + 110 + 70, 0.1);
}

TEST_F(ModelRegression, FitsByDataSize) {
  begin();
  give(CONSORT_MODEL_LINEAR, nullptr);
  std::vector<double> v(4096);
  const auto told = [&](size_t n, double ns) {
    const auto datum = vector_of(rt_, v.data(), n, sizeof(double));
    Desc d(codelet_);
    d.r(datum);
    double x = NAN;
    if (ns > 0) {
      for (int i = 0; i < 4; ++i) EXPECT_OK(consort_model_feed(rt_, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, ns));
    } else {
      EXPECT_EQ(consort_expected(rt_, d.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, &x), CONSORT_OK);
    }
    EXPECT_OK(consort_unregister(rt_, datum));
    return x;
  };
  for (const size_t n : {128, 512, 2048}) told(n, 8.0 * static_cast<double>(n));
  EXPECT_NEAR(told(1000, 0), 8000, 1);
}

TEST_F(ModelRegression, UsesStoredSizesFromTheStart) {
  begin("yes");
  give(CONSORT_MODEL_LINEAR);
  for (const uint64_t n : {100, 200, 400}) feed(n, 50.0 * static_cast<double>(n));
  begin("yes");
  give(CONSORT_MODEL_LINEAR);
  EXPECT_NEAR(expected(300), 15000, 1);
  // Kept by a model without measures, they are the bytes of the data: none here.
  begin("yes");
  give(CONSORT_MODEL_LINEAR, nullptr);
  EXPECT_TRUE(std::isnan(expected(300)));
}

TEST_F(ModelRegression, NanMeasuresGiveNoRegression) {
  begin();
  give(CONSORT_MODEL_LINEAR, [](void *, const consort_model_ask *, double *out) { out[0] = NAN; });
  for (const uint64_t n : {100, 200, 400}) feed(n, 50);
  EXPECT_TRUE(std::isnan(expected(300)));
  EXPECT_TRUE(Curves(rt_).all.empty());
}

TEST_F(ModelRegression, RefusesBadModels) {
  begin();
  const double exponents[] = {1, 2, 3, 99};
  const auto refused = [&](auto change, const char *why) {
    consort_model m = CONSORT_MODEL_INIT;
    m.kind = CONSORT_MODEL_TERMS;
    m.measure = by_two;
    m.exponents = exponents;
    m.nmeasures = m.nterms = 1;
    change(m);
    EXPECT_EQ(consort_codelet_set_model(rt_, codelet_, CONSORT_MODEL_TIME, &m), CONSORT_E_INVAL) << why;
    EXPECT_NE(std::string(consort_error()).find(why), std::string::npos) << consort_error();
  };
  refused([](auto &m) { m.kind = 9; }, "model->kind is 9");
  refused([](auto &m) { m.kind = CONSORT_MODEL_LINEAR; }, "1 to 8 terms for the kind TERMS");
  refused([](auto &m) { m.kind = CONSORT_MODEL_HISTORY; }, "are for the kinds LINEAR to TERMS");
  refused([](auto &m) { m.nmeasures = 5; }, "4 are the most");
  refused([](auto &m) { m.measure = nullptr, m.nmeasures = 2; }, "there is one, the bytes");
  refused([](auto &m) { m.nterms = 9; }, "1 to 8 terms");
  refused([](auto &m) { m.exponents = nullptr; }, "1 to 8 terms");
  refused([](auto &m) { m.nterms = 4; }, "model->exponents[3] is 99");
  refused([](auto &m) { m.size = 8; }, "set it to sizeof(consort_model)");
  consort_model older = CONSORT_MODEL_INIT;
  older.size = offsetof(consort_model, measure);
  EXPECT_OK(consort_codelet_set_model(rt_, codelet_, CONSORT_MODEL_TIME, &older));
  consort_model_curve c;
  const double x[] = {1, 2, 3}, y[] = {2, 4, 6};
  EXPECT_EQ(consort_fit(CONSORT_MODEL_TERMS, x, y, 3, &c), CONSORT_E_INVAL);
  EXPECT_EQ(consort_fit(CONSORT_MODEL_LINEAR, x, y, 2, &c), CONSORT_AGAIN);
  ASSERT_EQ(consort_fit(CONSORT_MODEL_LINEAR, x, y, 3, &c), CONSORT_OK);
  EXPECT_NEAR(consort_curve_at(&c, 5), 10, 1e-9);
  EXPECT_TRUE(std::isnan(consort_curve_at(nullptr, 5)));
  EXPECT_EQ(consort_fit(CONSORT_MODEL_LINEAR, nullptr, y, 3, &c), CONSORT_E_INVAL);
}

TEST_F(ModelRegression, EstimateDuringRefit) {
  begin();
  give(CONSORT_MODEL_LINEAR);
  for (const uint64_t n : {100, 200, 400}) feed(n, 50.0 * static_cast<double>(n));
  std::thread feeder([this] {
    for (uint64_t n = 500; n < 700; ++n) feed(n, 50.0 * static_cast<double>(n));
  });
  for (int i = 0; i < 2000; ++i)
    if (const double x = expected(300); !std::isnan(x)) {  // NaN: it met the writer every time
      ASSERT_NEAR(x, 15000, 1);
    }
  feeder.join();
  EXPECT_NEAR(expected(300), 15000, 1);
  EXPECT_GE(Curves(rt_).all.at(0).points, 150u);
}

}  // namespace
