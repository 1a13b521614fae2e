// Sequences of submissions that come back are found out, and said in the log once.
#include "task/sequence_detector.hpp"

#include <gtest/gtest.h>

#include "machine/machine_room.hpp"

namespace consort {
namespace {

struct RepeatedSequence : ::testing::Test {
  consort_test::MachineRoom room;
  SequenceDetector detector;
  consort_use use{{1}, CONSORT_M_RW, 0};
  void submit(uint64_t codelet, int32_t priority = 0) {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = {codelet};
    d.priority = priority;
    d.uses = &use;
    d.nuses = 1;
    detector.note(d);
  }
};

TEST_F(RepeatedSequence, EqualSequencesAreCounted) {
  for (uint64_t i = 0; i < 3; ++i) {
    submit(1);
    submit(2);
    detector.cut(room);
    EXPECT_EQ(detector.last_ntasks, 2u);
    EXPECT_EQ(detector.last_times, i);
  }
  EXPECT_FALSE(room.logged("has come back"));
  for (int i = 0; i < 2; ++i) {
    submit(1);
    submit(2);
    detector.cut(room);
  }
  EXPECT_TRUE(room.logged("a sequence of 2 tasks has come back 3 times"));
  EXPECT_FALSE(room.logged("4 times")) << "once is enough";
}

TEST_F(RepeatedSequence, OrderModesAndPrioritiesTellSequencesApart) {
  const auto times = [&](auto sequence) {
    sequence();
    detector.cut(room);
    return detector.last_times;
  };
  const auto plain = [&] { submit(1), submit(2); };
  EXPECT_EQ(times(plain), 0u);
  EXPECT_EQ(times([&] { submit(2), submit(1); }), 0u);
  EXPECT_EQ(times([&] { submit(1), submit(2, 5); }), 0u);
  use.mode = CONSORT_M_R;
  EXPECT_EQ(times(plain), 0u);
  use.mode = CONSORT_M_RW;
  EXPECT_EQ(times(plain), 1u) << "the first of all";
}

TEST_F(RepeatedSequence, ForgetsTheOneUnseenForLongest) {
  submit(1000);
  detector.cut(room);
  for (uint64_t i = 1; i < SequenceDetector::kKnown; ++i) {
    submit(i);
    detector.cut(room);
  }
  submit(1000);
  detector.cut(room);
  EXPECT_EQ(detector.last_times, 1u) << "64 are known";
  submit(2000);
  detector.cut(room);
  submit(1);
  detector.cut(room);
  EXPECT_EQ(detector.last_times, 0u) << "it went for the new one";
}

TEST_F(RepeatedSequence, WaitWithoutTasksIsNoSequence) {
  detector.cut(room);
  EXPECT_EQ(detector.clock, 0u);
}

}  // namespace
}  // namespace consort
