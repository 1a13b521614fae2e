// How much a mover sends over a link before the first of it has arrived.
#include "machine/link_credit.hpp"

#include <gtest/gtest.h>

namespace {

constexpr uint64_t kMs = 1'000'000, kMB = 1'000'000;

// Copies of a megabyte each, until it has enough.
int fill(consort::LinkCredit &w, uint64_t now) {
  int n = 0;
  for (; n < 1000 && !w.has_enough(); ++n) w.sent(kMB, now);
  return n;
}

TEST(LinkCredit, AlwaysSendsTwoCopies) {
  consort::LinkCredit slow(1000, 0, 1, true);
  EXPECT_EQ(fill(slow, 0), 2);
  consort::LinkCredit late(1000, 0, 1, false);
  EXPECT_EQ(fill(late, 0), 3) << "in real time the two may end together";
}

TEST(LinkCredit, SendsAMillisecondOfCopies) {
  consort::LinkCredit w(10'000 * kMB, 0, 1, false);
  EXPECT_EQ(fill(w, 0), 11);
  consort::LinkCredit far(10'000 * kMB, 250'000, 1, false);  // and in four latencies
  EXPECT_EQ(fill(far, 0), 21);
  consort::LinkCredit two(10'000 * kMB, 0, 2, false);
  EXPECT_EQ(fill(two, 0), 21);
}

// Where the host is there when a copy ends, more copies in flight would only share the link with urgent ones.
TEST(LinkCredit, VirtualTimeLimitsCreditToABusyLink) {
  consort::LinkCredit w(10'000 * kMB, 0, 1, true);
  EXPECT_EQ(fill(w, 0), 2);
  consort::LinkCredit far(10'000 * kMB, 250'000, 1, true);
  EXPECT_EQ(fill(far, 0), 11) << "four latencies";
}

TEST(LinkCredit, UnknownSpeedIsUnlimited) {
  consort::LinkCredit w(0, 0, 1, true);
  EXPECT_EQ(fill(w, 0), 1000);
  w.arrived(kMB, kMs);
  EXPECT_FALSE(w.has_enough());
}

TEST(LinkCredit, PrefetchesGetAMillisecond) {
  const auto wishes = [](consort::LinkCredit w) {
    uint32_t n = 0;
    for (; n < 1000 && w.has_room_for_wishes(n, n * kMB); ++n) w.sent(kMB, 0);
    return n;
  };
  EXPECT_EQ(wishes(consort::LinkCredit(10'000 * kMB, 0, 1, false)), 11u);
  EXPECT_EQ(wishes(consort::LinkCredit(1000, 0, 1, true)), 1u);
  EXPECT_EQ(wishes(consort::LinkCredit(0, 0, 1, true)), 1u) << "of unknown speed";
  EXPECT_FALSE(consort::LinkCredit(1000, 0, 1, true).has_room_for_wishes(2, kMB))
      << "copies over the device's other links count";
}

TEST(LinkCredit, SleepsOnlyThroughLongTransfers) {
  consort::LinkCredit w(1000 * kMB, 0, 1, false);
  EXPECT_FALSE(w.takes_a_while()) << "nothing is under way";
  w.sent(kMB / 10, 0);
  EXPECT_FALSE(w.takes_a_while());
  w.sent(kMB / 10, 0);
  EXPECT_TRUE(w.takes_a_while());
  w.arrived(kMB / 10, kMs / 10);
  EXPECT_FALSE(w.takes_a_while());
  consort::LinkCredit unknown(0, 0, 1, true);
  unknown.sent(1000 * kMB, 0);
  EXPECT_FALSE(unknown.takes_a_while());
}

TEST(LinkCredit, ObservedSpeedRaisesTheCredit) {
  consort::LinkCredit w(500 * kMB, 0, 1, false);
  uint64_t now = 0;
  ASSERT_EQ(fill(w, now), 3);
  for (int i = 0; i < 10; ++i) {  // ten megabytes in a millisecond, which is twenty times the driver's bandwidth
    w.arrived(kMB, now += kMs / 10);
    w.sent(kMB, now);
  }
  EXPECT_EQ(3 + fill(w, now), 10);
}

TEST(LinkCredit, SlowerLinkLowersTheCredit) {
  consort::LinkCredit w(500 * kMB, 0, 1, false);
  uint64_t now = 0;
  fill(w, now);
  for (int i = 0; i < 100; ++i) {
    w.arrived(kMB, now += kMs / 10);
    w.sent(kMB, now);
  }
  const int quick = 3 + fill(w, now);
  EXPECT_EQ(quick, 10);
  for (int i = 0; i < quick; ++i) w.arrived(kMB, now += 5 * kMs);
  for (int i = 0; i < 30; ++i) {
    w.sent(kMB, now);
    w.arrived(kMB, now += 5 * kMs);
  }
  EXPECT_EQ(fill(w, now), 3);
}

}  // namespace
