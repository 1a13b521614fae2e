// How far a run is: the time that is left, from what was seen of late, and its words.
#include <gtest/gtest.h>

#include "observe/progress.hpp"

namespace consort {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(EndRate, TellsFromWhatWasSeenOfLate) {
  EndRate rate;
  EXPECT_EQ(rate.left(0, 0, 100), UINT64_MAX) << "nothing was seen yet";
  EXPECT_EQ(rate.left(kSecond, 0, 100), UINT64_MAX) << "none has ended";
  EXPECT_EQ(rate.left(2 * kSecond, 20, 80), 8 * kSecond) << "10 a second";
  EXPECT_EQ(rate.left(2 * kSecond, 100, 0), 0u);
}

TEST(EndRate, ForgetsWhatIsLongAgo) {
  EndRate rate;
  (void)rate.left(0, 0, 0);
  for (uint64_t s = 1000; s <= 1060; ++s) (void)rate.left(s * kSecond, (s - 1000) * 2, 1);  // an hour of rest before
  const uint64_t left = rate.left(1061 * kSecond, 122, 10);
  EXPECT_GE(left, 4 * kSecond);
  EXPECT_LE(left, 6 * kSecond) << "two a second of late";
}

TEST(ProgressLine, SaysWhatIsKnown) {
  consort_progress p = CONSORT_PROGRESS_INIT;
  p.submitted = 1234567, p.done = 1000, p.running = 8;
  EXPECT_EQ(progress_line(p), "1,000 of 1,234,567 tasks, 8 running");
  p.left_ns = 13'200'000'000;
  EXPECT_EQ(progress_line(p), "1,000 of 1,234,567 tasks, 8 running, about 14 s left");
  p.left_ns = 600 * kSecond;
  EXPECT_EQ(progress_line(p), "1,000 of 1,234,567 tasks, 8 running, about 10 min left");
  p.left_ns = 36000 * kSecond;
  EXPECT_EQ(progress_line(p), "1,000 of 1,234,567 tasks, 8 running, about 10 h left");
  p.done = p.submitted;
  EXPECT_EQ(progress_line(p), "1,234,567 of 1,234,567 tasks, 8 running");
}

}  // namespace
}  // namespace consort
