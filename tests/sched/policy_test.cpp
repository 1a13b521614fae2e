// The policy on idle workers: what is pushed comes out once, a swap moves what waits, sleepers are woken.
#include "sched/policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/park.hpp"
#include "sched/context.hpp"
#include "sched/kept_tasks.hpp"
#include "sched/policy_push.hpp"
#include "sched/sched_room.hpp"

namespace consort {
namespace {

struct Scheduler : ::testing::Test {
  consort_test::SchedRoom room;
  ThreadState &thread = room.thread();
  Codelet &codelet = room.add_codelet("nop");
  Task *push() {
    Task *t = &room.take_task(codelet);
    room.policy.push(room, CONSORT_NONE, &t, 1, CONSORT_PUSH_NEW);
    return t;
  }
};

TEST_F(Scheduler, PushedTasksComeOutOnceAndInOrder) {
  Task *const a = push(), *const b = push();
  Task *c = &room.take_task(codelet);
  room.policy.push_one(room, thread, CONSORT_NONE, c);
  EXPECT_EQ(room.pop(), a);
  EXPECT_EQ(room.pop(1), b);
  EXPECT_EQ(room.pop(), c);
  EXPECT_EQ(room.pop(), nullptr);
}

TEST_F(Scheduler, SwapMovesPendingTasks) {
  const std::set<Task *> pushed{push(), push(), push()};
  ASSERT_TRUE(room.policies.swap(room, thread, "prio"));
  EXPECT_EQ(room.policies.name(), "prio");
  std::set<Task *> popped;
  while (Task *t = room.pop()) popped.insert(t);
  EXPECT_EQ(popped, pushed);
  Task *urgent = &room.take_task(codelet), *const plain = push();
  urgent->pub.priority = 3;
  room.policy.push(room, CONSORT_NONE, &urgent, 1, CONSORT_PUSH_NEW);
  EXPECT_EQ(room.pop(), urgent) << "the new policy goes by priority";
  EXPECT_EQ(room.pop(), plain);
}

TEST_F(Scheduler, RefusedSwapKeepsThePolicy) {
  Task *const t = push();
  const auto swapped = room.policies.swap(room, thread, "nothing of that name");
  ASSERT_FALSE(swapped);
  EXPECT_EQ(room.policies.name(), "eager");
  EXPECT_EQ(room.pop(), t);
  thread.asking = true;
  const auto inside = room.policies.swap(room, thread, "prio");
  thread.asking = false;
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().status, CONSORT_E_BUSY);
}

TEST_F(Scheduler, PushWakesAWorkerThatSleeps) {
  Parker parker;
  Worker &sleeper = *room.workers[1];
  push();
  sleeper.sleeping.store(&parker);
  room.sleepers[0].store(2);
  push();
  EXPECT_TRUE(parker.wait(0)) << "woken before it waited";
  EXPECT_EQ(room.sleepers[0].load(), 0u);
  push();
  EXPECT_FALSE(parker.wait(0)) << "nobody sleeps any more";
}

TEST_F(Scheduler, WakeTakesNoMoreThanItIsToldTo) {
  Parker parkers[2];
  for (uint32_t w = 0; w < 2; ++w) room.workers[w]->sleeping.store(&parkers[w]);
  room.sleepers[0].store(3);
  uint64_t both = 3;
  room.wake({1, 1, &both});
  EXPECT_EQ(parkers[0].wait(0) + parkers[1].wait(0), 1);
  EXPECT_EQ(__builtin_popcountll(room.sleepers[0].load()), 1);
}

TEST_F(Scheduler, KeptTasksAreHandedOverTogether) {
  Worker &w = *room.workers[0];
  for (int i = 0; i < 3; ++i) w.kept[w.nkept++] = &room.take_task(codelet);
  EXPECT_EQ(room.pop(), nullptr);
  Task *const first = w.kept[0];
  push_kept(room, w);
  EXPECT_EQ(w.nkept, 0u);
  EXPECT_EQ(room.pop(), first);
  EXPECT_NE(room.pop(), nullptr);
  EXPECT_NE(room.pop(), nullptr);
  EXPECT_EQ(room.pop(), nullptr);
}

TEST_F(Scheduler, WorkersOfAContextPopItsTasksAlone) {
  const uint32_t second = 1;
  const auto made = room.policy.contexts().create(thread, {"own", "eager", &second, 1, 0});
  ASSERT_TRUE(made);
  EXPECT_TRUE(room.policy.splits());
  EXPECT_EQ(room.policy.contexts().of_worker(1), *made);
  EXPECT_EQ(room.policy.contexts().of_worker(0), 0u);
  Task *const t = push();
  EXPECT_EQ(room.pop(1), nullptr) << "a task of the runtime's own context";
  EXPECT_EQ(room.pop(0), t);
  ASSERT_TRUE(room.policy.contexts().destroy(thread, *made));
  Task *const next = push();
  EXPECT_EQ(room.pop(1), next) << "the worker went back";
}

}  // namespace
}  // namespace consort
