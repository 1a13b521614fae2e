// Copies over a shared link enter in the order of their requests, a few at a time, and every waiter is woken.
#include "machine/shared_link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <thread>

namespace {

using consort::SharedLink;
constexpr uint64_t kMB = 1'000'000, kSlow = 1000, kQuick = 10'000 * kMB;  // bytes per second: two copies at a time, 11
constexpr uint64_t kLong = 1000'000'000'000;  // ns, in which the slow one moves a copy

struct Counting final : consort::LinkTransfer {
  int nudges = 0;
  void nudge() noexcept override { ++nudges; }
};

TEST(SharedLink, AdmitsAMillisecondOfCopies) {
  for (const auto &[rate, most] : {std::pair{kSlow, 3}, {kQuick, 11}}) {
    SharedLink bus(rate, false);
    bus.join();
    Counting one;
    int n = 0;
    while (n < 100 && bus.enter(one, n, kMB, 0)) ++n;
    EXPECT_EQ(n, most);
  }
}

TEST(SharedLink, UnknownSpeedLimitsOnlyPrefetches) {
  SharedLink bus(0, true);
  bus.join();
  Counting one;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(bus.enter(one, i, kMB, 0));
  EXPECT_FALSE(bus.enter(one, SharedLink::kWish, kMB, 0));
}

TEST(SharedLink, AdmitsInOrderOfRequest) {
  SharedLink bus(kSlow, true);
  Counting on, late, early, wish;
  for (int i = 0; i < 4; ++i) bus.join();
  ASSERT_TRUE(bus.enter(on, 0, kMB, 0));
  ASSERT_TRUE(bus.enter(on, 1, kMB, 0));
  EXPECT_FALSE(bus.enter(wish, SharedLink::kWish, kMB, 0));
  EXPECT_FALSE(bus.enter(late, 7, kMB, 0));
  EXPECT_FALSE(bus.enter(early, 5, kMB, 0));
  EXPECT_FALSE(bus.has_room_for(early)) << "there is no room";
  bus.leave(kMB, 1 * kLong);
  EXPECT_EQ(early.nudges, 1);
  EXPECT_EQ(late.nudges + wish.nudges, 0);
  EXPECT_TRUE(bus.has_room_for(early));
  EXPECT_FALSE(bus.has_room_for(late));
  EXPECT_FALSE(bus.enter(late, 7, kMB, 1 * kLong)) << "it is early's turn";
  EXPECT_TRUE(bus.enter(early, 5, kMB, 1 * kLong));
  EXPECT_FALSE(bus.has_room_for(early)) << "it waits no longer";
  bus.leave(kMB, 2 * kLong);
  EXPECT_EQ(late.nudges, 1);
  EXPECT_FALSE(bus.enter(wish, SharedLink::kWish, kMB, 2 * kLong));
  EXPECT_TRUE(bus.enter(late, 7, kMB, 2 * kLong));
  bus.leave(kMB, 3 * kLong);
  EXPECT_FALSE(bus.enter(wish, SharedLink::kWish, kMB, 3 * kLong)) << "no copy shares the link with it";
  bus.leave(kMB, 4 * kLong);
  EXPECT_TRUE(bus.enter(wish, SharedLink::kWish, kMB, 4 * kLong));
}

TEST(SharedLink, EntryWakesTheNextWaiter) {
  SharedLink bus(kSlow, true);
  Counting on, a, b;
  for (int i = 0; i < 3; ++i) bus.join();
  ASSERT_TRUE(bus.enter(on, 0, kMB, 0));
  ASSERT_TRUE(bus.enter(on, 1, kMB, 0));
  EXPECT_FALSE(bus.enter(a, 2, kMB, 0));
  EXPECT_FALSE(bus.enter(b, 3, kMB, 0));
  bus.leave(kMB, 1 * kLong);
  bus.leave(kMB, 1 * kLong);
  EXPECT_TRUE(bus.enter(a, 2, kMB, 1 * kLong));
  EXPECT_EQ(b.nudges, 1);
  EXPECT_TRUE(bus.enter(b, 3, kMB, 1 * kLong));
}

TEST(SharedLink, ForgottenWaiterWakesTheNext) {
  SharedLink bus(kSlow, true);
  Counting on, gone, next;
  for (int i = 0; i < 3; ++i) bus.join();
  ASSERT_TRUE(bus.enter(on, 0, kMB, 0));
  ASSERT_TRUE(bus.enter(on, 1, kMB, 0));
  EXPECT_FALSE(bus.enter(gone, 2, kMB, 0));
  EXPECT_FALSE(bus.enter(next, 3, kMB, 0));
  bus.leave(kMB, 1 * kLong);
  bus.forget(gone);
  EXPECT_EQ(next.nudges, 1);
  EXPECT_TRUE(bus.enter(next, 3, kMB, 1 * kLong));
}

// Threads that sleep until they are nudged, as movers do, in turns that none may lose.
struct Sleeper final : consort::LinkTransfer {
  std::mutex mutex;
  std::condition_variable told;
  bool news = false;
  void nudge() noexcept override {
    const std::lock_guard lock(mutex);
    news = true;
    told.notify_one();
  }
  bool sleep() {
    std::unique_lock lock(mutex);
    const bool woken = told.wait_for(lock, std::chrono::seconds(60), [&] { return news; });
    news = false;
    return woken;
  }
};

TEST(SharedLink, EveryWaiterIsWoken) {
  constexpr int kThreads = 4, kCopies = 2000;
  SharedLink bus(kSlow, true);
  Sleeper sleepers[kThreads];
  for (int i = 0; i < kThreads; ++i) bus.join();
  std::atomic<int> on{0}, most{0}, lost{0};
  std::atomic<int64_t> asked{0};
  std::vector<std::thread> threads;
  for (Sleeper &s : sleepers)
    threads.emplace_back([&] {
      for (int i = 0; i < kCopies && !lost; ++i) {
        const int64_t order = i % 5 ? asked++ : SharedLink::kWish;
        while (!bus.enter(s, order, kMB, 0))
          if (!bus.has_room_for(s) && !s.sleep() && !bus.has_room_for(s)) return void(++lost);
        const int now = ++on;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
        if (i % 7 == 0) std::this_thread::yield();
        --on;
        bus.leave(kMB, 0 * kLong);
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(lost, 0);
  EXPECT_LE(most, 2);
}

}  // namespace
