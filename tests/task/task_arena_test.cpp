// The places beside a task's record: extras, links, payloads.
#include "task/task_arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

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

size_t committed_pages(const void *from, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(from) & ~(page - 1), last = reinterpret_cast<uintptr_t>(from) + bytes;
  std::vector<unsigned char> resident((last - first + page - 1) / page);
  if (mincore(reinterpret_cast<void *>(first), last - first, resident.data()) != 0) return SIZE_MAX;
  size_t n = 0;
  for (const unsigned char r : resident) n += r & 1;
  return n;
}

// A huge page would be committed for each of them.
TEST(TaskArenaMemory, PlaceOfAnyRecordCommitsItsOwnPagesAlone) {
  constexpr uint32_t kSlots = 1 << 20, kEach = 1 << 15, kTouched = kSlots / kEach - 1;
  TaskArena arena;
  ASSERT_TRUE(arena.reserve(kSlots));
  ASSERT_EQ(arena.limit(), kSlots);
  struct Range { const char *name; size_t slot; const void *(*at)(const TaskArena &, uint32_t); };
  using A = const TaskArena &;
  const Range ranges[] = {
      {"extras", sizeof(Extra), [](A a, uint32_t n) -> const void * { return a.extra_of(a.at(n)); }},
      {"links", sizeof(LinkChunk), [](A a, uint32_t n) -> const void * { return &a.links(n); }},
      {"small", TaskArena::kSmallPayload, [](A a, uint32_t n) -> const void * { return a.payload(n, TaskArena::kSmallPayload); }},
      {"large", TaskArena::kLargePayload, [](A a, uint32_t n) -> const void * { return a.payload(n, TaskArena::kLargePayload); }}};
  for (const Range &r : ranges) {
    for (uint32_t n = kEach; n < kSlots; n += kEach)
      std::memset(const_cast<void *>(r.at(arena, n)), 1, 64);  // a line, so in one page
    EXPECT_EQ(committed_pages(r.at(arena, 0), size_t{kSlots} * r.slot), kTouched) << r.name;
  }
}

TEST_F(TaskArenaTest, ExtraThatIsNotBesideARecordNeverEndsPlainly) {
  const Extra of_a_recording;
  EXPECT_FALSE(of_a_recording.is_idle_at_end());
}

}  // namespace
}  // namespace consort
