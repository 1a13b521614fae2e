// Freed blocks of a memory: they are kept for the next of their size, within the limit of the space.
#include <gtest/gtest.h>

#include "machine/machine_room.hpp"
#include "memory/block_cache.hpp"

namespace consort {
namespace {

struct FreedBlocks : ::testing::Test {
  consort_test::MachineRoom room;
  BlockCache blocks{*room.topology};
  const uint32_t home = room.topology->home();

  consort_addr take(uint64_t bytes) {
    consort_addr at{};
    EXPECT_EQ(blocks.take(home, bytes, 64, &at), CONSORT_OK);
    return at;
  }
};

TEST_F(FreedBlocks, BlockOfTheSameSizeIsUsedAgain) {
  const consort_addr a = take(4096);
  EXPECT_EQ(blocks.taken(home), 4096u);
  blocks.keep({home, a, 4096});
  EXPECT_EQ(blocks.taken(home), 0u);
  EXPECT_EQ(blocks.spare(home), 4096u);
  const consort_addr other = take(8192);
  EXPECT_NE(other.base + other.off, a.base + a.off);
  EXPECT_EQ(blocks.spare(home), 4096u) << "of another size";
  const consort_addr again = take(4096);
  EXPECT_EQ(again.base + again.off, a.base + a.off);
  EXPECT_EQ(blocks.spare(home), 0u);
  blocks.keep({home, other, 8192});
  blocks.keep({home, again, 4096});
}

TEST_F(FreedBlocks, DroppedSparesGoToTheDriver) {
  EXPECT_FALSE(blocks.drop_spares(home)) << "there are none";
  blocks.keep({home, take(4096), 4096});
  EXPECT_TRUE(blocks.drop_spares(home));
  EXPECT_EQ(blocks.spare(home), 0u);
  EXPECT_EQ(blocks.taken(home), 0u);
}

TEST_F(FreedBlocks, LimitCountsWhatIsInUse) {
  EXPECT_FALSE(blocks.is_counted(home)) << "the host's memory, without a limit";
  blocks.found_full(home, 1);
  EXPECT_TRUE(blocks.is_counted(home));
  const uint64_t limit = blocks.limit(home);
  EXPECT_TRUE(blocks.lacks(home, limit + 1));
  EXPECT_FALSE(blocks.lacks(home, limit + 1, 1)) << "as much will go soon";
  EXPECT_FALSE(blocks.lacks(home, limit));
}

TEST(BlockLimit, SettingNamesASpace) {
  consort_test::MachineRoom plain;
  const uint32_t home = plain.topology->home();
  const std::string name = plain.topology->space_name(home), limits = name + "=64M", unknown = "nowhere=1M";
  consort_test::MachineRoom room(consort_test::Pairs{{"limits", limits.c_str()}});
  BlockCache blocks(*room.topology);
  ASSERT_TRUE(blocks.open(*room.config));
  EXPECT_EQ(blocks.limit(home), uint64_t{64} << 20);
  EXPECT_TRUE(blocks.is_counted(home));
  consort_test::MachineRoom wrong(consort_test::Pairs{{"limits", unknown.c_str()}});
  BlockCache refused(*wrong.topology);
  const auto r = refused.open(*wrong.config);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().text.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace consort
