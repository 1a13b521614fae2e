// Arenas: numbered slots at addresses that never change.
#include "base/arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>
#include <thread>
#include <vector>

namespace consort {
namespace {

struct Slot { uint64_t words[8]; };

TEST(Arena, SlotsAreFoundByTheirNumber) {
  Arena<Slot> arena;
  ASSERT_TRUE(arena.reserve(4096));
  const uint32_t first = arena.carve(3);
  EXPECT_EQ(first, 1u) << "slot 0 is never handed out";
  EXPECT_EQ(arena.carve(1), 4u);
  EXPECT_EQ(arena.at(first + 2), arena.at(first) + 2);
  EXPECT_EQ(arena.index(arena.at(4)), 4u);
  EXPECT_EQ(arena.at(4)->words[7], 0u) << "memory arrives zeroed";
}

TEST(Arena, HoldsWhatWasCarved) {
  Arena<Slot> arena;
  ASSERT_TRUE(arena.reserve(4096));
  EXPECT_FALSE(arena.holds(1));
  arena.carve(2);
  EXPECT_FALSE(arena.holds(0));
  EXPECT_TRUE(arena.holds(1));
  EXPECT_TRUE(arena.holds(2));
  EXPECT_FALSE(arena.holds(3));
  EXPECT_FALSE(arena.holds(UINT32_MAX));
}

TEST(Arena, RefusesMoreThanItsRange) {
  Arena<Slot> arena;
  ASSERT_TRUE(arena.reserve(1024));
  EXPECT_EQ(arena.carve(arena.limit()), 0u) << "slot 0 counts";
  EXPECT_EQ(arena.carve(UINT32_MAX), 0u) << "the sum of numbers overflows";
  EXPECT_EQ(arena.carve(arena.limit() - 1), 1u);
  EXPECT_EQ(arena.carve(1), 0u);
}

TEST(Arena, LimitGivesTheRestOfTheRangeBack) {
  Arena<Slot> arena;
  ASSERT_TRUE(arena.reserve(1 << 16));
  arena.limit_to(1 << 20);
  EXPECT_EQ(arena.limit(), 1u << 16) << "a limit never adds slots";
  arena.limit_to(1000);
  EXPECT_EQ(arena.limit(), 1000u);
  ASSERT_EQ(arena.carve(999), 1u);
  EXPECT_EQ(arena.carve(1), 0u);
  arena.at(999)->words[7] = 1;  // still mapped
  unsigned char resident;
  EXPECT_NE(mincore(reinterpret_cast<char *>(arena.at(0)) + (64 << 10), 4096, &resident), 0) << "not mapped any more";
}

TEST(Arena, ThreadsCarveDistinctSlots) {
  Arena<Slot> arena;
  ASSERT_TRUE(arena.reserve(1 << 16));
  std::vector<std::vector<uint32_t>> got(4);
  std::vector<std::thread> threads;
  for (auto &mine : got)
    threads.emplace_back([&arena, &mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(arena.carve(3));
    });
  for (auto &t : threads) t.join();
  std::set<uint32_t> all;
  for (const auto &mine : got) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(arena.carved(), 12001u);
}

}  // namespace
}  // namespace consort
