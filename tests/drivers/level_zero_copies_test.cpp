// Copies and fills of the Level Zero driver on the double of its library: boxes of every kind, on queues with and
// without order. Devices may reach one another, and engines may know few patterns.
#if !defined(CONSORT_ZE_DOUBLE)
#include <gtest/gtest.h>
TEST(LevelZeroCopies, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no level_zero/ze_api.h"; }
#else
#include <atomic>
#include <thread>
#include <tuple>

#include "drivers/device_copies.hpp"
#include "drivers/level_zero_machine.hpp"

namespace consort_test {
namespace {

using LevelZeroCopies = LevelZero;
using Statuses = std::vector<consort_status>;

TEST_F(LevelZeroCopies, CopiesBoxesOfEveryKind) {
  Machine m;
  copies_boxes_of_every_kind(m);
}

TEST_F(LevelZeroCopies, CopyQueuesAreUnordered) {
  for (const char *engines : {"0", "1", "2"}) {
    Machine m(Params{{"copy_engines", engines}});
    copies_without_order(m);
  }
}

TEST_F(LevelZeroCopies, FillsAtAnyOffset) {
  Machine m;
  fills_at_any_offset(m);
}

// The driver's copies agree with the host's memcpy: boxes of random sizes and steps, several at once on a queue in
// order.
TEST_F(LevelZeroCopies, RandomBoxesAgreeWithMemcpy) {
  Machine m;
  void *q = m.open_queue();
  constexpr int64_t kBytes = 4096;
  std::mt19937 chance(11);
  std::vector<unsigned char> in(kBytes), model(kBytes), seen(kBytes);
  const consort_addr a = m.alloc(kBytes), b = m.alloc(kBytes);
  for (int round = 0; round < 300; ++round) {
    for (unsigned char &c : in) c = static_cast<unsigned char>(chance());
    std::fill(model.begin(), model.end(), 0xee);
    std::vector<consort_op> ops = {m.to_device(in.data(), a, kBytes), m.to_device(model.data(), b, kBytes)};
    const std::vector<unsigned char> blank = model;
    ops[1] = m.to_device(blank.data(), b, kBytes);
    for (int k = 0; k < 3; ++k) {
      const auto upto = [&](int64_t n) { return static_cast<int64_t>(chance() % static_cast<uint64_t>(n)); };
      const int64_t run = 1 + upto(40), rows = 1 + upto(8), slices = 1 + upto(4);
      int64_t src[2], dst[2] = {run + upto(9), 0};
      dst[1] = dst[0] * rows + (chance() % 2 ? dst[0] : upto(20));  // written rows do not overlap
      src[0] = upto(3) ? run + upto(9) : upto(60) - 30;
      src[1] = upto(2) ? std::abs(src[0]) * rows : upto(200) - 100;
      const auto low = [&](const int64_t *s) { return std::min<int64_t>(0, s[0] * (rows - 1)) + std::min<int64_t>(0, s[1] * (slices - 1)); };
      const auto high = [&](const int64_t *s) { return std::max<int64_t>(0, s[0] * (rows - 1)) + std::max<int64_t>(0, s[1] * (slices - 1)) + run; };
      if (high(src) - low(src) > kBytes || high(dst) > kBytes) continue;
      const int64_t from = -low(src) + upto(kBytes - (high(src) - low(src)) + 1), to = upto(kBytes - high(dst) + 1);
      const bool host = chance() % 2;
      const consort_addr s = host ? Machine::addr(in.data() + from) : consort_addr{a.base, static_cast<uint64_t>(from)};
      ops.push_back(m.copy(host ? m.host() : m.own(), s, m.own(), {b.base, static_cast<uint64_t>(to)}, static_cast<uint64_t>(run),
                           static_cast<uint64_t>(rows), src[0], dst[0], static_cast<uint64_t>(slices), src[1], dst[1]));
      for (int64_t z = 0; z < slices; ++z)
        for (int64_t y = 0; y < rows; ++y) std::memcpy(&model[to + z * dst[1] + y * dst[0]], &in[from + z * src[1] + y * src[0]], run);
    }
    ops.push_back(m.from_device(b, seen.data(), kBytes));
    ASSERT_EQ(m.run(q, ops), Statuses(ops.size(), 0)) << m.plugin.failure();
    ASSERT_EQ(seen, model) << "round " << round;
  }
}

// The engine for copies may know no pattern of four bytes: the copied part is copied on.
TEST_F(LevelZeroCopies, FillsWithFewEnginePatterns) {
  Double::get().configure("pattern=1");
  Machine m;
  void *q = m.open_queue(2, CONSORT_NONE);
  const consort_addr a = m.alloc(4096);
  for (const uint64_t run : {1u, 3u, 4u, 5u, 8u, 100u, 1023u, 4090u})
    for (const uint32_t pattern : {0x04030201u, 0x07070707u}) {
      std::vector<unsigned char> seen(run);
      EXPECT_EQ(m.run(q, {m.fill({a.base, 3}, run, pattern)}), (Statuses{0})) << m.plugin.failure();
      EXPECT_EQ(m.run(q, {m.from_device({a.base, 3}, seen.data(), run)}), (Statuses{0}));
      for (uint64_t i = 0; i < run; ++i) ASSERT_EQ(seen[i], static_cast<unsigned char>(pattern >> i % 4 * 8)) << run << " " << i;
    }
}

TEST_F(LevelZeroCopies, CopiesOvertakeWaitingCopies) {
  Machine m;
  void *unit = m.open_queue(11), *copies = m.open_queue(12, CONSORT_NONE);
  std::atomic<bool> go{false};
  Call gate([&](const consort_call *) {
    while (!go) std::this_thread::yield();
    return CONSORT_OK;
  });
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO), b = m.alloc(64, CONSORT_AL_ZERO);
  int from_a[16], from_b[16];
  std::vector<consort_op> first = {gate.op(false)}, ops = {m.from_device(a, from_a, 64), m.from_device(b, from_b, 64)};
  ASSERT_EQ(m.ops->submit(unit, first.data(), 1), 1u);
  // The queue's second thread has the copy that waits for the gate, and later copies there wait, too. So the copy without a
  // wait goes first.
  const consort_ticket t{11, 1};
  ops[0].cookie = 0, ops[1].cookie = 1;
  ops[0].wait = &t, ops[0].nwait = 1;
  ASSERT_EQ(m.ops->submit(copies, &ops[1], 1), 1u);
  ASSERT_EQ(m.ops->submit(copies, &ops[0], 1), 1u);
  EXPECT_EQ(m.collect(copies, 1)[0].cookie, 1u);
  consort_done done[2];
  EXPECT_EQ(m.ops->poll(copies, done, 2), 0u);
  go = true;
  EXPECT_EQ(m.collect(copies, 1)[0].cookie, 0u);
  m.collect(unit, 1);
}

// -- two devices ------------------------------------------------------------------------------------------------------

struct Two : Machine {
  Two() {
    EXPECT_EQ(ops->open(plugin.self(), 1, 5, &other), CONSORT_OK) << plugin.failure();
    theirs.size = sizeof theirs, theirs.id = 9;
    EXPECT_EQ(ops->space(other, 0, &theirs), CONSORT_OK);
    for (auto [l, from, to] : {std::tuple{&there, &spaces[0], &theirs}, {&back, &theirs, &spaces[0]}}) {
      l->size = sizeof *l;
      const consort_status s = ops->link(dev, from, to, l), t = ops->link(other, from, to, l);
      if (s < 0 || t < 0) l->size = 0;
    }
  }
  ~Two() {
    for (void *q : queues) ops->queue_close(q);
    queues.clear();
    ops->close(other);
  }
  void *other = nullptr;
  consort_space_desc theirs{};
  consort_link_desc there{}, back{};
};

TEST_F(LevelZeroCopies, PeersCopyDirectly) {
  Two m;
  EXPECT_TRUE(m.there.size && (m.there.flags & CONSORT_LK_3D));
  EXPECT_TRUE(m.back.size);
  consort_addr far{};
  ASSERT_EQ(m.ops->alloc(m.other, 9, 4096, 64, 0, &far), CONSORT_OK) << m.plugin.failure();
  const consort_addr near = m.alloc(4096);
  void *q = m.open_queue();
  std::vector<unsigned char> in(4096), out(4096);
  std::iota(in.begin(), in.end(), 3);
  EXPECT_EQ(m.run(q, {m.to_device(in.data(), near, 4096), m.copy(m.own(), near, 9, far, 64, 8, 64, 128), m.fill(near, 4096, 0),
                      m.copy(9, far, m.own(), near, 64, 8, 128, 64), m.from_device(near, out.data(), 512)}),
            Statuses(5, 0)) << m.plugin.failure();
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 512, in.begin()));
  m.ops->free(m.other, 9, far, 4096);
}

TEST_F(LevelZeroCopies, DevicesWithoutPeerAccessHaveNoLink) {
  Double::get().configure("nopeers");
  Two m;
  EXPECT_EQ(m.there.size, 0u);
  EXPECT_EQ(m.back.size, 0u);
  const consort_addr near = m.alloc(64);
  void *q = m.open_queue();
  EXPECT_EQ(m.run(q, {m.copy(m.own(), near, 9, near, 64)}), (Statuses{CONSORT_E_UNSUPPORTED}));
  EXPECT_NE(m.plugin.failure().find("a copy between spaces 3 and 9"), std::string::npos) << m.plugin.failure();
}

}  // namespace
}  // namespace consort_test
#endif
