// A thread that submits a task and waits for it at once runs that task itself, past the policy, where it may. What it
// runs, what it leaves to others, and that no other thread waits for ever because of it.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct OwnTaskWait : ::testing::Test {
  Rt rt{{{"workers", "1"}, {"cpu.topology", kFourCores}}};
  Bodies body;
  std::atomic<int> ran{0}, here{0};
  const std::thread::id me = std::this_thread::get_id();
  consort_codelet_id count = body(rt, "count", [this](const consort_call &) {
    here += std::this_thread::get_id() == me;
    ++ran;
    return CONSORT_OK;
  });
};

TEST_F(OwnTaskWait, RunsOnTheWaitingThread) {
  constexpr int kTasks = 2000;
  for (int i = 0; i < kTasks; ++i) ASSERT_OK(consort_task_wait(rt, Desc(count).must(rt), kLong, 0));
  EXPECT_EQ(ran, kTasks);
  EXPECT_GT(here, kTasks / 2) << "the worker has the first ones, until its lease is given";
}

TEST_F(OwnTaskWait, EarlierTasksOfTheThreadRunToo) {
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 4; ++i) Desc(count).must(rt);
    ASSERT_OK(consort_task_wait(rt, Desc(count).must(rt), kLong, 0));
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 1500);
}

TEST_F(OwnTaskWait, SuccessorsFollow) {
  int x = 0;
  const auto d = variable_of(rt, &x, "x");
  const auto inc = body(rt, "inc", [&x](const consort_call &) { return ++x, CONSORT_OK; });
  for (int round = 0; round < 300; ++round) {
    const auto first = Desc(inc).rw(d).must(rt);
    const auto second = Desc(inc).rw(d).must(rt);
    ASSERT_OK(consort_task_wait(rt, first, kLong, 0));
    ASSERT_OK(consort_task_wait(rt, second, kLong, 0));
  }
  EXPECT_OK(consort_unregister(rt, d));
  EXPECT_EQ(x, 600);
}

TEST_F(OwnTaskWait, FailureIsAnswered) {
  const auto fails = body(rt, "fails", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no paper"); });
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(consort_task_wait(rt, Desc(count).must(rt), kLong, 0));
    ASSERT_SAYS(CONSORT_E_IO, consort_task_wait(rt, Desc(fails).must(rt), kLong, 0), "no paper");
  }
}

TEST_F(OwnTaskWait, BodyThatWaitsInsideKeepsNothing) {
  const auto outer = body(rt, "outer", [&](const consort_call &) {
    return consort_task_wait(rt, Desc(count).must(rt), kLong, 0);
  });
  for (int i = 0; i < 200; ++i) ASSERT_OK(consort_task_wait(rt, Desc(outer).must(rt), kLong, 0));
  EXPECT_EQ(ran, 200);
}

// The body gives its worker away and does not get it back: another task has it until the body has ended.
TEST_F(OwnTaskWait, BodyThatLosesItsWorkerLeavesNothingBehind) {
  Rt two({{"workers", "2"}, {"cpu.topology", kFourCores}});
  std::atomic<int> gate{0}, lost{0};
  const auto busy = body(two, "busy", [&](const consort_call &c) -> consort_status {
    EXPECT_TRUE(eventually([&] { return gate >= value<int>(c, 0); }));
    return CONSORT_OK;
  });
  // nap: the wait begins before it ends
  const auto last = body(two, "last", [&](const consort_call &) { return std::this_thread::sleep_for(500us), CONSORT_OK; });
  const auto outer = body(two, "outer", [&](const consort_call &c) -> consort_status {
    Desc(busy).arg(value<int>(c, 0)).on(c.worker).must(two);
    const consort_status s = consort_task_wait(two, Desc(last).on(1 - c.worker).must(two), kLong, 0);
    lost += consort_current_worker(two) == CONSORT_NONE;
    ++gate;
    return s;
  });
  for (int i = 1; i <= 50; ++i) {
    ASSERT_OK(consort_task_wait(two, Desc(outer).arg(i).must(two), kLong, 0));
    ASSERT_OK(consort_wait_no_ready(two, kLong, 0));
  }
  EXPECT_GT(lost, 0) << "the case has not occurred";
}

TEST_F(OwnTaskWait, NoHelpLeavesTheTaskToTheWorker) {
  for (int i = 0; i < 100; ++i) ASSERT_OK(consort_task_wait(rt, Desc(count).must(rt), kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_EQ(here, 0);
}

// The loop has the lease of the only worker all the time, and a wait that runs its own task alone passes by the tasks of
// the other thread: each eighth wait takes its turn with them.
TEST_F(OwnTaskWait, LoopDoesNotStarveTasksOfAnotherThread) {
  constexpr int kTasks = 51;
  std::atomic<bool> over{false};
  int turns = 0;
  const auto turn = [&] {
    ++turns;
    return consort_task_wait(rt, Desc(count).must(rt), kLong, 0);
  };
  while (turns < 100) ASSERT_OK(turn());
  std::thread other([&] {
    for (int i = 0; i < kTasks; ++i) EXPECT_OK(consort_task_wait(rt, Desc(count).must(rt), kLong, CONSORT_WAIT_NO_HELP));
    over = true;
  });
  while (!over) EXPECT_OK(turn());
  other.join();
  EXPECT_EQ(ran, turns + kTasks);
}

}  // namespace
