// Control messages between ranks: their bytes, and what decode() refuses.
#include "remote/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace {

using namespace consort;

std::vector<std::byte> bytes_of(const Control &c) {
  std::vector<std::byte> out(kControlHead + c.payload);
  encode(c, std::span<std::byte, kControlHead>(out.data(), kControlHead));
  return out;
}

TEST(Wire, EachFieldComesBack) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    Control c, back;
    c.kind = static_cast<Control::Kind>(1 + random() % 7);
    c.flags = static_cast<uint16_t>(random() & Control::kContiguous);
    c.status = -static_cast<int32_t>(random() % 16);
    c.tag = random(), c.number = random(), c.bytes = random(), c.id = random(), c.answer = random();
    c.payload = random() % (kMostPayload + 1), c.freed = static_cast<uint32_t>(random());
    const auto wire = bytes_of(c);
    ASSERT_TRUE(decode(wire, &back));
    EXPECT_EQ(back.kind, c.kind);
    EXPECT_EQ(back.flags, c.flags);
    EXPECT_EQ(back.status, c.status);
    EXPECT_EQ(back.tag, c.tag);
    EXPECT_EQ(back.number, c.number);
    EXPECT_EQ(back.bytes, c.bytes);
    EXPECT_EQ(back.id, c.id);
    EXPECT_EQ(back.answer, c.answer);
    EXPECT_EQ(back.payload, c.payload);
    EXPECT_EQ(back.freed, c.freed);
  }
}

TEST(Wire, BytesAreInLittleEndianOnEveryMachine) {
  Control c;
  c.kind = Control::kGo, c.flags = 0x0102, c.tag = 0x0102030405060708;
  const auto wire = bytes_of(c);
  EXPECT_EQ(wire[0], std::byte{1});
  EXPECT_EQ(wire[1], std::byte{2});
  EXPECT_EQ(wire[2], std::byte{2});
  EXPECT_EQ(wire[3], std::byte{1});
  EXPECT_EQ(wire[8], std::byte{8});
  EXPECT_EQ(wire[15], std::byte{1});
}

TEST(Wire, DamagedMessagesAreRefused) {
  Control c, back;
  c.kind = Control::kOffer, c.flags = Control::kPayload, c.payload = 8, c.bytes = 8;
  const auto good = bytes_of(c);
  ASSERT_TRUE(decode(good, &back));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode(std::span(good).first(n), &back)) << n;
  auto longer = good;
  longer.push_back({});
  EXPECT_FALSE(decode(longer, &back));
  const auto with = [&](size_t at, uint8_t value) {
    auto bad = good;
    bad[at] = std::byte{value};
    return decode(bad, &back);
  };
  EXPECT_FALSE(with(0, 2)) << "another version";
  EXPECT_FALSE(with(1, 0)) << "no kind";
  EXPECT_FALSE(with(1, 8)) << "an unknown kind";
  EXPECT_FALSE(with(4, 1)) << "a status above 0";
  EXPECT_FALSE(with(24, 9)) << "the payload has another length than the contents";
  EXPECT_FALSE(with(48, 9)) << "a payload that is not there";
  EXPECT_FALSE(with(2, Control::kFailed)) << "a failure without a status";
}

}  // namespace
