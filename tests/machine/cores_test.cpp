// The arbiter of cores.
#include "machine/cores.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace consort {
namespace {

Result<CoreLease> take(std::vector<int> cores, bool refuse, const char *who) { return claim(cores, refuse, who); }

TEST(Cores, ReportsSharingAndNamesTheOwner) {
  auto a = take({0, 1, 2, 5}, true, "runtime #1");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->sharing(), "");
  auto b = take({2, 1, 7}, true, "runtime #2");
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().status, CONSORT_E_BUSY);
  EXPECT_EQ(
      b.error().text,
      "runtime #2 wants cores 1-2, which runtime #1 of this process has: give it others, or set cores = \"share\"");
  auto c = take({2, 1, 7}, false, "runtime #3");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->sharing(), "shares cores 1-2 with runtime #1");
  auto d = take({7, 0}, false, "runtime #4");
  EXPECT_EQ(d->sharing(), "shares cores 7 with runtime #3, 0 with runtime #1");
}

TEST(Cores, LeaseReleasesItsCores) {
  {
    auto a = take({3}, true, "a");
    ASSERT_TRUE(a);
    CoreLease moved = std::move(*a);
    EXPECT_FALSE(take({3}, true, "b"));
    CoreLease again;
    again = std::move(moved);
    EXPECT_FALSE(take({3}, true, "b"));
  }
  EXPECT_TRUE(take({3}, true, "b"));
}

TEST(Cores, UnboundWorkersClaimNothing) {
  auto a = take({-1, -1}, true, "a"), b = take({-1}, true, "b"), c = take({}, true, "c");
  EXPECT_TRUE(a && b && c);
}

TEST(Cores, ForkedChildHoldsNoLeases) {
  auto a = take({4}, true, "a");
  ASSERT_TRUE(a);
  const pid_t child = fork();
  if (child == 0) _exit(take({4}, true, "child") ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Cores, LeaseIsExclusiveUnderConcurrency) {
  std::atomic<int> holders{0}, most{0}, got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto lease = take({9}, true, "t");
        if (!lease) continue;
        const int now = ++holders;
        if (now > most) most = now;
        ++got;
        --holders;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(got, 0);
}

TEST(Cores, PrintsRanges) {
  EXPECT_EQ(print_cores({}), "");
  EXPECT_EQ(print_cores({5}), "5");
  EXPECT_EQ(print_cores({3, 1, 2, 2, 8, 10, 9, 0}), "0-3,8-10");
}

}  // namespace
}  // namespace consort
