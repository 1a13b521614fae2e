// Records of tasks go back to the thread that carved them, and a state whose thread has ended is used again.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "task/task_room.hpp"

namespace consort {
namespace {

TEST(ThreadRecords, GoBackToTheirOwnerInBatches) {
  consort_test::TaskRoom room;
  ThreadState &owner = room.thread();
  ThreadState &other = *room.threads.adopt_or_add(room, 2);
  Task *a = owner.take_record(), *b = owner.take_record();
  const int32_t left = owner.nfree;
  EXPECT_EQ(a->thread, owner.id);
  other.give_record(a);
  EXPECT_FALSE(owner.drain_returned()) << "a batch is two";
  other.give_record(b);
  EXPECT_TRUE(owner.drain_returned());
  EXPECT_EQ(owner.nfree, left + 2);
  const std::set<Task *> again{owner.take_record(), owner.take_record()};
  EXPECT_EQ(again, (std::set<Task *>{a, b})) << "they are used before those at hand";
}

TEST(ThreadRecords, FlushGivesBackAPartOfABatch) {
  consort_test::TaskRoom room;
  ThreadState &owner = room.thread();
  ThreadState &other = *room.threads.adopt_or_add(room, 64);
  Task *t = owner.take_record();
  other.give_record(t);
  other.flush_records();
  EXPECT_EQ(owner.returned_count.load(), 1);
  EXPECT_TRUE(owner.drain_returned());
  EXPECT_EQ(owner.returned_count.load(), 0);
}

TEST(ThreadRecords, StateOfAnEndedThreadIsUsedAgain) {
  consort_test::TaskRoom room;
  ThreadState *const here = room.this_thread(), *theirs = nullptr, *next = nullptr;
  std::thread([&] { theirs = room.this_thread(); }).join();
  std::thread([&] { next = room.this_thread(); }).join();
  ASSERT_NE(theirs, nullptr);
  EXPECT_NE(theirs, here);
  EXPECT_EQ(next, theirs);
  EXPECT_EQ(room.threads.size(), 2u);
}

TEST(ThreadRecords, NameOfAnEndedTaskIsStale) {
  consort_test::TaskRoom room;
  Task &t = room.take_task(room.add_codelet("any"));
  const TaskName name = t.pub.id;
  EXPECT_EQ(room.task_at(name), &t);
  EXPECT_TRUE(room.is_live(name));
  t.word.store((name & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32));  // as its end does
  EXPECT_FALSE(room.is_live(name));
  EXPECT_EQ(room.name_before(name), name);
  room.thread().give_record(&t);
}

}  // namespace
}  // namespace consort
