// The order of tasks without workers: each is popped and completed by hand.
#include <gtest/gtest.h>

#include "graph/failed_task.hpp"
#include "graph/graph_room.hpp"
#include "task/callback.hpp"

namespace consort {
namespace {

struct TaskOrder : ::testing::Test {
  consort_test::GraphRoom room;
  Codelet &codelet = room.add_codelet("nop");
  int value = 0, other_value = 0;
  consort_data_id x = room.add_variable(&value, "x"), y = room.add_variable(&other_value, "y");
  consort_use r(consort_data_id d) { return {d, CONSORT_M_R, 0}; }
  consort_use rw(consort_data_id d) { return {d, CONSORT_M_RW, 0}; }
  consort_use commute(consort_data_id d) { return {d, CONSORT_M_RW | CONSORT_M_COMMUTE, 0}; }
};

TEST_F(TaskOrder, ReadersBecomeReadyWithTheEndOfTheWriter) {
  Task *const w = room.submit_task(codelet, {rw(x)});
  Task *const a = room.submit_task(codelet, {r(x)}), *const b = room.submit_task(codelet, {r(x)});
  Task *const next = room.submit_task(codelet, {rw(x)});
  EXPECT_EQ(room.pop(), w);
  EXPECT_EQ(room.pop(), nullptr);
  room.complete_task(w);
  Task *const first = room.pop(), *const second = room.pop();
  EXPECT_TRUE((first == a && second == b) || (first == b && second == a));
  EXPECT_EQ(room.pop(), nullptr);
  room.complete_task(a);
  EXPECT_EQ(room.pop(), nullptr) << "the other reader is unfinished";
  room.complete_task(b);
  EXPECT_EQ(room.pop(), next);
  room.complete_task(next);
  EXPECT_TRUE(room.groups.all_idle());
}

TEST_F(TaskOrder, TasksOnDifferentDataAreReadyAtOnce) {
  Task *const a = room.submit_task(codelet, {rw(x)}), *const b = room.submit_task(codelet, {rw(y)});
  Task *const both = room.submit_task(codelet, {r(x), r(y)});
  EXPECT_EQ(room.pop(), a);
  EXPECT_EQ(room.pop(), b);
  room.complete_task(b);
  EXPECT_EQ(room.pop(), nullptr) << "one of two predecessors is unfinished";
  room.complete_task(a);
  EXPECT_EQ(room.pop(), both);
  room.complete_task(both);
}

TEST_F(TaskOrder, FailureReachesExplicitSuccessorsAndPoisonsData) {
  Task *const bad = room.submit_task(codelet, {rw(x)});
  Task *const after = room.submit_task(codelet, {}, {{bad->pub.id}});
  Task *const unrelated = room.submit_task(codelet, {rw(y)});
  EXPECT_EQ(room.pop(), bad);
  EXPECT_EQ(room.pop(), unrelated);
  record_failure(room, bad, CONSORT_E_IO, "the disk is full", nullptr, 0, nullptr);
  room.complete_task(bad, CONSORT_E_IO);
  EXPECT_EQ(room.pop(), after);
  EXPECT_EQ(fail_if_doomed(room, after), CONSORT_E_POISONED);
  EXPECT_EQ(fail_if_doomed(room, unrelated), CONSORT_OK);
  EXPECT_TRUE(room.data.find(x)->state.load() & data_state::kPoisoned);
  EXPECT_FALSE(room.data.find(y)->state.load() & data_state::kPoisoned);
  const auto why = room.failures.find(after->pub.id);
  ASSERT_TRUE(why);
  EXPECT_NE(why->chain().find("the disk is full"), std::string::npos);
  room.complete_task(after, CONSORT_E_POISONED);
  room.complete_task(unrelated);
}

TEST_F(TaskOrder, TagsHoldTasksBack) {
  const uint64_t before = 3;
  ASSERT_EQ(room.tags.after(7, &before, 1), CONSORT_OK);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.flags = CONSORT_MORE_TAG;
  more.tag = 7;
  consort_task_desc d = CONSORT_TASK_INIT;
  d.codelet = Codelets::id(codelet);
  d.more = &more;
  Task *const t = room.submit_desc(d);
  EXPECT_EQ(room.pop(), nullptr) << "tag 7 comes after tag 3";
  EXPECT_FALSE(room.tags.reached(3));
  Task *gate = nullptr;
  ASSERT_EQ(room.tags.notify(3, &gate), CONSORT_OK);
  ASSERT_NE(gate, nullptr) << "the task hangs on it";
  Callback::end(room.thread(), gate);
  EXPECT_EQ(room.pop(), t);
  EXPECT_FALSE(room.tags.reached(7));
  room.complete_task(t);
  EXPECT_TRUE(room.tags.reached(7));
}

TEST_F(TaskOrder, HeldCompletionKeepsSuccessorsBack) {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.end_holds = 2;
  const consort_use use = rw(x);
  consort_task_desc d = CONSORT_TASK_INIT;
  d.codelet = Codelets::id(codelet);
  d.more = &more;
  d.uses = &use;
  d.nuses = 1;
  Task *const held = room.submit_desc(d);
  const TaskName name = held->pub.id;
  Task *const next = room.submit_task(codelet, {rw(x)});
  EXPECT_EQ(room.pop(), held);
  room.complete_task(held);
  EXPECT_TRUE(room.is_live(name));
  EXPECT_EQ(room.pop(), nullptr);
  Task *last = nullptr, *leaves = nullptr;
  EXPECT_TRUE(room.ends.release(name, &last, &leaves));
  EXPECT_EQ(last, nullptr) << "one hold is left";
  EXPECT_TRUE(room.ends.release(name, &last, &leaves));
  ASSERT_EQ(last, held);
  Callback::end(room.thread(), last);
  EXPECT_FALSE(room.is_live(name));
  EXPECT_FALSE(room.ends.release(name, &last, &leaves)) << "nothing holds it any more";
  EXPECT_EQ(room.pop(), next);
  room.complete_task(next);
}

TEST_F(TaskOrder, CommutingTasksAreReadyTogether) {
  Task *const a = room.submit_task(codelet, {commute(x)}), *const b = room.submit_task(codelet, {commute(x)});
  Task *const reader = room.submit_task(codelet, {r(x)});
  EXPECT_EQ(room.pop(), a);
  EXPECT_EQ(room.pop(), b);
  EXPECT_EQ(room.pop(), nullptr);
  room.complete_task(b);
  room.complete_task(a);
  EXPECT_EQ(room.pop(), reader);
  room.complete_task(reader);
}

TEST_F(TaskOrder, RefusedSubmissionLeavesNoEdge) {
  const consort_use uses[] = {rw(x), rw({0})};
  consort_task_desc d = CONSORT_TASK_INIT;
  d.codelet = Codelets::id(codelet);
  d.uses = uses;
  d.nuses = 2;
  EXPECT_EQ(submit(room, d, nullptr), CONSORT_E_INVAL);
  EXPECT_TRUE(room.groups.all_idle());
  Task *const t = room.submit_task(codelet, {rw(x)});
  EXPECT_EQ(room.pop(), t);
  room.complete_task(t);
}

}  // namespace
}  // namespace consort
