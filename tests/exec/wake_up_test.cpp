// Which sleeping worker a push wakes, and that no task stays in the policy while a worker sleeps that could run it. The
// test plays the threads of both workers: each has a parker, and looks for work where the test steps it.
#include <gtest/gtest.h>

#include "exec/exec_room.hpp"
#include "exec/executor.hpp"

namespace consort {
namespace {

struct WakeUp : ::testing::Test {
  consort_test::ExecRoom room;
  Parker parkers[2];
  uint64_t listed = ~uint64_t{0};  // the sleeper bits while the last body ran
  Codelet &look = room.add_codelet("look", [](const consort_call *c) -> consort_status {
    auto &self = *static_cast<WakeUp *>(c->user);
    self.listed = self.room.sleepers[0].load();
    return CONSORT_OK;
  }, this);

  void submit_for(uint32_t worker = CONSORT_NONE) {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = Codelets::id(look);
    d.worker = worker;
    room.submit_desc(d);
  }
  void both_sleep() {
    for (uint32_t w = 0; w < 2; ++w) room.executors[w]->show_asleep(parkers[w]);
  }
  // Whether the worker was woken since the last question.
  bool woken(uint32_t w) { return parkers[w].wait(0); }
};

TEST_F(WakeUp, PushWakesOneSleepingWorker) {
  both_sleep();
  submit_for();
  EXPECT_TRUE(woken(0));
  EXPECT_FALSE(woken(1));
  submit_for();
  EXPECT_TRUE(woken(1));
}

TEST_F(WakeUp, WorkerThatATaskOfItsOwnHasWokenIsNotCounted) {
  both_sleep();
  submit_for(0);
  EXPECT_TRUE(woken(0));
  submit_for();
  EXPECT_TRUE(woken(1)) << "worker 0 begins with the task that is bound to it";
}

TEST_F(WakeUp, BoundTaskThatRunsFirstPassesTheWakeOn) {
  both_sleep();
  submit_for();
  submit_for(0);
  EXPECT_TRUE(woken(0));
  EXPECT_FALSE(woken(1));
  room.executors[0]->show_awake();
  EXPECT_TRUE(room.step(0));
  EXPECT_TRUE(woken(1)) << "worker 0 runs the task that is bound to it, and another task waits in the policy";
}

TEST_F(WakeUp, LastLookThatFindsATaskEndsTheSleepBeforeTheBody) {
  submit_for();
  both_sleep();
  EXPECT_TRUE(room.step(0));
  EXPECT_EQ(listed, 2u) << "a push would wake worker 0, which runs a body";
}

TEST_F(WakeUp, LastLookThatFindsABoundTaskEndsTheSleepBeforeTheBody) {
  both_sleep();
  submit_for(0);
  EXPECT_TRUE(room.step(0));
  EXPECT_EQ(listed, 2u);
}

TEST_F(WakeUp, LastLookThatFindsAnEarlierTaskPassesTheWakeOn) {
  submit_for();
  both_sleep();
  submit_for();
  EXPECT_TRUE(woken(0)) << "for the second task";
  EXPECT_TRUE(room.step(0));
  EXPECT_TRUE(woken(1)) << "worker 0 runs the first task, and the second one waits in the policy";
}

TEST_F(WakeUp, BodyThatTakesItsWorkerBackPassesTheWakeOn) {
  both_sleep();
  submit_for();
  EXPECT_TRUE(woken(0));
  ThreadState &thread = room.thread();
  Executor &w = *room.executors[0];
  ASSERT_TRUE(w.try_return(thread));  // before the woken thread has taken the token
  EXPECT_TRUE(woken(1)) << "worker 0 goes on with a body that has waited";
  thread.seat = nullptr;
  w.give_up();
}

TEST_F(WakeUp, WorkerThatLooksInThePolicyPassesNothingOn) {
  both_sleep();
  submit_for();
  EXPECT_TRUE(woken(0));
  room.executors[0]->show_awake();
  EXPECT_TRUE(room.step(0));
  EXPECT_FALSE(woken(1));
  EXPECT_TRUE(room.groups.all_idle());
}

TEST_F(WakeUp, FullWorkerIsNotWokenByAPush) {
  room.executors[0]->staging = Executor::kAhead;  // tasks that wait for their data
  both_sleep();
  submit_for();
  EXPECT_FALSE(woken(0));
  EXPECT_TRUE(woken(1));
  submit_for(0);
  EXPECT_TRUE(woken(0)) << "by its mailbox, which also takes tasks whose data have come";
  room.executors[0]->staging = 0;
}

}  // namespace
}  // namespace consort
