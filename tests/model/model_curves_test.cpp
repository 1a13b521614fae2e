// The curves of a model: their shape from its description, and a slot for each kind of unit and implementation. They
// say when enough is known for a new one.
#include "model/model_curves.hpp"

#include <consort/model.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

namespace consort {
namespace {

consort_model described(uint32_t kind) {
  consort_model d{};
  d.size = sizeof d;
  d.kind = kind;
  return d;
}

TEST(ModelCurves, ShapeFollowsTheKind) {
  EXPECT_EQ(ModelCurves::shape_of(described(CONSORT_MODEL_HISTORY)).kind, CurveShape::Kind::kNone);
  EXPECT_EQ(ModelCurves::shape_of(described(CONSORT_MODEL_LINEAR)).kind, CurveShape::Kind::kTerms);
  EXPECT_EQ(ModelCurves::shape_of(described(CONSORT_MODEL_POWER)).kind, CurveShape::Kind::kPower);
  EXPECT_EQ(ModelCurves::shape_of(described(CONSORT_MODEL_POWER_OFFSET)).kind, CurveShape::Kind::kPowerOffset);
  const double exponents[] = {1, 1, 0, 2};  // m n, n²
  consort_model terms = described(CONSORT_MODEL_TERMS);
  terms.nmeasures = 2;
  terms.nterms = 2;
  terms.exponents = exponents;
  const CurveShape s = ModelCurves::shape_of(terms);
  EXPECT_EQ(s.measures, 2u);
  EXPECT_EQ(s.terms, 2u);
  EXPECT_EQ(s.exponents[0][1], 1);
  EXPECT_EQ(s.exponents[1][0], 0);
  EXPECT_EQ(s.exponents[1][1], 2);
}

TEST(ModelCurves, DescriptionsOfOneShapeAreEqual) {
  const ModelCurves line(described(CONSORT_MODEL_LINEAR), 1);
  EXPECT_TRUE(line.is(described(CONSORT_MODEL_LINEAR)));
  EXPECT_FALSE(line.is(described(CONSORT_MODEL_POWER)));
  EXPECT_FALSE(line.is(described(CONSORT_MODEL_HISTORY)));
}

TEST(ModelCurves, EachPlaceHasItsOwnCurve) {
  ModelCurves curves(described(CONSORT_MODEL_LINEAR), 2);
  const double sizes[] = {100, 200, 400};
  std::vector<CurvePoint> points;
  for (const double x : sizes) points.push_back({{x}, 3 * x});
  curves.put(1, fit(curves.shape(), points));
  const double at = 300;
  EXPECT_NEAR(curves.at(1, &at), 900, 1e-6);
  EXPECT_TRUE(std::isnan(curves.at(0, &at))) << "nothing was put there";
  EXPECT_EQ(curves.curve(0).points, 0);
}

TEST(ModelCurves, IsFittedAnewAsSizesBecomeKnown) {
  ModelCurves curves(described(CONSORT_MODEL_LINEAR), 1);
  EXPECT_TRUE(curves.learned(0, true)) << "a size that was unknown is enough";
  curves.put(0, {});
  int updates = 1;
  while (!curves.learned(0, false)) ++updates;
  EXPECT_EQ(updates, 16) << "new measurements of known sizes count less";
  Regression of_many;
  of_many.points = 40;
  curves.put(0, of_many);
  for (updates = 1; !curves.learned(0, false);) ++updates;
  EXPECT_EQ(updates, 80) << "twice the points that the curve has";
}

TEST(ModelCurves, ReadersSeeWholeCurves) {
  ModelCurves curves(described(CONSORT_MODEL_LINEAR), 1);
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int i = 1; i <= 20000; ++i) {
      Regression c;
      c.points = c.constant = c.factors[0] = c.error = i;
      curves.put(0, c);
    }
    over.store(true);
  });
  uint64_t mixed = 0;
  while (!over.load()) {
    const Regression c = curves.curve(0);
    mixed += c.constant != c.points || c.factors[0] != c.points || c.error != c.points;
  }
  writer.join();
  EXPECT_EQ(mixed, 0u);
  EXPECT_EQ(curves.curve(0).points, 20000);
}

}  // namespace
}  // namespace consort
