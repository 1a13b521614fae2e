// Damage on the disk is found at the next read: every flipped byte, in blocks, parts of blocks, rows and fills. Reads
// go through the page cache and around it. Undamaged data are never refused, whatever the order and shape of their
// writes.
#include <fcntl.h>

#include <consort/shared/crc32c.hpp>

#include <set>

#include "../../plugins/drivers/disk/checksums.hpp"
#include "drivers/disk_machine.hpp"

namespace consort_test {
namespace {

using consort::shared::Crc32c;

TEST(Crc32c, AgreesWithPublishedValues) {
  std::vector<unsigned char> ascending(32), ones(32, 0xff), zeros(32, 0);
  std::iota(ascending.begin(), ascending.end(), 0);
  for (const Crc32c &c : {Crc32c::best(), Crc32c::tables()}) {  // of RFC 3720, B.4, and "123456789"
    EXPECT_EQ(c.of("123456789", 9), 0xe3069283u);
    EXPECT_EQ(c.of(zeros.data(), 32), 0x8a9136aau);
    EXPECT_EQ(c.of(ones.data(), 32), 0x62a8ab43u);
    EXPECT_EQ(c.of(ascending.data(), 32), 0x46dd794eu);
    EXPECT_EQ(c.of("", 0), 0u);
  }
}

TEST(Crc32c, InstructionAndTablesAgree) {
  const Crc32c a = Crc32c::best(), b = Crc32c::tables();
  const auto data = noise(70000, 1);
  for (size_t from = 0; from < 9; ++from)
    for (size_t n = 0; n < 70; ++n) ASSERT_EQ(a.of(data.data() + from, n), b.of(data.data() + from, n)) << from << " " << n;
  for (size_t n = 0; n < 17; ++n) {
    uint32_t x[17] = {}, y[17] = {};
    a.of_blocks(reinterpret_cast<const char *>(data.data()) + 3, 4096, n, x);
    b.of_blocks(reinterpret_cast<const char *>(data.data()) + 3, 4096, n, y);
    for (size_t i = 0; i < 17; ++i) ASSERT_EQ(x[i], y[i]) << i << " of " << n;
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(x[i], a.of(data.data() + 3 + i * 4096, 4096));
  }
}

struct DiskChecksum : EachDisk {};
INSTANTIATE_TEST_SUITE_P(All, DiskChecksum, testing::ValuesIn(kKinds), name_of);

// Changes the file behind the driver's back, as a failing disk does.
struct Spoilt : Disk {
  using Disk::Disk;
  void *q = open_queue();
  int file() const {
    for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code none;
      const int fd = std::stoi(e.path().filename().string());
      if (std::filesystem::read_symlink(e, none).string().starts_with(path() + "/") && !(fcntl(fd, F_GETFL) & O_DIRECT))
        return fd;
    }
    ADD_FAILURE() << "the file is not among the descriptors";
    return -1;
  }
  void flip(consort_addr a, uint64_t at, uint8_t bits = 1) {
    uint8_t b = 0;
    EXPECT_EQ(pread(file(), &b, 1, static_cast<off_t>(a.off + at)), 1);
    b ^= bits;
    EXPECT_EQ(pwrite(file(), &b, 1, static_cast<off_t>(a.off + at)), 1);
  }
  consort_status write(const std::vector<uint8_t> &data, consort_addr to) { return run_one(q, out(data.data(), to, {data.size()})); }
  consort_status read(consort_addr from, std::vector<uint8_t> *to) { return run_one(q, in(from, to->data(), {to->size()})); }
};

TEST_P(DiskChecksum, FlippedBitFailsTheReadAndNamesThePlace) {
  Spoilt d(GetParam().driver, params({{"chunk", "64K"}}));
  const auto data = noise(300001, 1);
  const consort_addr before = d.alloc(5000), a = d.alloc(data.size());
  ASSERT_EQ(d.write(data, a), CONSORT_OK) << d.plugin.failure();
  for (const uint64_t at : {uint64_t{0}, uint64_t{4095}, uint64_t{70000}, uint64_t{299000}, uint64_t{300000}}) {
    for (const uint8_t bits : {1, 0x80, 0xff}) {
      d.flip(a, at, bits);
      std::vector<uint8_t> back(data.size());
      ASSERT_EQ(d.read(a, &back), CONSORT_E_IO) << at;
      const uint64_t block = (a.off + at) / 4096 * 4096, bytes = std::min<uint64_t>(4096, a.off + data.size() - block);
      EXPECT_NE(d.plugin.failure().find("of the file in " + d.path() + ": the " + std::to_string(bytes) + " bytes at " +
                                        std::to_string(block) + " differ from the bytes written (checksum 0x"),
                std::string::npos)
          << d.plugin.failure();
      d.flip(a, at, bits);
      ASSERT_EQ(d.read(a, &back), CONSORT_OK) << d.plugin.failure();
      ASSERT_EQ(back, data);
    }
  }
  EXPECT_NE(d.plugin.log().find("differ from the bytes written"), std::string::npos) << "in the log, too";
  EXPECT_GT(a.off, before.off);
}

TEST_P(DiskChecksum, UndamagedBlocksAreRead) {
  Spoilt d(GetParam().driver, params());
  const auto data = noise(65536, 2);
  const consort_addr a = d.alloc(65536), b = d.alloc(65536);
  ASSERT_EQ(d.write(data, a), CONSORT_OK);
  ASSERT_EQ(d.write(data, b), CONSORT_OK);
  d.flip(a, 10000);
  std::vector<uint8_t> back(65536), head(8192), tail(65536 - 12288), inside(100);
  EXPECT_EQ(d.read(a, &back), CONSORT_E_IO);
  EXPECT_EQ(d.read(b, &back), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(d.read(a, &head), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(d.read(Disk::at(a, 12288), &tail), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(d.read(Disk::at(a, 10050), &inside), CONSORT_E_IO) << "bytes of the same block are not believed";
  ASSERT_EQ(d.write(noise(4096, 3), Disk::at(a, 8192)), CONSORT_OK) << "written anew";
  EXPECT_EQ(d.read(a, &back), CONSORT_OK) << d.plugin.failure();
}

TEST_P(DiskChecksum, PartialWriteDoesNotHideDamage) {
  Spoilt d(GetParam().driver, params());
  const consort_addr a = d.alloc(4096);
  ASSERT_EQ(d.write(noise(4096, 1), a), CONSORT_OK);
  d.flip(a, 3000);
  ASSERT_EQ(d.write(noise(100, 2), Disk::at(a, 50)), CONSORT_OK) << d.plugin.failure();
  std::vector<uint8_t> all(4096), mine(100), spoilt(10);
  EXPECT_EQ(d.read(a, &all), CONSORT_E_IO);
  EXPECT_EQ(d.read(Disk::at(a, 50), &mine), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(d.read(Disk::at(a, 2995), &spoilt), CONSORT_E_IO);
}

TEST_P(DiskChecksum, CoversRowsAndPages) {
  Spoilt d(GetParam().driver, params({{"chunk", "64K"}}));
  constexpr uint64_t kLd = 700, kRun = 333, kRows = 200;
  const auto tile = noise(kLd * kRows, 5);
  const consort_addr packed = d.alloc(kRun * kRows), loose = d.alloc(kLd * kRows), pages = d.alloc(1 << 20);
  std::vector<uint8_t> back(kLd * kRows);
  ASSERT_EQ(d.run_one(d.q, d.out(tile.data(), packed, {kRun, kRows, kLd, kRun})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(d.q, d.out(tile.data(), loose, {kRun, kRows, kLd, kLd})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(d.q, d.in(packed, back.data(), {kRun, kRows, kRun, kLd})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(d.q, d.in(loose, back.data(), {kRun, kRows, kLd, kLd})), CONSORT_OK) << d.plugin.failure();
  d.flip(packed, 150 * kRun + 7), d.flip(loose, 150 * kLd + 7), d.flip(loose, 3 * kLd + kRun);
  EXPECT_EQ(d.run_one(d.q, d.in(packed, back.data(), {kRun, kRows, kRun, kLd})), CONSORT_E_IO);
  EXPECT_EQ(d.run_one(d.q, d.in(loose, back.data(), {kRun, kRows, kLd, kLd})), CONSORT_E_IO);
  EXPECT_EQ(d.run_one(d.q, d.in(loose, back.data(), {kRun, 100, kLd, kLd})), CONSORT_OK)
      << "bytes between the rows belong to nothing: " << d.plugin.failure();
  const Pages from(1 << 20), to(1 << 20);
  std::memcpy(from.p, noise(1 << 20, 6).data(), 1 << 20);
  ASSERT_EQ(d.run_one(d.q, d.out(from.p, pages, {1 << 20})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(d.q, d.in(pages, to.p, {1 << 20})), CONSORT_OK) << d.plugin.failure();
  d.flip(pages, 777777);
  EXPECT_EQ(d.run_one(d.q, d.in(pages, to.p, {1 << 20})), CONSORT_E_IO);
}

TEST_P(DiskChecksum, CoversFillsZerosAndReusedBlocks) {
  Spoilt d(GetParam().driver, params());
  const consort_addr a = d.alloc(9999), zeros = d.alloc(20000, CONSORT_AL_ZERO);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {a, 9999, d.own(), 0x11223344};
  ASSERT_EQ(d.run_one(d.q, fill), CONSORT_OK) << d.plugin.failure();
  std::vector<uint8_t> back(9999), z(20000);
  EXPECT_EQ(d.read(a, &back), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(d.read(zeros, &z), CONSORT_OK) << d.plugin.failure();
  d.flip(a, 9998), d.flip(zeros, 19999);
  EXPECT_EQ(d.read(a, &back), CONSORT_E_IO);
  EXPECT_EQ(d.read(zeros, &z), CONSORT_E_IO);
  d.give_back(0);
  EXPECT_EQ(d.alloc(9999).off, a.off);
  EXPECT_EQ(d.read(a, &back), CONSORT_OK) << "nothing was written there since: " << d.plugin.failure();
}

TEST_P(DiskChecksum, SettingDisablesIt) {
  Spoilt d(GetParam().driver, params({{"checksum", "false"}}));
  const auto data = noise(10000, 1);
  const consort_addr a = d.alloc(10000);
  ASSERT_EQ(d.write(data, a), CONSORT_OK);
  d.flip(a, 5000);
  std::vector<uint8_t> back(10000);
  EXPECT_EQ(d.read(a, &back), CONSORT_OK) << d.plugin.failure();
  EXPECT_NE(back, data);
}

// Random rows over one another, one op at a time or several of disjoint bytes, and flipped bytes. A read answers OK
// only with the bytes of the model. It never refuses where no block that it touches has a flipped byte.
TEST_P(DiskChecksum, RandomOverlapsAgreeWithAModel) {
  Spoilt d(GetParam().driver, params({{"chunk", "64K"}, {"threads", "3"}}));
  constexpr uint64_t kBytes = 20000;
  std::mt19937_64 random(3);
  int refused = 0, good = 0;
  for (int round = 0; round < 12; ++round) {
    const consort_addr a = d.alloc(kBytes);
    std::vector<uint8_t> model = noise(kBytes, random());
    ASSERT_EQ(d.write(model, a), CONSORT_OK) << d.plugin.failure();
    uint64_t flipped = kBytes;
    std::set<uint64_t> spoilt;  // blocks that had one: parts of them may stay refused when it is overwritten
    for (int step = 0; step < 60; ++step) {
      const uint64_t run = 1 + random() % 3000, from = random() % (kBytes - run), gap = random() % 600;
      const uint64_t rows = std::min<uint64_t>(1 + random() % 6, (kBytes - from) / (run + gap) + 1);
      const uint64_t used = from + (rows - 1) * (run + gap) + run > kBytes ? 1 : rows;
      const Box box{run, used, static_cast<int64_t>(run), static_cast<int64_t>(run + gap)};
      if (random() % 2) {
        const auto data = noise(run * used, random());
        ASSERT_EQ(d.run_one(d.q, d.out(data.data(), Disk::at(a, from), box)), CONSORT_OK) << d.plugin.failure();
        for (uint64_t r = 0; r < used; ++r) {
          const uint64_t start = from + r * (run + gap);
          std::memcpy(&model[start], &data[r * run], run);
          if (flipped >= start && flipped < start + run) flipped = kBytes;
        }
        continue;
      }
      if (flipped == kBytes && random() % 8 == 0) spoilt.insert((flipped = random() % kBytes) / 4096), d.flip(a, flipped);
      std::vector<uint8_t> back(run);
      const bool hit = flipped >= from && flipped < from + run;
      const auto first = spoilt.lower_bound(from / 4096);
      const bool near = first != spoilt.end() && *first <= (from + run - 1) / 4096;
      const consort_status s = d.read(Disk::at(a, from), &back);
      if (s == CONSORT_OK) {
        ASSERT_EQ(std::memcmp(back.data(), &model[from], run), 0);
        ASSERT_FALSE(hit) << "round " << round << " step " << step;
        ++good;
      } else {
        ASSERT_EQ(s, CONSORT_E_IO);
        ASSERT_TRUE(near) << d.plugin.failure();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(good, 100);
}

TEST_P(DiskChecksum, ConcurrentWritesOfOneBlockAreAccepted) {
  Spoilt d(GetParam().driver, params({{"depth", "64"}, {"threads", "4"}}));
  constexpr uint64_t kBytes = 40000;
  const consort_addr a = d.alloc(kBytes);
  ASSERT_EQ(d.write(noise(kBytes, 9), a), CONSORT_OK);
  for (uint64_t round = 0; round < 20; ++round) {
    const auto data = noise(kBytes, round);
    std::vector<std::vector<uint8_t>> reads;
    std::vector<consort_op> list;
    std::mt19937 random(round);
    for (uint64_t at = 0; at < kBytes;) {
      const uint64_t n = std::min<uint64_t>(1 + random() % 900, kBytes - at);
      if (random() % 2) {
        list.push_back(d.out(data.data() + at, Disk::at(a, at), {n}));
      } else {
        reads.emplace_back(n);
        list.push_back(d.in(Disk::at(a, at), reads.back().data(), {n}));
      }
      at += n;
    }
    std::shuffle(list.begin(), list.end(), random);
    for (const auto &done : d.run(d.q, list)) ASSERT_EQ(done.status, CONSORT_OK) << d.plugin.failure();
  }
}

}  // namespace
TEST(DiskRecords, OfAWriteThatCannotBeginAreForgotten) {
  using disk::kBlock;
  disk::Checksums sums;
  sums.enable();
  sums.reset(0, 3 * kBlock, false);
  const disk::File none;  // the rest of the third block cannot be read there
  const std::string old(3 * kBlock, 'a'), next(2 * kBlock + 100, 'b');
  ASSERT_EQ(sums.record(none, 0, old.data(), old.size()), 0);
  EXPECT_NE(sums.record(none, 0, next.data(), next.size()), 0);
  EXPECT_TRUE(sums.check(none, 0, old.data(), old.size()).good()) << "the old bytes are there still";
  const std::string damaged(kBlock, 'c');
  EXPECT_FALSE(sums.check(none, 2 * kBlock, damaged.data(), damaged.size()).good()) << "what the write did not reach keeps its sum";
}

}  // namespace consort_test
