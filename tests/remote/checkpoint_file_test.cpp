// The bytes of checkpoints: what is written is read back, and nothing that was cut or changed is taken.
#include <random>

#include <gtest/gtest.h>

#include "remote/checkpoint_file.hpp"

namespace consort {
namespace {

CheckpointManifest sample() {
  CheckpointManifest m;
  m.job = 77, m.serial = 12, m.number = 400, m.name = "step";
  m.parts = {{1000, 1}, {2000, 2}};
  m.data = {{5, 40, 100, 0, 11, "vector"}, {6, 140, 0, 1, 12, ""}, {uint64_t{1} << 63, 1000, 976, 1, 13, "matrix"}};
  return m;
}

// With a checksum that fits.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  const uint32_t sum = checksum(bytes);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(sum >> (8 * i));
  return bytes;
}

TEST(CheckpointFile, ManifestIsReadBack) {
  CheckpointManifest m;
  std::string why;
  ASSERT_TRUE(decode(encode(sample()), &m, &why)) << why;
  EXPECT_EQ(m, sample());
  EXPECT_EQ(m.bytes(), 1076u);
  EXPECT_EQ(m.find(6)->rank, 1u);
  EXPECT_EQ(m.find(7), nullptr);
}

TEST(CheckpointFile, PartIsReadBack) {
  const PartHead head{77, 12, 3};
  PartHead h;
  std::string why;
  ASSERT_TRUE(decode(encode(head), &h, &why)) << why;
  EXPECT_EQ(h, head);
  const std::vector<SavedDatum> data{{5, 40, 100, 3, 11, "vector"}, {2, 140, 60, 3, 12, "csr"}};
  const std::string index = encode_index(data), trail = encode_trail(200, index);
  uint64_t at, bytes;
  uint32_t sum;
  ASSERT_TRUE(decode_trail(trail, 200 + index.size() + trail.size(), &at, &bytes, &sum, &why)) << why;
  EXPECT_EQ(at, 200u);
  EXPECT_EQ(bytes, index.size());
  std::vector<SavedDatum> found;
  ASSERT_TRUE(decode_index(index, sum, at, 3, &found, &why)) << why;
  EXPECT_EQ(found, data);
}

TEST(CheckpointFile, EveryCutAndEveryChangedByteIsRefused) {
  const std::string manifest = encode(sample()), head = encode(PartHead{1, 2, 3}), index = encode_index(sample().data),
                    trail = encode_trail(2000, index);
  CheckpointManifest m;
  PartHead h;
  std::vector<SavedDatum> data;
  uint64_t at, bytes;
  uint32_t sum;
  const auto refused = [&](const std::string &what, std::string changed) {
    std::string why;
    const bool is_taken = what == "manifest" ? decode(changed, &m, &why)
                          : what == "head"   ? decode(changed, &h, &why)
                          : what == "index"  ? decode_index(changed, checksum(index), 2000, 1, &data, &why)
                                             : decode_trail(changed, 2000 + index.size() + kPartTrail, &at, &bytes, &sum, &why);
    EXPECT_FALSE(is_taken) << what;
    EXPECT_FALSE(why.empty()) << what;
  };
  for (const auto &[what, whole] : std::vector<std::pair<std::string, std::string>>{{"manifest", manifest}, {"head", head}, {"index", index}, {"trail", trail}})
    for (size_t i = 0; i < whole.size(); ++i) {
      refused(what, whole.substr(0, i));
      refused(what, whole + whole.substr(i));
      for (const int bit : {0, 3, 7}) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        refused(what, changed);
      }
    }
}

// The checksum fits: a file that was made to harm. What is taken has one form.
TEST(CheckpointFile, MadeUpManifestsAreRefusedOrSound) {
  std::mt19937 random(7);
  const std::string whole = encode(sample());
  int taken = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string changed = whole;
    for (uint32_t n = 1 + random() % 4; n; --n) changed[random() % changed.size()] = static_cast<char>(random() % 3 ? random() : ~0u);
    if (random() % 4 == 0) changed.resize(4 + random() % (changed.size() - 4));
    changed = resealed(changed);
    CheckpointManifest m;
    std::string why;
    if (!decode(changed, &m, &why)) continue;
    ++taken;
    ASSERT_EQ(encode(m), changed);
    for (const SavedDatum &d : m.data) ASSERT_LE(d.offset + d.bytes, m.parts.at(d.rank).bytes);
  }
  EXPECT_GT(taken, 1000);
}

TEST(CheckpointFile, OtherVersionsAndByteOrdersAreNamed) {
  std::string bytes = encode(sample()), why;
  CheckpointManifest m;
  bytes[8] = 2;
  EXPECT_FALSE(decode(resealed(bytes), &m, &why));
  EXPECT_EQ(why, "it is of version 2, this library reads 1");
  bytes[8] = 1, bytes[9] = static_cast<char>(bytes[9] ^ 3);
  EXPECT_FALSE(decode(resealed(bytes), &m, &why));
  EXPECT_EQ(why, "it was written on a machine with another byte order");
}

TEST(CheckpointFile, DataOutOfTheirOrderAreRefused) {
  CheckpointManifest m = sample(), out;
  std::string why;
  std::swap(m.data[0], m.data[1]);
  EXPECT_FALSE(decode(encode(m), &out, &why));
  EXPECT_EQ(why, "its data are not in the order of their tags");
  m = sample(), m.data[1].tag = 5;
  EXPECT_FALSE(decode(encode(m), &out, &why)) << "each tag once";
}

TEST(CheckpointFile, PartsHaveNamesOfTheirOwn) {
  uint64_t serial;
  uint32_t rank;
  ASSERT_TRUE(read_part_name(part_name(12, 3), &serial, &rank));
  EXPECT_EQ(serial, 12u);
  EXPECT_EQ(rank, 3u);
  for (const char *name : {"manifest", "lock", "12.part", ".part3", "12.part3x", "x12.part3", "12.part3.unfinished-abcdef", "-1.part2", "12part3", ""})
    EXPECT_FALSE(read_part_name(name, &serial, &rank)) << name;
}

}  // namespace
}  // namespace consort
