// The places beside a task's record: extras, links, payloads.
#include "task/task_arena.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace consort {
namespace {

struct TaskArenaTest : ::testing::Test {
  TaskArena arena;
  void SetUp() override {
    ASSERT_TRUE(arena.reserve(4096));
    ASSERT_EQ(arena.carve(100), 1u);
  }
  Task *record(uint32_t number) { return new (arena.at(number)) Task; }
};

TEST_F(TaskArenaTest, PayloadsOfDifferentRecordsDoNotOverlap) {
  for (const uint64_t bytes : {uint64_t{65}, uint64_t{192}, uint64_t{193}, uint64_t{576}}) {
    for (uint32_t n = 1; n <= 100; ++n) {
      ASSERT_NE(arena.payload(n, bytes), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.payload(n, bytes)) % 64, 0u);
      std::memset(arena.payload(n, bytes), static_cast<int>(n), bytes);
    }
    for (uint32_t n = 1; n <= 100; ++n)
      for (uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(arena.payload(n, bytes)[i], static_cast<std::byte>(n)) << bytes;
  }
}

TEST_F(TaskArenaTest, RefusesPayloadsThatAreTooLarge) {
  EXPECT_EQ(arena.payload(1, TaskArena::kLargePayload + 1), nullptr);
  EXPECT_EQ(arena.payload(1, ~uint64_t{0}), nullptr);
}

TEST_F(TaskArenaTest, ExtraOfAReusedRecordIsBlank) {
  Task *t = record(7);
  Extra *e = arena.make_extra(t);
  EXPECT_EQ(t->extra, e);
  EXPECT_EQ(arena.extra_of(t), e);
  e->worker = 3;
  e->work = 5;
  ASSERT_TRUE(e->set_name("a task"));
  ASSERT_TRUE(e->make_room_after(2));
  e->nafter = 2;
  e = arena.make_extra(t);
  EXPECT_EQ(e->worker, CONSORT_NONE);
  EXPECT_EQ(e->work, 0u);
  EXPECT_EQ(e->name, nullptr);
  EXPECT_EQ(e->nafter, 0u);
  EXPECT_TRUE(e->is_idle_at_end());
}

TEST_F(TaskArenaTest, OnlyLongNamesAreAllocated) {
  Extra *e = arena.make_extra(record(1));
  const std::string fits(Extra::kShortName - 1, 'n'), longer(Extra::kShortName, 'n');
  ASSERT_TRUE(e->set_name(fits.c_str()));
  EXPECT_EQ(e->name, fits);
  EXPECT_EQ(e->long_name, nullptr);
  EXPECT_TRUE(e->is_idle_at_end());
  ASSERT_TRUE(e->set_name(longer.c_str()));
  EXPECT_EQ(e->name, longer);
  EXPECT_EQ(e->name, e->long_name);
  EXPECT_FALSE(e->is_idle_at_end()) << "the name is to be freed";
  std::free(e->long_name);
}

TEST_F(TaskArenaTest, PredecessorsAreKeptWhereTheirRoomGrows) {
  Extra *e = arena.make_extra(record(1));
  ASSERT_TRUE(e->make_room_after(Extra::kFewAfter));
  for (uint32_t i = 0; i < Extra::kFewAfter; ++i) e->after[i] = 10 + i;
  e->nafter = Extra::kFewAfter;
  EXPECT_EQ(e->long_after, nullptr);
  for (const uint32_t room : {Extra::kFewAfter + 1, 100u}) {
    ASSERT_TRUE(e->make_room_after(room));
    for (uint32_t i = 0; i < Extra::kFewAfter; ++i) EXPECT_EQ(e->after[i], 10u + i) << room;
  }
  std::free(e->long_after);
}

TEST_F(TaskArenaTest, ExtraThatIsNotBesideARecordNeverEndsPlainly) {
  const Extra of_a_recording;
  EXPECT_FALSE(of_a_recording.is_idle_at_end());
}

}  // namespace
}  // namespace consort
