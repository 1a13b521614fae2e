// Clocks that are stepped, and deadlines on them.
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace consort {
namespace {

TEST(Clock, SteppedTimeStandsStill) {
  Clock clock(true, 0);
  EXPECT_TRUE(clock.stepped());
  const uint64_t begin = clock.now();
  EXPECT_EQ(clock.now(), begin);
  clock.advance(250);
  EXPECT_EQ(clock.now(), begin + 250);
  clock.advance_to(begin + 100);
  EXPECT_EQ(clock.now(), begin + 250) << "never backwards";
  clock.advance_to(begin + 300);
  EXPECT_EQ(clock.now(), begin + 300);
}

// A thread that begins a wait adds what its submissions cost, while another thread pumps.
TEST(Clock, SteppedTimeLosesNothingWhileTwoThreadsAdvanceIt) {
  constexpr uint64_t kTimes = 2'000'000, kFar = 1'000'000;
  Clock clock(true, 0);
  std::atomic<bool> over{false};
  uint64_t back = 0;
  std::thread other([&] {
    for (uint64_t i = 0; i < kTimes; ++i) {
      const uint64_t before = clock.now();
      clock.advance(kFar);
      back += clock.now() < before + kFar;
    }
    over = true;
  });
  while (!over) clock.advance_to(clock.now() + 1);
  other.join();
  EXPECT_EQ(back, 0u) << "times that it went back";
}

TEST(Clock, RealTimeGoesOn) {
  const Clock clock(false, 0);
  const uint64_t begin = clock.now();
  while (clock.now() == begin) {
  }
  EXPECT_GT(clock.now(), begin);
}

TEST(Clock, ChanceIsTheSeeds) {
  Clock one(true, 7), same(true, 7), other(true, 8);
  bool differs = false;
  for (int i = 0; i < 16; ++i) {
    const uint64_t x = one.chance();
    EXPECT_EQ(x, same.chance());
    differs |= x != other.chance();
  }
  EXPECT_TRUE(differs);
}

TEST(Deadline, PassesAtItsTime) {
  Clock clock(true, 0);
  const Deadline soon(clock, 100), never(clock, -1), now(clock, 0);
  EXPECT_TRUE(now.passed());
  EXPECT_EQ(soon.left_ns(), 100);
  clock.advance(99);
  EXPECT_FALSE(soon.passed());
  clock.advance(1);
  EXPECT_TRUE(soon.passed());
  EXPECT_EQ(soon.left_ns(), 0);
  clock.advance(uint64_t{1} << 62);
  EXPECT_FALSE(never.passed());
  EXPECT_EQ(never.left_ns(), -1);
}

}  // namespace
}  // namespace consort
