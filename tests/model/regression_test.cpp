// Curves through measurements: they find the law behind the points, a few outliers do not move them, and too few points
// give no curve. PRF-04, PRF-05.
#include "model/regression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace consort {
namespace {

CurveShape shape(CurveShape::Kind kind) {
  CurveShape s;
  s.kind = kind;
  return s;
}
const CurveShape kLine = shape(CurveShape::Kind::kTerms), kPower = shape(CurveShape::Kind::kPower),
                 kOffset = shape(CurveShape::Kind::kPowerOffset);

std::vector<CurvePoint> points(const std::vector<double> &at, const std::function<double(double)> &f, double noise = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> by(1 - noise, 1 + noise);
  std::vector<CurvePoint> out;
  for (const double x : at) out.push_back({{x}, f(x) * by(random)});
  return out;
}
double told(const CurveShape &s, const Regression &c, double x) { return c.at(s, &x); }

const std::vector<double> kSizes = {1e3, 2e3, 5e3, 1e4, 3e4, 1e5, 3e5, 1e6};

TEST(Regression, FitsALine) {
  const Regression c = fit(kLine, points(kSizes, [](double x) { return 3 * x + 5000; }));
  EXPECT_EQ(c.points, 8);
  EXPECT_NEAR(c.factors[0], 3, 1e-6);
  EXPECT_NEAR(c.constant, 5000, 1e-3);
  EXPECT_NEAR(told(kLine, c, 20000), 65000, 1e-2);
  EXPECT_LT(c.error, 1e-9);
}

TEST(Regression, FitsAPower) {
  const Regression c = fit(kPower, points(kSizes, [](double x) { return 0.25 * std::pow(x, 1.5); }));
  EXPECT_NEAR(c.exponent, 1.5, 1e-9);
  EXPECT_NEAR(c.factors[0], 0.25, 1e-9);
  EXPECT_NEAR(told(kPower, c, 4e6), 0.25 * 8e9, 1);
}

TEST(Regression, FitsAPowerWithAnOffset) {
  for (const double e : {0.3, 0.5, 1.0, 1.5, 2.5, 3.0}) {
    const auto f = [e](double x) { return 20000 + 0.5 * std::pow(x, e); };
    const Regression c = fit(kOffset, points(kSizes, f));
    for (const double x : {1500.0, 50000.0, 2e6}) EXPECT_NEAR(told(kOffset, c, x) / f(x), 1, 0.02) << e << " at " << x;
  }
  // A law with a negative exponent gives none.
  const Regression c = fit(kOffset, points(kSizes, [](double x) { return 3 * x - 1000; }));
  EXPECT_EQ(c.constant, 0);
}

TEST(Regression, FitsTermsOfSeveralMeasures) {
  CurveShape s;
  s.kind = CurveShape::Kind::kTerms;
  s.measures = 3;
  s.terms = 2;
  const double exponents[2][3] = {{1, 1, 1}, {1, 1, 0}};  // m n k, m n
  for (int t = 0; t < 2; ++t) std::copy_n(exponents[t], 3, s.exponents[t]);
  std::vector<CurvePoint> all;
  const auto f = [](double m, double n, double k) { return 0.5 * m * n * k + 7 * m * n + 900; };
  for (const double m : {16.0, 64.0, 100.0})
    for (const double n : {10.0, 32.0})
      for (const double k : {8.0, 50.0}) all.push_back({{m, n, k}, f(m, n, k)});
  const Regression c = fit(s, all);
  EXPECT_NEAR(c.factors[0], 0.5, 1e-6);
  EXPECT_NEAR(c.factors[1], 7, 1e-4);
  EXPECT_NEAR(c.constant, 900, 1e-2);
  const double at[] = {48, 20, 30};
  EXPECT_NEAR(c.at(s, at), f(48, 20, 30), 1e-2);
}

TEST(Regression, ToleratesNoiseAndOutliers) {
  std::vector<double> sizes;
  for (int i = 0; i < 40; ++i) sizes.push_back(1000 * std::pow(1.2, i));
  auto f = [](double x) { return 4000 + 2 * x; };
  auto noisy = points(sizes, f, 0.05);
  noisy[5].value *= 40;
  noisy[20].value /= 30;
  for (const CurveShape &s : {kLine, kOffset}) {
    const Regression c = fit(s, noisy);
    EXPECT_EQ(c.points, 38);
    for (const double x : {2000.0, 1e5, 1e6}) EXPECT_NEAR(told(s, c, x) / f(x), 1, 0.06);
    EXPECT_LT(c.error, 0.05);
  }
}

TEST(Regression, RefusesToExtrapolateFar) {
  const Regression c = fit(kLine, points(kSizes, [](double x) { return x; }));
  EXPECT_TRUE(std::isnan(told(kLine, c, 100)));
  EXPECT_FALSE(std::isnan(told(kLine, c, 200)));
  EXPECT_FALSE(std::isnan(told(kLine, c, 7e6)));
  EXPECT_TRUE(std::isnan(told(kLine, c, 9e6)));
  EXPECT_TRUE(std::isnan(told(kLine, c, NAN)));
  // No task takes less than nothing.
  const Regression down = fit(kLine, points({1e3, 2e3, 3e3, 4e3}, [](double x) { return 10000 - 2 * x; }));
  EXPECT_TRUE(std::isnan(told(kLine, down, 6e3)));
}

TEST(Regression, NeedsEnoughPoints) {
  const auto f = [](double x) { return x; };
  for (const CurveShape &s : {kLine, kPower, kOffset}) {
    EXPECT_EQ(fit(s, {}).points, 0);
    EXPECT_EQ(fit(s, points({1, 2}, f)).points, 0);
    EXPECT_EQ(fit(s, points({5, 5, 5, 5, 5}, f)).points, 0) << "sizes that are one";
    EXPECT_TRUE(std::isnan(told(s, Regression(), 1)));
  }
  EXPECT_EQ(fit(kLine, points({1, 2, 3}, [](double) { return NAN; })).points, 0);
  EXPECT_EQ(fit(kPower, points({0, -1, NAN, INFINITY, 4}, f)).points, 0);
  CurveShape twice;  // two terms that say the same
  twice.kind = CurveShape::Kind::kTerms;
  twice.terms = 2;
  twice.exponents[1][0] = 1;
  EXPECT_EQ(fit(twice, points(kSizes, f)).points, 0);
}

}  // namespace
}  // namespace consort
