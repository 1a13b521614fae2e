// A call that comes in the middle of a stop waits for the end of that stop, and for nothing after it. The test plays the
// stopping thread on a shell of its own, so that each moment of a stop lasts as long as the test wants.
#include <kernel/api/stop_gate.hpp>

#include "api/harness.hpp"

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
    std::this_thread::sleep_for(2ms);
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

}  // namespace
