// Parkers: a wake that comes before the wait is not lost.
#include "base/park.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace consort {
namespace {

TEST(Parker, WakeBeforeWaitEndsTheWait) {
  Parker p;
  p.wake();
  p.wake();
  EXPECT_TRUE(p.wait(-1));
  EXPECT_FALSE(p.wait(1000)) << "two wakes before a wait count once";
}

TEST(Parker, WaitTimesOut) {
  Parker p;
  EXPECT_FALSE(p.wait(0));
  EXPECT_FALSE(p.wait(100'000));
  EXPECT_FALSE(p.asleep());
}

TEST(Parker, SleeperShowsAndIsWoken) {
  Parker p;
  std::atomic<int> seen{0}, written{0};
  std::thread sleeper([&] {
    while (!p.wait(-1)) {
    }
    seen.store(written.load(std::memory_order_relaxed));
  });
  while (!p.asleep()) std::this_thread::yield();
  written.store(7, std::memory_order_relaxed);
  p.wake();
  sleeper.join();
  EXPECT_EQ(seen.load(), 7) << "the end of a wait acquires what the waker released";
}

TEST(Parker, DescriptorEndsTheWait) {
  Parker p;
  const int fd = eventfd(1, EFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  p.wait_or_readable(fd, -1);
  uint64_t count = 0;
  ASSERT_EQ(read(fd, &count, sizeof count), ssize_t{sizeof count});
  p.wake();
  p.wait_or_readable(fd, -1);  // by the wake: nothing is readable
  close(fd);
}

}  // namespace
}  // namespace consort
