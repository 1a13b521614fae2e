// device_copies.hpp — copies and fills that any device with memory of its own has to get right.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>

#include "drivers/device_machine.hpp"

namespace consort_test {

inline void copies_boxes_of_every_kind(DeviceMachine &m) {
  void *q = m.open_queue();
  constexpr size_t kBytes = 8192;
  std::vector<unsigned char> in(kBytes), out(kBytes), want(kBytes), seen(kBytes);
  for (size_t i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(i * 7 + i / 256);
  struct Case { uint64_t run, rows, slices; int64_t src[2], dst[2]; uint64_t src_off, dst_off; };
  const Case cases[] = {
      {100, 1, 1, {0, 0}, {0, 0}, 3, 17},              // a line
      {24, 7, 1, {64, 0}, {32, 0}, 8, 4},              // rows
      {16, 5, 3, {32, 320}, {16, 80}, 40, 0},          // slices of rows
      {16, 5, 3, {32, 333}, {48, 250}, 5, 11},         // slices that are no multiple of a row
      {16, 1, 6, {0, 100}, {0, 64}, 0, 9},             // slices of one row
      {8, 6, 1, {-16, 0}, {8, 0}, 400, 0},             // backwards
      {8, 6, 2, {4, 1000}, {8, 64}, 64, 128},          // rows that overlap in the source
      {4, 16, 16, {4, 64}, {64, 4}, 0, 0},             // transposed: steps in another order
      {32, 4, 1, {0, 0}, {32, 0}, 256, 0},             // one row, four times
  };
  const consort_addr a = m.alloc(kBytes), b = m.alloc(kBytes);
  for (const Case &c : cases) {
    std::fill(want.begin(), want.end(), 0xee);
    for (uint64_t z = 0; z < c.slices; ++z)
      for (uint64_t y = 0; y < c.rows; ++y)
        std::memcpy(&want[c.dst_off + int64_t(z) * c.dst[1] + int64_t(y) * c.dst[0]], &in[c.src_off + int64_t(z) * c.src[1] + int64_t(y) * c.src[0]], c.run);
    const auto box = [&](uint32_t from, consort_addr src, uint32_t to, consort_addr dst) {
      src.off += c.src_off, dst.off += c.dst_off;
      return m.copy(from, src, to, dst, c.run, c.rows, c.src[0], c.dst[0], c.slices, c.src[1], c.dst[1]);
    };
    const std::string which = "run " + std::to_string(c.run) + " rows " + std::to_string(c.rows) + " slices " + std::to_string(c.slices);
    std::vector<unsigned char> blank(kBytes, 0xee);
    // host to device, device to device, device to host
    std::fill(seen.begin(), seen.end(), 0);
    EXPECT_EQ(m.run(q, {m.to_device(blank.data(), a, kBytes), box(m.host(), DeviceMachine::addr(in.data()), m.own(), a), m.from_device(a, seen.data(), kBytes)}),
              (std::vector<consort_status>{0, 0, 0})) << which;
    EXPECT_EQ(seen, want) << "in, " << which;
    EXPECT_EQ(m.run(q, {m.to_device(in.data(), a, kBytes), m.to_device(blank.data(), b, kBytes), box(m.own(), a, m.own(), b), m.from_device(b, seen.data(), kBytes)}),
              (std::vector<consort_status>{0, 0, 0, 0})) << which;
    EXPECT_EQ(seen, want) << "within, " << which;
    std::fill(out.begin(), out.end(), 0xee);
    EXPECT_EQ(m.run(q, {box(m.own(), a, m.host(), DeviceMachine::addr(out.data()))}), (std::vector<consort_status>{0})) << which;
    EXPECT_EQ(out, want) << "out, " << which;
  }
  EXPECT_EQ(m.run(q, {m.copy(m.host(), DeviceMachine::addr(in.data()), m.host(), DeviceMachine::addr(out.data()), 4)}), (std::vector<consort_status>{CONSORT_E_UNSUPPORTED}));
}

// Rows of random lengths and steps, many in flight on a queue that has no order: bytes are right, each is reported once.
inline void copies_without_order(DeviceMachine &m) {
  void *q = m.open_queue(2, CONSORT_NONE);
  EXPECT_FALSE(m.desc.flags & CONSORT_Q_IN_ORDER);
  constexpr size_t kBytes = 1 << 20, kBlocks = 12;
  std::vector<std::vector<unsigned char>> sent(kBlocks, std::vector<unsigned char>(kBytes)), got = sent;
  // Written once and copied: bytes that are written one by one are dear under the thread sanitizer.
  std::vector<unsigned char> pattern(kBytes + 256);
  std::iota(pattern.begin(), pattern.end(), static_cast<unsigned char>(0));
  std::vector<consort_addr> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(m.alloc(kBytes));
  const auto go = [&](std::vector<consort_op> ops) {
    for (size_t i = 0; i < ops.size(); ++i) ops[i].cookie = i;
    ASSERT_EQ(m.ops->submit(q, ops.data(), static_cast<uint32_t>(ops.size())), ops.size());
    std::vector<int> seen(ops.size());
    for (const auto &done : m.collect(q, ops.size())) {
      EXPECT_EQ(done.status, CONSORT_OK);
      ++seen[done.cookie];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<ptrdiff_t>(ops.size()));
  };
  std::mt19937 chance(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<consort_op> in, out;
    for (size_t i = 0; i < kBlocks; ++i) {
      std::memcpy(sent[i].data(), &pattern[chance() % 256], kBytes);
      std::fill(got[i].begin(), got[i].end(), 0);
      const uint64_t run = 1 + chance() % 4000, rows = 1 + chance() % 200;
      const auto step = static_cast<int64_t>(run + chance() % 1000), narrow = static_cast<int64_t>(run);
      // A negative step is beyond one command: many commands that wait for one another.
      const bool turned = i % 4 == 3;
      const consort_addr last{blocks[i].base, blocks[i].off + (rows - 1) * run};
      in.push_back(m.copy(m.host(), DeviceMachine::addr(sent[i].data()), m.own(), turned ? last : blocks[i], run, rows, step, turned ? -narrow : narrow));
      out.push_back(m.copy(m.own(), turned ? last : blocks[i], m.host(), DeviceMachine::addr(got[i].data()), run, rows, turned ? -narrow : narrow, step));
      for (uint64_t y = 0; y < rows; ++y)
        std::fill_n(sent[i].begin() + static_cast<ptrdiff_t>(y) * step + narrow, y + 1 < rows ? step - narrow : 0, 0);
      std::fill(sent[i].begin() + static_cast<ptrdiff_t>((rows - 1) * static_cast<uint64_t>(step) + run), sent[i].end(), 0);
    }
    go(in);
    go(out);
    for (size_t i = 0; i < kBlocks; ++i) ASSERT_EQ(got[i], sent[i]) << "block " << i << " in round " << round;
  }
}

inline void fills_at_any_offset(DeviceMachine &m) {
  void *q = m.open_queue();
  std::vector<unsigned char> got(256), want(256);
  const consort_addr a = m.alloc(256, CONSORT_AL_ZERO);
  for (const uint32_t pattern : {0u, 0x04030201u, 0x5a5a5a5au})
    for (uint64_t off = 0; off < 6; ++off)
      for (uint64_t run : {0, 1, 2, 3, 4, 5, 9, 64, 66, 71}) {
        consort_op clear = op_of(CONSORT_OP_FILL, 0), fill = op_of(CONSORT_OP_FILL, 0);
        clear.u.fill = {a, 256, m.own(), 0x77777777};
        fill.u.fill = {{a.base, off}, run, m.own(), pattern};
        std::fill(want.begin(), want.end(), 0x77);
        for (uint64_t i = 0; i < run; ++i) want[off + i] = static_cast<unsigned char>(pattern >> i % 4 * 8);
        EXPECT_EQ(m.run(q, {clear, fill, m.from_device(a, got.data(), 256)}), (std::vector<consort_status>{0, 0, 0}));
        ASSERT_EQ(got, want) << std::hex << pattern << " at " << off << " for " << run;
      }
}

}  // namespace consort_test
