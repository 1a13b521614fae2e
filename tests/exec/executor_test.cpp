// Executors that are stepped by hand, on host memory alone: bodies run in order, failures reach what comes after, waits
// step the workers.
#include "exec/executor.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/last_error.hpp"
#include "exec/exec_room.hpp"
#include "exec/quiescence.hpp"

namespace consort {
namespace {

struct SteppedWorker : ::testing::Test {
  consort_test::ExecRoom room;
  std::string ran;  // a letter for each body
  Codelet &append = room.add_codelet("append", [](const consort_call *c) -> consort_status {
    static_cast<std::string *>(c->user)->push_back(*static_cast<const char *>(consort_ptr(*static_cast<const consort_addr *>(c->views[0]))));
    return CONSORT_OK;
  }, &ran);
  Codelet &fail = room.add_codelet("fail", [](const consort_call *) -> consort_status { return CONSORT_E_IO; });
  char a = 'a', b = 'b', c = 'c';
  consort_data_id da = room.add_variable(&a, "a"), db = room.add_variable(&b, "b"), dc = room.add_variable(&c, "c");

  consort_use r(consort_data_id d) { return {d, CONSORT_M_R, 0}; }
  consort_use rw(consort_data_id d) { return {d, CONSORT_M_RW, 0}; }
  void run_all() {
    while (pump_all(room, room.thread(), CONSORT_NEVER)) {
    }
  }
};

TEST_F(SteppedWorker, StepRunsAReadyTask) {
  EXPECT_FALSE(room.step());
  room.submit_task(append, {r(da)});
  room.submit_task(append, {r(db)});
  EXPECT_EQ(ran, "") << "a manual pump runs nothing by itself";
  EXPECT_TRUE(room.step(1));
  EXPECT_EQ(ran, "a");
  EXPECT_TRUE(room.step(0));
  EXPECT_EQ(ran, "ab");
  EXPECT_FALSE(room.step(0));
  EXPECT_EQ(room.workers[0]->ran.load() + room.workers[1]->ran.load(), 2u);
}

TEST_F(SteppedWorker, SuccessorsRunInOrder) {
  room.submit_task(append, {r(da), rw(dc)});
  room.submit_task(append, {r(db), rw(dc)});
  room.submit_task(append, {rw(dc)});
  run_all();
  EXPECT_EQ(ran, "abc");
  EXPECT_TRUE(room.groups.all_idle());
}

TEST_F(SteppedWorker, TaskBoundToAWorkerRunsThere) {
  const consort_use use = r(da);
  consort_task_desc d = CONSORT_TASK_INIT;
  d.codelet = Codelets::id(append);
  d.uses = &use;
  d.nuses = 1;
  d.worker = 1;
  room.submit_desc(d);
  EXPECT_FALSE(room.step(0));
  EXPECT_TRUE(room.step(1));
  EXPECT_EQ(ran, "a");
}

TEST_F(SteppedWorker, FailureOfABodyPoisonsItsReaders) {
  const TaskName bad = room.submit_task(fail, {rw(da)})->pub.id;
  const TaskName reader = room.submit_task(append, {r(da)})->pub.id;
  room.submit_task(append, {r(db)});
  run_all();
  EXPECT_EQ(ran, "b");
  const auto why = room.failures.find(reader);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->status, CONSORT_E_POISONED);
  EXPECT_EQ(why->root().status, CONSORT_E_IO);
  EXPECT_EQ(why->root().task, bad);
  EXPECT_EQ(wait_all(room, 0, 0), CONSORT_E_IO) << "a wait answers the first failure";
  EXPECT_EQ(wait_all(room, 0, 0), CONSORT_OK) << "once";
}

TEST_F(SteppedWorker, WaitStepsTheWorkers) {
  const TaskName first = room.submit_task(append, {r(da)})->pub.id;
  room.submit_task(append, {r(db)});
  EXPECT_EQ(wait_task(room, first, CONSORT_FOREVER, 0), CONSORT_OK);
  EXPECT_NE(ran.find('a'), std::string::npos);
  EXPECT_EQ(wait_all(room, CONSORT_FOREVER, 0), CONSORT_OK);
  EXPECT_EQ(ran.size(), 2u);
}

TEST_F(SteppedWorker, RuntimeIsQuietWhenNothingIsReady) {
  ThreadState &thread = room.thread();
  EXPECT_TRUE(come_to_rest(room, thread));
  room.submit_task(append, {r(da)});
  EXPECT_FALSE(come_to_rest(room, thread)) << "a task ran meanwhile";
  EXPECT_EQ(ran, "a");
  EXPECT_TRUE(come_to_rest(room, thread));
  EXPECT_FALSE(anything_held(room));
}

TEST_F(SteppedWorker, CancelledGroupRunsNoBody) {
  room.submit_task(append, {r(da)});
  room.standard_group->epoch.fetch_add(1);  // as consort_group_cancel() does
  room.submit_task(append, {r(db)});
  run_all();
  EXPECT_EQ(ran, "b") << "a task that is submitted later is none of the cancelled";
}

}  // namespace
}  // namespace consort
