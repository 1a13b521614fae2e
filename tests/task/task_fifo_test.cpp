// Rows of tasks that are linked through a table beside their records.
#include "task/task_fifo.hpp"

#include <gtest/gtest.h>

namespace consort {
namespace {

struct TaskRow : ::testing::Test {
  TaskArena tasks;
  TaskFifo::Links links;
  uint32_t first = 0;
  void SetUp() override {
    ASSERT_TRUE(tasks.reserve(1024) && links.reserve(1024));
    first = tasks.carve(8);
  }
  Task *at(uint32_t i) { return tasks.at(first + i); }
  Task *take(TaskFifo &row) {
    return row.take(tasks, links, [](const Task &) { return true; });
  }
};

TEST_F(TaskRow, FirstInIsFirstOut) {
  TaskFifo row;
  for (const uint32_t i : {3u, 1u, 2u}) row.push_back(tasks, links, at(i));
  for (const uint32_t i : {3u, 1u, 2u}) EXPECT_EQ(take(row), at(i));
  EXPECT_TRUE(row.empty());
  EXPECT_EQ(take(row), nullptr);
}

TEST_F(TaskRow, OneOfAKindLeavesTheOthersInOrder) {
  TaskFifo row;
  for (uint32_t i = 0; i < 5; ++i) row.push_back(tasks, links, at(i));
  const auto is = [&](uint32_t i) { return [this, i](const Task &t) { return &t == at(i); }; };
  EXPECT_EQ(row.take(tasks, links, is(4)), at(4)) << "the last";
  EXPECT_EQ(row.take(tasks, links, is(2)), at(2));
  EXPECT_EQ(row.take(tasks, links, is(2)), nullptr);
  row.push_back(tasks, links, at(6));
  for (const uint32_t i : {0u, 1u, 3u, 6u}) EXPECT_EQ(take(row), at(i));
}

TEST_F(TaskRow, AppendedRowFollows) {
  TaskFifo row, other, none;
  row.append(links, none);
  EXPECT_TRUE(row.empty());
  other.push_back(tasks, links, at(0));
  row.append(links, other);
  EXPECT_TRUE(other.empty());
  other.push_back(tasks, links, at(1));
  other.push_back(tasks, links, at(2));
  row.append(links, other);
  for (const uint32_t i : {0u, 1u, 2u}) EXPECT_EQ(take(row), at(i));
}

}  // namespace
}  // namespace consort
