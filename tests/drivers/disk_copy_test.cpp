// Copies between memory and a file under both drivers, through the page cache and around it. Every byte is in its
// place, for any shape, alignment and order (OOC-01, OOC-02 at the driver's level).
#include "drivers/disk_machine.hpp"

namespace consort_test {
namespace {

using DiskCopy = EachDisk;
INSTANTIATE_TEST_SUITE_P(All, DiskCopy, testing::ValuesIn(kKinds), name_of);

TEST_P(DiskCopy, RoundTrips) {
  Disk d(GetParam().driver, params());
  void *q = d.open_queue();
  for (const size_t bytes : {1, 7, 4095, 4096, 4097, 70000, 3 << 20}) {
    const auto data = noise(bytes, bytes);
    std::vector<uint8_t> back(bytes);
    const consort_addr a = d.alloc(bytes);
    const auto done = d.run(q, {d.out(data.data(), a, {bytes})});
    ASSERT_EQ(done[0].status, CONSORT_OK) << d.plugin.failure();
    EXPECT_EQ(done[0].bytes, bytes);
    EXPECT_EQ(done[0].source, CONSORT_NONE);
    ASSERT_EQ(d.run_one(q, d.in(a, back.data(), {bytes})), CONSORT_OK) << d.plugin.failure();
    EXPECT_EQ(back, data) << bytes;
  }
}

TEST_P(DiskCopy, CopiesPagesWithoutABuffer) {  // page-aligned memory needs no buffer; several transfers at once
  Disk d(GetParam().driver, params());
  void *q = d.open_queue();
  const size_t bytes = (5 << 20) + 1234;
  const Pages from(bytes), to(bytes);
  const auto data = noise(bytes, 3);
  std::memcpy(from.p, data.data(), bytes);
  const consort_addr a = d.alloc(bytes);
  ASSERT_EQ(d.run_one(q, d.out(from.p, a, {bytes})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(q, d.in(a, to.p, {bytes})), CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(std::memcmp(from.p, to.p, bytes), 0);
}

TEST_P(DiskCopy, CopiesTilesBothWays) {
  Disk d(GetParam().driver, params({{"chunk", "64K"}}));
  void *q = d.open_queue();
  constexpr uint64_t kLd = 700, kRows = 300, kTile = 333, kHigh = 200;
  const auto big = noise(kLd * kRows, 9);
  const consort_addr packed = d.alloc(kTile * kHigh), loose = d.alloc(kLd * kRows);
  const uint8_t *tile = big.data() + 11 * kLd + 13;
  // Rows of memory packed in the file, and rows of a file that has the memory's own shape.
  ASSERT_EQ(d.run_one(q, d.out(tile, packed, {kTile, kHigh, kLd, kTile})), CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.run_one(q, d.out(tile, Disk::at(loose, 11 * kLd + 13), {kTile, kHigh, kLd, kLd})), CONSORT_OK);
  std::vector<uint8_t> a(kTile * kHigh), b(kLd * kRows, 0xee), c(kTile * kHigh);
  ASSERT_EQ(d.run_one(q, d.in(packed, a.data(), {kTile * kHigh})), CONSORT_OK);
  ASSERT_EQ(d.run_one(q, d.in(packed, b.data() + 11 * kLd + 13, {kTile, kHigh, kTile, kLd})), CONSORT_OK);
  ASSERT_EQ(d.run_one(q, d.in(Disk::at(loose, 11 * kLd + 13), c.data(), {kTile, kHigh, kLd, kTile})), CONSORT_OK);
  for (uint64_t y = 0; y < kHigh; ++y) {
    ASSERT_EQ(std::memcmp(&a[y * kTile], tile + y * kLd, kTile), 0) << y;
    ASSERT_EQ(std::memcmp(&b[(y + 11) * kLd + 13], tile + y * kLd, kTile), 0) << y;
    ASSERT_EQ(std::memcmp(&c[y * kTile], tile + y * kLd, kTile), 0) << y;
    ASSERT_EQ(b[(y + 11) * kLd + 12], 0xee) << "nothing beside it was touched";
    ASSERT_EQ(b[(y + 11) * kLd + 13 + kTile], 0xee);
  }
}

TEST_P(DiskCopy, ConcurrentWritesOfOneBlock) {  // each op touches blocks that others write at the same time
  Disk d(GetParam().driver, params({{"depth", "64"}}));
  void *q = d.open_queue();
  constexpr uint64_t kBytes = 200000;
  const consort_addr a = d.alloc(kBytes);
  for (uint64_t round = 0; round < 6; ++round) {
    const auto data = noise(kBytes, round);
    std::vector<consort_op> list;
    std::mt19937 random(round);
    for (uint64_t at = 0; at < kBytes;) {
      const uint64_t n = std::min<uint64_t>(1 + random() % (round % 2 ? 900 : 9000), kBytes - at);
      list.push_back(d.out(data.data() + at, Disk::at(a, at), {n}));
      at += n;
    }
    std::shuffle(list.begin(), list.end(), random);
    for (const auto &done : d.run(q, list)) ASSERT_EQ(done.status, CONSORT_OK) << d.plugin.failure();
    std::vector<uint8_t> back(kBytes);
    ASSERT_EQ(d.run_one(q, d.in(a, back.data(), {kBytes})), CONSORT_OK);
    ASSERT_EQ(back, data) << "round " << round;
  }
}

TEST_P(DiskCopy, RandomUseAgreesWithAModel) {
  Disk d(GetParam().driver, params({{"capacity", "2M"}, {"chunk", "64K"}, {"threads", "3"}}));
  void *q = d.open_queue();
  struct Block {
    consort_addr addr;
    std::vector<uint8_t> bytes;
  };
  std::vector<Block> blocks;
  std::mt19937_64 random(11);
  for (int step = 0; step < 120; ++step) {
    consort_addr a{};
    const uint64_t n = 1 + random() % 90000;
    if (random() % 3 == 0 && d.try_alloc(n, &a) == CONSORT_OK) {
      blocks.push_back({a, noise(n, step)});
      ASSERT_EQ(d.run_one(q, d.out(blocks.back().bytes.data(), a, {n})), CONSORT_OK) << d.plugin.failure();
    } else if (random() % 4 == 0 && !blocks.empty()) {
      const size_t k = random() % blocks.size();
      d.give_back(k);
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(k));
    }
    // Writes to some and reads of others, all at once.
    std::vector<consort_op> list;
    std::vector<std::pair<size_t, std::vector<uint8_t>>> reads;
    reads.reserve(8);
    std::vector<std::vector<uint8_t>> sources;
    sources.reserve(8);
    for (size_t k = 0; k < blocks.size() && k < 8; ++k) {
      Block &b = blocks[(k + step) % blocks.size()];
      const uint64_t from = random() % b.bytes.size(), bytes = 1 + random() % (b.bytes.size() - from);
      if (random() % 2) {
        sources.push_back(noise(bytes, random()));
        std::copy(sources.back().begin(), sources.back().end(), b.bytes.begin() + static_cast<ptrdiff_t>(from));
        list.push_back(d.out(sources.back().data(), Disk::at(b.addr, from), {bytes}));
      } else {
        reads.push_back({(k + step) % blocks.size(), std::vector<uint8_t>(b.bytes.size())});
        list.push_back(d.in(b.addr, reads.back().second.data(), {b.bytes.size()}));
      }
    }
    for (const auto &done : d.run(q, list)) ASSERT_EQ(done.status, CONSORT_OK) << d.plugin.failure();
    for (const auto &[k, got] : reads) ASSERT_EQ(got, blocks[k].bytes) << "step " << step;
  }
}

TEST_P(DiskCopy, FillsMarksAndEmptyCopies) {
  Disk d(GetParam().driver, params());
  void *q = d.open_queue();
  const consort_addr a = d.alloc(10000);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {a, 9999, d.own(), 0x11223344};
  const auto done = d.run(q, {fill});
  ASSERT_EQ(done[0].status, CONSORT_OK) << d.plugin.failure();
  EXPECT_EQ(done[0].bytes, 9999u);
  std::vector<uint32_t> back(2500);
  ASSERT_EQ(d.run_one(q, d.in(a, back.data(), {9996})), CONSORT_OK);
  for (size_t i = 0; i < 2499; ++i) ASSERT_EQ(back[i], 0x11223344u);
  EXPECT_EQ(d.run_one(q, op_of(CONSORT_OP_MARK, 0)), CONSORT_OK);
  EXPECT_EQ(d.run_one(q, d.out(back.data(), a, {0})), CONSORT_OK) << "nothing is copied";
  const consort_addr zeros = d.alloc(50000, CONSORT_AL_ZERO);
  std::vector<uint8_t> z(50000, 1);
  ASSERT_EQ(d.run_one(q, d.in(zeros, z.data(), {50000})), CONSORT_OK);
  EXPECT_EQ(std::accumulate(z.begin(), z.end(), 0), 0);
  d.give_back(0);
  const consort_addr again = d.alloc(10000, CONSORT_AL_ZERO);
  ASSERT_EQ(d.run_one(q, d.in(again, z.data(), {10000})), CONSORT_OK);
  EXPECT_EQ(std::accumulate(z.begin(), z.end(), 0), 0) << "memory that others had before, too";
}

TEST_P(DiskCopy, RefusesCopiesBeyondABlock) {
  Disk d(GetParam().driver, params());
  void *q = d.open_queue();
  const consort_addr a = d.alloc(4096), b = d.alloc(4096);
  std::vector<uint8_t> m(8192);
  EXPECT_EQ(d.run_one(q, d.out(m.data(), a, {4097})), CONSORT_E_INVAL) << "into the next block";
  EXPECT_NE(d.plugin.failure().find("exceeds the allocated range"), std::string::npos) << d.plugin.failure();
  EXPECT_EQ(d.run_one(q, d.in(Disk::at(b, 4096), m.data(), {1})), CONSORT_E_INVAL);
  EXPECT_EQ(d.run_one(q, d.out(m.data(), a, {16, 2, 16, 8192})), CONSORT_E_INVAL);
  EXPECT_EQ(d.run_one(q, d.out(m.data(), {a.base + 1, a.off}, {16})), CONSORT_E_INVAL) << "no such file";
  EXPECT_EQ(d.run_one(q, Disk::copy(d.own(), a, d.own(), b, {16}, 0)), CONSORT_E_INVAL);
  EXPECT_EQ(d.run_one(q, op_of(CONSORT_OP_LAUNCH, 0)), CONSORT_E_UNSUPPORTED);
  d.give_back(0);
  EXPECT_EQ(d.run_one(q, d.out(m.data(), a, {16})), CONSORT_E_INVAL) << "given back";
}

TEST_P(DiskCopy, FdWakesSleepers) {
  Disk d(GetParam().driver, params({{"depth", "4"}}));
  void *q = d.open_queue();
  const consort_addr a = d.alloc(1 << 20);
  const auto data = noise(1 << 20, 1);
  const int fd = d.ops->event_fd(q);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(d.ops->arm(q), CONSORT_OK) << "nothing is in flight: nothing to be woken by";
  for (int round = 0; round < 200; ++round) {
    consort_op list[6];
    for (uint64_t i = 0; i < 6; ++i) list[i] = d.out(data.data(), Disk::at(a, i << 16), {round % 2 ? 65536u : 100u}, i);
    const uint32_t sent = d.ops->submit(q, list, 6);
    ASSERT_EQ(sent, 4u) << "as many as it has room for";
    uint32_t over = 0;
    while (over < sent) {
      consort_done some[4];
      const uint32_t n = d.ops->poll(q, some, 4);
      over += n;
      if (n || d.ops->arm(q) == CONSORT_E_BUSY) continue;
      pollfd p{fd, POLLIN, 0};
      ASSERT_EQ(poll(&p, 1, 20000), 1) << "no wake-up, round " << round;
    }
  }
}

TEST_P(DiskCopy, TwoQueuesFromTwoThreads) {
  Disk d(GetParam().driver, params());
  void *q[2] = {d.open_queue(1), d.open_queue(2)};
  const consort_addr a[2] = {d.alloc(1 << 20), d.alloc(1 << 20)};
  std::vector<std::thread> threads;
  for (int t : {0, 1})
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 10; ++round) {
        const auto data = noise(1 << 18, round * 2 + static_cast<uint64_t>(t));
        std::vector<uint8_t> back(1 << 18);
        std::vector<consort_op> list;
        for (uint64_t i = 0; i < 8; ++i)
          list.push_back(d.out(data.data() + (i << 15), Disk::at(a[t], i << 15), {1 << 15}));
        for (const auto &done : d.run(q[t], list)) EXPECT_EQ(done.status, CONSORT_OK);
        EXPECT_EQ(d.run_one(q[t], d.in(a[t], back.data(), {1 << 18})), CONSORT_OK);
        EXPECT_EQ(back, data);
      }
    });
  for (auto &t : threads) t.join();
}

TEST_P(DiskCopy, ReportsTimesOnDemand) {
  Disk d(GetParam().driver, params());
  void *q = d.open_queue();
  const consort_addr a = d.alloc(1 << 16);
  const auto data = noise(1 << 16, 1);
  consort_op o = d.out(data.data(), a, {1 << 16});
  EXPECT_EQ(d.run(q, {o})[0].t1, 0u);
  o.flags = CONSORT_OPF_TIME;
  const auto done = d.run(q, {o})[0];
  EXPECT_GT(done.t0, 0u);
  EXPECT_GT(done.t1, done.t0);
}

TEST_P(DiskCopy, CloseDuringCopies) {  // against the rule, and still nothing is touched afterwards
  Disk d(GetParam().driver, params());
  const consort_addr a = d.alloc(4 << 20);
  auto data = std::make_unique<std::vector<uint8_t>>(noise(4 << 20, 2));
  void *q = nullptr;
  consort_queue_desc desc{sizeof desc, 0, 0, 0, 0};
  ASSERT_EQ(d.ops->queue_open(d.dev, CONSORT_NONE, 5, &desc, &q), CONSORT_OK);
  EXPECT_EQ(desc.flags, 0u);
  EXPECT_EQ(desc.depth, 32u);
  const consort_op o = d.out(data->data(), a, {4 << 20});
  ASSERT_EQ(d.ops->submit(q, &o, 1), 1u);
  d.ops->queue_close(q);
  data.reset();
}

}  // namespace
}  // namespace consort_test
