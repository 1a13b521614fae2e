// Driver sim: memory that ends, and copies of boxes between memories.
#include <random>

#include "drivers/sim_machine.hpp"

namespace consort_test {
namespace {

// -- memory -----------------------------------------------------------------------------------------------------------

TEST(Sim, LimitsMemory) {
  Machine m(Params{{"memory", "1M"}});
  void *d = m.devices[0];
  std::vector<consort_addr> all;
  consort_addr a{};
  while (m.ops->alloc(d, m.space(0), 60'000, 0, 0, &a) == CONSORT_OK) all.push_back(a);
  EXPECT_EQ(all.size(), 17u) << "rounded up to the granule: 60160";
  EXPECT_NE(m.plugin.failure().find("out of memory: 60000 bytes"), std::string::npos) << m.plugin.failure();
  m.ops->free(d, m.space(0), all.back(), 60'000);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 60'000, 4096, CONSORT_AL_ZERO, &all.back()), CONSORT_OK);
  EXPECT_EQ(all.back().base % 4096, 0u);
  for (auto &x : all) m.ops->free(d, m.space(0), x, 60'000);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 1 << 20, 0, 0, &a), CONSORT_OK) << "nothing has leaked";
  m.ops->free(d, m.space(0), a, 1 << 20);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), UINT64_MAX - 3, 0, 0, &a), CONSORT_E_NOMEM);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 0, 0, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 64, 48, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 64, 64, CONSORT_AL_EXPORT, &a), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(m.ops->alloc(d, 99, 64, 64, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.plugin.log(), "");
  m.ops->free(d, m.space(0), a, 64);
  EXPECT_NE(m.plugin.log().find("is not allocated"), std::string::npos) << m.plugin.log();
}

TEST(Sim, AllocatesPinnedHostMemory) {
  Machine m;
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.devices[0], m.host_space, 4096, 64, CONSORT_AL_PINNED | CONSORT_AL_ZERO, &a), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(static_cast<char *>(consort_ptr(a))[4095], 0);
  m.ops->free(m.devices[0], m.host_space, a, 4096);
  EXPECT_EQ(m.ops->alloc(m.devices[0], m.host_space, 4096, 64, 0, &a), CONSORT_E_INVAL);
  consort_addr local{};
  EXPECT_EQ(m.ops->attach(m.devices[0], m.host_space, Machine::addr(&m), 64, &local), CONSORT_OK);
  EXPECT_EQ(local.base, reinterpret_cast<uint64_t>(&m));
}

// Memory that the application says the device has: copies reach it, and no further; it is none of the driver's.
TEST(Sim, AttachesMemoryOfTheApplication) {
  Machine m(Params{{"memory", "64K"}});
  void *q = m.open_queue();
  std::vector<char> lent(128 << 10, 1), buffer(64, 7);
  consort_addr local{};
  const consort_addr there = Machine::addr(lent.data());
  ASSERT_EQ(m.ops->attach(m.devices[0], m.space(0), there, 128 << 10, &local), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(m.status_of(q, m.to_device(buffer.data(), {there.base + 100, 0}, 64)), CONSORT_OK);
  EXPECT_EQ(lent[163], 7);
  EXPECT_EQ(lent[164], 1);
  EXPECT_EQ(m.status_of(q, m.to_device(buffer.data(), {there.base + (128 << 10) - 63, 0}, 64)), CONSORT_E_INVAL);
  (void)m.alloc(64 << 10);  // all that the driver has
  EXPECT_EQ(m.ops->attach(m.devices[0], m.space(0), {there.base + 10, 0}, 10, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("in use"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.ops->attach(m.devices[0], m.space(0), std::get<1>(m.blocks.back()), 10, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("that the driver allocated"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.ops->attach(m.devices[0], m.space(0), {0, 0}, 10, &local), CONSORT_E_INVAL);
  m.ops->detach(m.devices[0], m.space(0), there);
  EXPECT_EQ(m.status_of(q, m.to_device(buffer.data(), there, 64)), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->attach(m.devices[0], m.space(0), {there.base + 10, 0}, 10, &local), CONSORT_OK);
  m.ops->detach(m.devices[0], m.space(0), local);
}

TEST(Sim, ReportsMemoryFreedDuringACopy) {
  Machine m(Params{{"latency", "1ms"}});
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64), b = m.alloc(64);
  char buffer[64] = {};
  const consort_op op = m.to_device(buffer, a, 64);
  ASSERT_EQ(m.ops->submit(q, &op, 1), 1u);
  m.blocks.clear();
  m.ops->free(m.devices[0], m.space(0), b, 64);
  EXPECT_EQ(m.plugin.log(), "");
  m.ops->free(m.devices[0], m.space(0), a, 64);
  EXPECT_NE(m.plugin.log().find("freed while a copy uses it"), std::string::npos) << m.plugin.log();
  m.collect(q, 1);
}

TEST(Sim, ReportsLeakedBlocks) {
  Machine m;
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.devices[0], m.space(0), 1000, 0, 0, &a), CONSORT_OK);
  m.close();
  EXPECT_NE(m.plugin.log().find("closed with 1024 bytes in 1 blocks that were not freed"), std::string::npos) << m.plugin.log();
}

// -- copies -----------------------------------------------------------------------------------------------------------

// Boxes of any shape, in, within and out, against memcpy.
TEST(Sim, CopiesBoxesLikeMemcpy) {
  Machine m(Params{{"latency", "0"}, {"devices", "2"}, {"peer", "20G"}});
  void *q = m.open_queue();
  constexpr int64_t kBytes = 1 << 17;
  const consort_addr a = m.alloc(kBytes), b = m.alloc(kBytes), far = m.alloc(kBytes, 1);
  std::mt19937 rng(4);
  std::vector<unsigned char> in(kBytes), blank(kBytes, 0xee), want, got(kBytes);
  for (int64_t i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(rng());
  const auto below = [&](uint64_t n) { return rng() % n; };
  int tried = 0;
  for (int round = 0; tried < 150 && round < 3000; ++round) {
    const uint64_t run = 1 + below(round % 3 ? 200 : 8000), rows = 1 + below(12), slices = 1 + below(5);
    const auto steps = [&](int64_t *s) {  // that do not overlap, either way round
      s[0] = static_cast<int64_t>(run + below(300));
      s[1] = static_cast<int64_t>(rows) * s[0] + static_cast<int64_t>(below(100));
      if (below(4) == 0) s[1] = static_cast<int64_t>(run + below(50)), s[0] = static_cast<int64_t>(slices) * s[1];
      if (below(4) == 0) s[0] = -s[0];
    };
    int64_t ss[2], ds[2];
    steps(ss), steps(ds);
    const auto place = [&](const int64_t *s) -> int64_t {
      const int64_t reach0 = static_cast<int64_t>(rows - 1) * s[0], reach1 = static_cast<int64_t>(slices - 1) * s[1];
      const int64_t low = std::min<int64_t>(0, reach0) + std::min<int64_t>(0, reach1), high = std::max<int64_t>(0, reach0) + std::max<int64_t>(0, reach1) + static_cast<int64_t>(run);
      return high - low > kBytes ? -1 : -low + static_cast<int64_t>(below(kBytes - (high - low) + 1));
    };
    const int64_t so = place(ss), po = place(ds);
    if (so < 0 || po < 0) continue;
    ++tried;
    want = blank;
    for (uint64_t z = 0; z < slices; ++z)
      for (uint64_t y = 0; y < rows; ++y)
        std::memcpy(&want[po + int64_t(z) * ds[1] + int64_t(y) * ds[0]], &in[so + int64_t(z) * ss[1] + int64_t(y) * ss[0]], run);
    const auto box = [&](uint32_t from, consort_addr src, uint32_t to, consort_addr dst) {
      src.off += so, dst.off += po;
      return Machine::copy(from, src, to, dst, run, rows, ss[0], ds[0], slices, ss[1], ds[1]);
    };
    const auto good = [&](std::vector<consort_op> list) {
      for (const auto &d : m.run(q, std::move(list))) EXPECT_EQ(d.status, CONSORT_OK) << m.plugin.failure();
    };
    const std::string which = "run " + std::to_string(run) + " rows " + std::to_string(rows) + " slices " + std::to_string(slices);
    good({m.to_device(blank.data(), a, kBytes), box(m.host_space, Machine::addr(in.data()), m.space(0), a), m.from_device(a, got.data(), kBytes)});
    ASSERT_EQ(got, want) << "in, " << which;
    good({m.to_device(in.data(), a, kBytes), m.to_device(blank.data(), b, kBytes), box(m.space(0), a, m.space(0), b), m.from_device(b, got.data(), kBytes)});
    ASSERT_EQ(got, want) << "within, " << which;
    good({m.to_device(blank.data(), far, kBytes, 1), box(m.space(0), a, m.space(1), far), m.from_device(far, got.data(), kBytes, 1)});
    ASSERT_EQ(got, want) << "across, " << which;
    got = blank;
    good({box(m.space(0), a, m.host_space, Machine::addr(got.data()))});
    ASSERT_EQ(got, want) << "out, " << which;
  }
  EXPECT_EQ(tried, 150);
}

TEST(Sim, RefusesCopiesBeyondABlock) {
  Machine m;
  void *q = m.open_queue();
  const consort_addr a = m.alloc(4096);
  char buffer[8192] = {};
  EXPECT_EQ(m.status_of(q, m.to_device(buffer, {a.base, 1}, 4096)), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.log().find("exceeds the allocated memory"), std::string::npos);
  EXPECT_EQ(m.status_of(q, Machine::copy(m.host_space, Machine::addr(buffer), m.space(0), {a.base, 0}, 16, 4, 16, -16)), CONSORT_E_INVAL);
  EXPECT_EQ(m.status_of(q, Machine::copy(m.host_space, Machine::addr(buffer), 99, a, 16)), CONSORT_E_UNSUPPORTED);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {{a.base, 4000}, 97, m.space(0), 0};
  EXPECT_EQ(m.status_of(q, fill), CONSORT_E_INVAL);
  fill.u.fill = {{a.base, 4000}, 96, m.space(0), 0x04030201};
  EXPECT_EQ(m.run(q, {fill, m.from_device({a.base, 4000}, buffer, 96)})[1].status, CONSORT_OK);
  EXPECT_EQ(buffer[0], 1);
  EXPECT_EQ(buffer[93], 2);
  EXPECT_EQ(m.status_of(q, op_of(CONSORT_OP_LAUNCH, 0)), CONSORT_E_UNSUPPORTED);
  uint64_t code = 0;
  EXPECT_EQ(m.ops->load_impl(m.devices[0], "cl", "x", 1, "k", &code), CONSORT_E_UNSUPPORTED);
  EXPECT_NE(m.plugin.failure().find("give one for class \"cpu\""), std::string::npos) << m.plugin.failure();
}

}  // namespace
}  // namespace consort_test
