// The part of the drivers of files that needs no disk: the allocated bytes of a file, and how a copy is cut into
// transfers.
#include "../../plugins/drivers/disk/pieces.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "../../plugins/drivers/disk/extents.hpp"

namespace {

using disk::Extents;
using disk::kBlock;
using disk::Piece;
using disk::Pieces;
using disk::Rules;

TEST(Extents, TakesLowestAndMergesNeighbours) {
  Extents e(10 * 4096, 4096);
  EXPECT_EQ(e.take(1, 1), 0u);
  EXPECT_EQ(e.take(4097, 64), 4096u) << "two granules";
  EXPECT_EQ(e.take(4096, 4096), 12288u);
  EXPECT_EQ(e.used(), 4u * 4096);
  EXPECT_EQ(e.give_back(0), 4096u);
  EXPECT_EQ(e.give_back(12288), 4096u);
  EXPECT_EQ(e.pieces(), 2u);
  EXPECT_EQ(e.give_back(4096), 8192u) << "joins both neighbours";
  EXPECT_EQ(e.pieces(), 1u);
  EXPECT_EQ(e.used(), 0u);
  EXPECT_EQ(e.take(10 * 4096, 1), 0u) << "all of it in one piece again";
  EXPECT_FALSE(e.take(1, 1));
  EXPECT_EQ(e.give_back(4096), 0u) << "nothing begins there";
}

TEST(Extents, AlignsBeyondTheGranule) {
  Extents e(64 * 4096, 4096);
  EXPECT_EQ(e.take(4096, 1), 0u);
  EXPECT_EQ(e.take(4096, 65536), 65536u);
  EXPECT_EQ(e.take(4096, 1), 4096u) << "the gap before it is used";
  EXPECT_FALSE(e.take(UINT64_MAX, 1));
  EXPECT_FALSE(e.take(4096, uint64_t{1} << 40));
  EXPECT_EQ(Extents(4095, 4096).take(1, 1), std::nullopt) << "less than a granule is nothing";
}

TEST(Extents, HoldsOnlyWithinOneRange) {
  Extents e(16 * 4096, 4096);
  e.take(8192, 1), e.take(4096, 1);
  EXPECT_TRUE(e.holds(0, 8192));
  EXPECT_TRUE(e.holds(4000, 5000));
  EXPECT_FALSE(e.holds(4096, 8193)) << "over into the next";
  EXPECT_TRUE(e.holds(8192, 12288));
  EXPECT_FALSE(e.holds(12288, 12289));
  EXPECT_FALSE(e.holds(5, 4));
}

TEST(Extents, RandomUseNeverOverlaps) {
  constexpr uint64_t kGranules = 200;
  Extents e(kGranules * 4096, 4096);
  std::vector<bool> used(kGranules);
  std::map<uint64_t, uint64_t> mine;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2) {
      const uint64_t bytes = 1 + random() % (20 * 4096), align = uint64_t{1} << random() % 16;
      const auto at = e.take(bytes, align);
      const uint64_t n = (bytes + 4095) / 4096;
      if (!at) {
        if (align > 4096) continue;
        uint64_t longest = 0, now = 0;
        for (const bool u : used) now = u ? 0 : now + 1, longest = std::max(longest, now);
        ASSERT_LT(longest, n) << "refused, though there was room";
        continue;
      }
      ASSERT_EQ(*at % std::max<uint64_t>(align, 4096), 0u);
      for (uint64_t g = 0; g < n; ++g) {
        ASSERT_FALSE(used[*at / 4096 + g]);
        used[*at / 4096 + g] = true;
      }
      mine[*at] = n;
    } else if (!mine.empty()) {
      const auto it = std::next(mine.begin(), random() % mine.size());
      ASSERT_EQ(e.give_back(it->first), it->second * 4096);
      for (uint64_t g = 0; g < it->second; ++g) used[it->first / 4096 + g] = false;
      mine.erase(it);
    }
  }
  for (const auto &[at, n] : mine) e.give_back(at);
  EXPECT_EQ(e.pieces(), 1u);
  EXPECT_EQ(e.taken(), 0u);
}

// -- pieces -----------------------------------------------------------------------------------------------------------

struct Cut {
  std::vector<Piece> list;
  explicit Cut(Pieces p, const Rules &rules) {
    while (!p.at_end() && list.size() < 100000) {
      list.push_back(p.due(rules));
      p.took(list.back());
    }
  }
};

consort_copy copy_of(void *memory, uint64_t file, uint64_t run, uint64_t rows = 1, int64_t memory_step = 0,
                     int64_t file_step = 0, uint64_t slices = 1, int64_t memory_slice = 0, int64_t file_slice = 0) {
  return {0,
          1,
          {reinterpret_cast<uint64_t>(memory), 0},
          {1, file},
          run,
          {rows, slices},
          {memory_step, memory_slice},
          {file_step, file_slice}};
}

TEST(Pieces, MergesContiguousRows) {
  char m[64];
  const auto whole = Cut(Pieces(copy_of(m, 0, 8, 4, 8, 8, 2, 32, 32), true), Rules{});
  ASSERT_EQ(whole.list.size(), 1u);
  EXPECT_EQ(whole.list[0].bytes, 64u);
  EXPECT_EQ(whole.list[0].memory, m) << "no buffer";
  EXPECT_EQ(Cut(Pieces(copy_of(m, 0, 8, 4, 16, 8), true), Rules{}).list.size(), 1u) << "gathered into one transfer";
  EXPECT_EQ(Cut(Pieces(copy_of(m, 0, 8, 4, 8, 16), true), Rules{}).list.size(), 4u) << "apart in the file";
  EXPECT_TRUE(Pieces(copy_of(m, 0, 0), true).at_end());
  EXPECT_TRUE(Pieces(copy_of(m, 0, 8, 0), true).at_end());
}

TEST(Pieces, CopiesLongRowsWithoutABuffer) {
  std::vector<char> m(1 << 20);
  const auto rows = Cut(Pieces(copy_of(m.data(), 0, 1 << 17, 4, 1 << 18, 1 << 17), true), Rules{});
  ASSERT_EQ(rows.list.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(rows.list[i].memory, m.data() + (i << 18));
}

TEST(Pieces, DirectTransfersAreWholeBlocks) {
  char *const m = static_cast<char *>(std::aligned_alloc(kBlock, 1 << 20));
  Rules rules{1 << 16, true};
  for (const uint64_t at : {0, 1, 4095, 4096, 5000})
    for (const uint64_t bytes : {1, 100, 4095, 4096, 4097, 12288, 200000})
      for (const int shift : {0, 64}) {
        const auto cut = Cut(Pieces(copy_of(m + shift, at, bytes), true), rules);
        uint64_t sum = 0;
        for (const Piece &p : cut.list) {
          EXPECT_EQ(p.at, at + sum);
          sum += p.bytes;
          if (!p.direct) {
            EXPECT_EQ(p.at / kBlock, (p.at + p.bytes - 1) / kBlock) << "edges stay inside one block";
            continue;
          }
          EXPECT_EQ(p.at % kBlock + p.bytes % kBlock, 0u);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(p.memory) % kBlock, 0u);
          EXPECT_LE(p.bytes, rules.chunk);
        }
        EXPECT_EQ(sum, bytes);
        EXPECT_LE(cut.list.size(), 2 + bytes / rules.chunk + 1);
      }
  std::free(m);
}

TEST(Pieces, CopiesRandomBoxes) {
  std::mt19937_64 random(5);
  constexpr uint64_t kMemory = 1 << 18, kFile = 1 << 19;
  std::vector<char> m(kMemory), file(kFile), want(kFile), back(kMemory), buffer(1 << 16);
  for (auto &c : m) c = static_cast<char>(random());
  for (int round = 0; round < 400; ++round) {
    const uint64_t run = 1 + random() % (round % 3 ? 300 : 40000), rows = 1 + random() % 6, slices = 1 + random() % 3;
    const auto step = [&](uint64_t inner) { return static_cast<int64_t>(inner + (random() % 2 ? random() % 500 : 0)); };
    const int64_t ms = step(run), fs = step(run), mz = step(ms * rows), fz = step(fs * rows);
    if (mz * slices > kMemory || fz * slices + 9000 > kFile) continue;
    const uint64_t at = random() % 9000;
    const consort_copy c = copy_of(m.data(), at, run, rows, ms, fs, slices, mz, fz);
    const Rules rules{uint64_t{4096} << random() % 5, random() % 2 == 0};
    for (uint64_t z = 0; z < slices; ++z)
      for (uint64_t y = 0; y < rows; ++y) std::memcpy(&want[at + z * fz + y * fs], &m[z * mz + y * ms], run);
    const Pieces out(c, true);
    uint64_t from = 0, to = 0;
    ASSERT_TRUE(out.reach(&from, &to));
    EXPECT_EQ(from, at);
    EXPECT_EQ(to, at + run + (rows - 1) * fs + (slices - 1) * fz);
    for (const Piece &p : Cut(out, rules).list) {
      if (!p.memory) out.gather(p, buffer.data());
      std::memcpy(&file[p.at], p.memory ? p.memory : buffer.data(), p.bytes);
    }
    ASSERT_EQ(file, want) << round;
    std::fill(back.begin(), back.end(), 0);
    const consort_copy r{1,        0,       c.dst, {reinterpret_cast<uint64_t>(back.data()), 0}, run, {rows, slices},
                         {fs, fz}, {ms, mz}};
    const Pieces in(r, false);
    for (const Piece &p : Cut(in, rules).list) {
      std::memcpy(p.memory ? p.memory : buffer.data(), &file[p.at], p.bytes);
      if (!p.memory) in.scatter(p, buffer.data());
    }
    for (uint64_t z = 0; z < slices; ++z)
      for (uint64_t y = 0; y < rows; ++y)
        ASSERT_EQ(std::memcmp(&back[z * mz + y * ms], &m[z * mz + y * ms], run), 0) << round;
  }
}

TEST(Pieces, FillContinuesItsPattern) {
  const consort_fill f{{1, 4090}, 10000, 0, 0x04030201};
  const Pieces p(f);
  std::vector<char> file(20000), buffer(1 << 16);
  for (const bool direct : {false, true}) {
    for (const Piece &piece : Cut(p, Rules{4096, direct}).list) {
      ASSERT_EQ(piece.memory, nullptr);
      p.gather(piece, buffer.data());
      std::memcpy(&file[piece.at], buffer.data(), piece.bytes);
    }
    for (uint64_t i = 0; i < f.run; ++i) ASSERT_EQ(file[4090 + i], static_cast<char>(1 + i % 4));
  }
}

TEST(Pieces, DetectsWraparound) {
  char m[8];
  uint64_t from = 0, to = 0;
  EXPECT_FALSE(Pieces(copy_of(m, 0, 1, 2, 1, -1), true).reach(&from, &to)) << "before the file";
  EXPECT_FALSE(Pieces(copy_of(m, UINT64_MAX - 3, 8), true).reach(&from, &to));
  ASSERT_TRUE(Pieces(copy_of(m, 100, 1, 8, 1, -2), true).reach(&from, &to)) << "backwards is fine";
  EXPECT_EQ(from, 86u);
  EXPECT_EQ(to, 101u);
}

}  // namespace
