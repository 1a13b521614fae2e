// Memory of a freed replica is kept for the next of that size, and is freed only as far as other data need it (MEM-02).
#include <consort/memory.h>

#include "memory_machine.hpp"

namespace {

using namespace consort_test;

constexpr uint64_t kTile = 32 << 10;

// So many data of 32 KiB that no application has memory for, written on the device and then forgotten.
void leave_spares(MemoryMachine &m, consort_codelet_id fill, int count) {
  std::vector<consort_data_id> x;
  for (int i = 0; i < count; ++i) x.push_back(vector_of(m, static_cast<uint64_t *>(nullptr), kTile / 8, 8));
  for (const auto d : x) Desc(fill).w(d).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
  EXPECT_EQ(use_of(m, 1).spare, static_cast<uint64_t>(count) * kTile);
}
consort_status fill_first(const consort_call &c) { return *pointer<uint64_t>(c, 0) = 5, CONSORT_OK; }

TEST(BlockCache, AllocatesFullMemoryOnce) {
  const std::string limit = MemoryMachine().space_name() + "=256K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  constexpr size_t kData = 40;
  std::vector<std::vector<uint64_t>> memory(kData, std::vector<uint64_t>(kTile / 8, 1));
  std::vector<consort_data_id> x;
  for (auto &v : memory) x.push_back(vector_of(m, v.data(), v.size(), 8));
  const auto there = m.on("stream", nullptr, triple);
  for (size_t i = 0; i < 10 * kData; ++i) Desc(there).rw(x[i * 7 % kData]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_GE(use_of(m, 1).evictions, 5 * kData);
  EXPECT_LE(m.counters[STREAM_ALLOCS], 256 / 32);
  for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
  for (const auto &v : memory) EXPECT_EQ(v[0], (59049u * 3 - 1) / 2);  // ten times 3 x + 1
}

TEST(BlockCache, FreesOnlyTheBlocksThatAreNeeded) {
  const std::string limit = MemoryMachine().space_name() + "=256K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  const auto fill = m.on("stream", nullptr, fill_first);
  leave_spares(m, fill, 8);
  const auto large = vector_of(m, static_cast<uint64_t *>(nullptr), 2 * kTile / 8, 8, "large");
  Desc(fill).w(large).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(use_of(m, 1).spare, 6 * kTile);
  EXPECT_EQ(use_of(m, 1).used, 2 * kTile);
  ASSERT_OK(consort_unregister(m, large));
}

TEST(BlockCache, FreesBlocksWhenTheDriverRefuses) {
  MemoryMachine m(Pairs{{"stream.room", "262144"}});
  const auto fill = m.on("stream", nullptr, fill_first);
  leave_spares(m, fill, 8);
  const auto large = vector_of(m, static_cast<uint64_t *>(nullptr), 7 * kTile / 8, 8, "large");
  Desc(fill).w(large).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, large));
  leave_spares(m, fill, 8);  // and nothing was learnt that is not so
}

// The host's memory has no limit: the cache does not grow to the sum of all sizes.
TEST(BlockCache, StaysBoundedWithoutALimit) {
  MemoryMachine m;
  const auto fill = m.on("stream", nullptr, fill_first);
  const auto read = m.on("cpu", nullptr, [](const consort_call &) { return CONSORT_OK; });
  for (uint64_t i = 1; i <= 40; ++i) {
    const uint64_t bytes = i * 4096;
    const auto x = vector_of(m, static_cast<uint64_t *>(nullptr), bytes / 8, 8);
    Desc(fill).w(x).must(m);
    Desc(read).r(x).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_OK(consort_unregister(m, x));
    for (const uint32_t space : {0u, 1u}) {
      consort_space_use use = CONSORT_SPACE_USE_INIT;
      ASSERT_OK(consort_get_space_use(m, space, &use));
      EXPECT_EQ(use.used, 0u);
      if (use.limit == UINT64_MAX) {
        EXPECT_LE(use.spare, 2 * bytes) << "in space " << space;
      }
    }
  }
}

}  // namespace
