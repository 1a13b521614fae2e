// Groups: what threads have submitted and finished is summed, handles go stale, a subgroup outlives its parent.
#include "task/group.hpp"

#include <gtest/gtest.h>

#include "task/task_room.hpp"

namespace consort {
namespace {

struct TaskGroup : ::testing::Test {
  consort_test::TaskRoom room;
  ThreadState &here = room.thread();
  ThreadState &other = *room.threads.adopt_or_add(room, 64);
  Group &add() { return *consort_test::must(room.groups.create(nullptr)); }
};

TEST_F(TaskGroup, CountsOfThreadsAreSummed) {
  Group &g = add();
  EXPECT_TRUE(room.groups.idle(g));
  count_in(here, g);
  count_in(other, g);
  EXPECT_FALSE(room.groups.idle(g));
  EXPECT_TRUE(room.groups.busy(g));
  count_out(room, other, g);
  count_out(room, other, g);  // a task is counted where it ends
  uint64_t count = 0;
  EXPECT_TRUE(room.groups.idle(g, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(room.submitted(), 2u);
  EXPECT_EQ(room.finished(), 2u);
}

TEST_F(TaskGroup, CountsMoveWhenAThreadTurns) {
  Group &first = add(), &second = add();
  for (int i = 0; i < 3; ++i) count_in(here, first);
  count_in(here, second);
  EXPECT_EQ(room.groups.submitted(first), 3u);
  EXPECT_EQ(room.groups.submitted(second), 1u);
  for (int i = 0; i < 3; ++i) count_out(room, here, first);
  EXPECT_TRUE(room.groups.idle(first));
  EXPECT_FALSE(room.groups.all_idle());
  count_out(room, here, second);
  EXPECT_TRUE(room.groups.all_idle());
}

TEST_F(TaskGroup, HandleOfADestroyedGroupIsStale) {
  Group &g = add();
  const consort_group_id id = g.id();
  EXPECT_EQ(room.groups.find(id), &g);
  count_in(here, g);
  const auto refused = room.groups.destroy(g);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, CONSORT_E_BUSY);
  count_out(room, here, g);
  EXPECT_TRUE(room.groups.destroy(g));
  EXPECT_EQ(room.groups.find(id), nullptr);
  Group &next = add();
  EXPECT_EQ(&next, &g) << "its record is used again";
  EXPECT_EQ(room.groups.find(id), nullptr);
  EXPECT_EQ(room.groups.find(next.id()), &next);
}

TEST_F(TaskGroup, SubgroupTurnsToItsGrandparent) {
  Codelet &c = room.add_codelet("creates groups");
  Task &t = room.take_task(c);
  const auto add_inside = [&](Group &parent) -> Group & {
    t.group = &parent;
    here.task = &t;
    Group &g = add();
    here.task = nullptr;
    return g;
  };
  Group &top = add(), &middle = add_inside(top), &bottom = add_inside(middle);
  EXPECT_EQ(bottom.parent.load(), &middle);
  EXPECT_TRUE(room.groups.destroy(middle));
  EXPECT_EQ(bottom.parent.load(), &top);
  EXPECT_TRUE(room.groups.destroy(top));
  EXPECT_EQ(bottom.parent.load(), nullptr);
  here.give_record(&t);
}

TEST_F(TaskGroup, DefaultGroupIsNotDestroyed) {
  const auto refused = room.groups.destroy(room.groups.standard());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, CONSORT_E_INVAL);
  EXPECT_EQ(room.groups.find({0}), &room.groups.standard());
}

}  // namespace
}  // namespace consort
