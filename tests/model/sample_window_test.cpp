// The window of measurements: outliers, and lasting changes.
#include "model/sample_window.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace consort {
namespace {

SampleWindow of(std::initializer_list<float> values) {
  SampleWindow s;
  for (const float x : values) s.add(x);
  return s;
}

TEST(SampleWindow, EmptyWindowHasNoMedian) {
  const SampleWindow::Figure f = SampleWindow().figure();
  EXPECT_TRUE(std::isnan(f.median));
  EXPECT_TRUE(std::isnan(f.spread));
  EXPECT_EQ(f.used, 0u);
}

TEST(SampleWindow, ComputesMedianAndSpread) {
  EXPECT_FLOAT_EQ(of({5}).figure().median, 5);
  EXPECT_FLOAT_EQ(of({5, 1}).figure().median, 3);
  const SampleWindow::Figure f = of({10, 11, 9, 12, 8}).figure();
  EXPECT_FLOAT_EQ(f.median, 10);
  EXPECT_FLOAT_EQ(f.spread, 1.4826f);
  EXPECT_EQ(f.used, 5u);
  EXPECT_EQ(f.outliers, 0u);
}

TEST(SampleWindow, OutliersDoNotMoveTheMedian) {
  SampleWindow s;
  for (int i = 0; i < 20; ++i) s.add(100 + static_cast<float>(i % 3));
  EXPECT_TRUE(s.add(1e9f)) << "told when it comes";
  EXPECT_TRUE(s.add(1e-3f));
  EXPECT_FALSE(s.add(101));
  const SampleWindow::Figure f = s.figure();
  EXPECT_NEAR(f.median, 101, 1);
  EXPECT_LT(f.spread, 3);
  EXPECT_EQ(f.outliers, 2u);
  EXPECT_EQ(f.used, 21u);
}

TEST(SampleWindow, EqualSamplesKeepATolerance) {
  SampleWindow s;
  for (int i = 0; i < 10; ++i) s.add(50);
  EXPECT_FALSE(s.add(52)) << "4 % beside ones that are all equal";
  EXPECT_TRUE(s.add(60));
}

TEST(SampleWindow, DropsTheOldest) {
  SampleWindow s;
  for (int i = 0; i < 100; ++i) s.add(static_cast<float>(i));
  EXPECT_EQ(s.size(), SampleWindow::kMost);
  EXPECT_FLOAT_EQ(s.values().front(), 68);
  EXPECT_FLOAT_EQ(s.values().back(), 99);
}

TEST(SampleWindow, DriftDropsOlderSamples) {
  SampleWindow s;
  for (int i = 0; i < 24; ++i) s.add(100 + static_cast<float>(i % 2));
  EXPECT_FALSE(s.drop_if_drifted());
  for (int i = 0; i < 8; ++i) {
    s.add(300 + static_cast<float>(i % 2));
    if (i < 3) {
      EXPECT_FALSE(s.drop_if_drifted()) << "not after " << i + 1;
    }
  }
  EXPECT_TRUE(s.drop_if_drifted());
  EXPECT_EQ(s.size(), 8u);
  EXPECT_NEAR(s.figure().median, 300, 1);
  EXPECT_FALSE(s.drop_if_drifted());
}

TEST(SampleWindow, AlternatingValuesAreNoDrift) {
  SampleWindow s;
  for (int i = 0; i < 200; ++i) {
    s.add(i % 3 ? 100.f : 180.f);
    EXPECT_FALSE(s.drop_if_drifted()) << "after " << i + 1;
  }
}

}  // namespace
}  // namespace consort
