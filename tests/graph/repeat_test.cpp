// Repeats: under which names a repeating task is found, and for how long.
#include "graph/repeat.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace consort {
namespace {

constexpr TaskName kFirst = 10, kSecond = 20, kThird = 30;

struct RepeatList : ::testing::Test {
  Repeats all;
  RepeatState *turns = nullptr;

  void SetUp() override {
    const consort_task_desc d = CONSORT_TASK_INIT;
    turns = Repeats::copy(d).release();
    ASSERT_NE(turns, nullptr);
    all.begin(*turns, kFirst, {0});
  }
  void TearDown() override {
    if (turns) all.forget(turns);
  }
  void expect_stopped_by(TaskName name) {
    EXPECT_TRUE(all.again(*turns, true));
    EXPECT_TRUE(all.stop(name));
    EXPECT_FALSE(all.again(*turns, true));
  }
};

TEST_F(RepeatList, FirstNameStopsEachTurn) {
  all.begin(*turns, kSecond, {0});
  all.begin(*turns, kThird, {0});
  EXPECT_EQ(all.turn_of(kFirst), kThird);
  expect_stopped_by(kFirst);
}

TEST_F(RepeatList, CurrentNameStops) {
  all.begin(*turns, kSecond, {0});
  all.begin(*turns, kThird, {0});
  expect_stopped_by(kThird);
}

// The next turn is submitted while the name of the turn before it is still valid.
TEST_F(RepeatList, NameOfTheEndingTurnStopsOnceTheNextIsSubmitted) {
  all.begin(*turns, kSecond, {0});
  all.begin(*turns, kThird, {0});
  expect_stopped_by(kSecond);
}

TEST_F(RepeatList, LastTurnIsFoundUntilItIsForgotten) {
  EXPECT_FALSE(all.again(*turns, false));
  EXPECT_TRUE(all.stop(kFirst));
  all.forget(std::exchange(turns, nullptr));
  EXPECT_FALSE(all.stop(kFirst));
  EXPECT_EQ(all.turn_of(kFirst), kFirst);
}

TEST_F(RepeatList, OtherNamesAreNotFound) {
  EXPECT_FALSE(all.stop(kSecond));
  EXPECT_FALSE(all.stop(0)) << "no turn has come before the first, and 0 is no name";
  EXPECT_TRUE(all.again(*turns, true));
}

}  // namespace
}  // namespace consort
