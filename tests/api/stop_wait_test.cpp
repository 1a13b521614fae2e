// A call that comes in the middle of a stop waits for the end of that stop, and for nothing after it. The test plays
// the stopping thread on a shell of its own. So each moment of a stop lasts as long as the test wants.
#include <kernel/api/stop_gate.hpp>
#include <kernel/base/fence.hpp>

#include "api/harness.hpp"
#include "api/settled.hpp"

namespace {

using namespace consort_test;
using Phase = consort_runtime::Phase;

struct StopWait : ::testing::Test {
  consort_runtime shell{};
  std::atomic<bool> over{false};
  std::thread thread;

  void wait_since(uint64_t stops) {
    thread = std::thread([this, stops] {
      consort::wait_for_end(&shell, stops);
      over = true;
    });
    EXPECT_TRUE(settled());
  }
  void TearDown() override {
    const bool ended = eventually([&] { return over.load(); });
    shell.stops += 1;  // a wait that does not end fails the test and not the program
    thread.join();
    EXPECT_TRUE(ended);
  }
};

TEST_F(StopWait, EndOfTheStopEndsIt) {
  shell.state = Phase::kGone;
  wait_since(0);
  EXPECT_FALSE(over);
  consort::process::end_stop(&shell);
}

TEST_F(StopWait, CountReadBetweenTheTwoStoresOfTheEndEndsIt) {
  shell.state = Phase::kGone;
  shell.stops = 1;  // the stop has counted itself, and its thread is preempted here
  wait_since(1);
  EXPECT_FALSE(over) << "the state says that the stop is under way";
  shell.state = 0;
}

TEST_F(StopWait, StopThatGivesUpEndsIt) {
  alignas(8) static char runtime[8];
  shell.state = reinterpret_cast<uintptr_t>(runtime) | Phase::kClosing;
  wait_since(0);
  EXPECT_FALSE(over);
  consort::process::cancel_stop(&shell);
}

// Another thread may stop the runtime as soon as the state says that it goes on. What the first stop stores after that
// would let calls into a runtime that is gone.
TEST(StopGivenUp, OpensNothingOnceAnotherStopHasBegun) {
  if (!consort::fence::asymmetric()) GTEST_SKIP() << "calls never take the short way here";
  alignas(8) static char memory[8];
  auto *const runtime = reinterpret_cast<consort::Runtime *>(memory);
  uint32_t left_open = 0;
  for (uint32_t i = 0; i < 150; ++i) {
    consort_runtime shell{};
    shell.state = reinterpret_cast<uintptr_t>(runtime);
    shell.live = runtime;
    ASSERT_TRUE(consort::process::begin_stop(&shell));
    std::atomic<bool> looks{false};
    std::thread other([&] {
      looks = true;
      while (!consort::process::begin_stop(&shell)) {
      }
    });
    while (!looks) std::this_thread::yield();
    consort::process::cancel_stop(&shell);
    other.join();
    left_open += shell.live.load() != nullptr;
  }
  EXPECT_EQ(left_open, 0u) << "of 150";
}

}  // namespace
