// Parts of a datum that lives on a device are windows into its memory there. Nothing moves between a whole and its
// parts; only missing parts are copied. Counted by link (FLT-02, IFC-18).
#include <consort/memory.h>

#include <numeric>

#include "api/division.hpp"
#include "api/harness.hpp"

namespace consort_test {
namespace {

struct Machine {
  Bodies bodies;
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> devices;
  uint32_t home = 0;
  explicit Machine(const Pairs &more = {}) {
    Pairs pairs{{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "1"}, {"sim.latency", "1us"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info worker{};
      worker.size = sizeof worker;
      need(consort_get_worker(*rt, w, &worker), "worker");
      if (worker.klass == std::string("gpu")) devices.push_back(w);
    }
  }
  operator consort_runtime *() const { return *rt; }
  // On cores and devices alike.
  consort_codelet_id on_any(consort_call_fn *fn) const {
    const consort_impl impls[] = {{"cpu", fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, "body", impls);
  }
  // Bytes over all links so far, once nothing runs.
  uint64_t moved() const {
    need(consort_wait_all(*rt, kLong, 0), "wait");
    uint64_t sum = 0;
    for (uint32_t from = 0; from < 3; ++from)
      for (uint32_t to = 0; to < 3; ++to) {
        consort_link_use use = CONSORT_LINK_USE_INIT;
        if (consort_get_link_use(*rt, from, to, &use) == CONSORT_OK) sum += use.bytes;
      }
    return sum;
  }
};

constexpr uint64_t kRows = 8, kCols = 16, kBytes = kRows * kCols * sizeof(uint64_t);

consort_data_id matrix_of(consort_runtime *rt, uint64_t *p, uint64_t ld) {
  consort_data_id id{0};
  need(consort_register_matrix(rt, p, kCols, kRows, ld, sizeof *p, &id), "matrix");
  return id;
}
template <class F>
void each(const consort_call *c, F f) {
  const auto &v = *static_cast<const consort_matrix_view *>(c->views[0]);
  for (uint64_t j = 0; j < v.ny; ++j)
    for (uint64_t i = 0; i < v.nx; ++i) f(static_cast<uint64_t *>(consort_ptr(v.addr))[j * v.ld + i]);
}
consort_status count(const consort_call *c) {
  uint64_t k = 0;
  each(c, [&](uint64_t &e) { e = ++k; });
  return CONSORT_OK;
}
consort_status more(const consort_call *c) {
  each(c, [&](uint64_t &e) { e += value<uint64_t>(*c, 0); });
  return CONSORT_OK;
}
consort_status expect_sum(const consort_call *c) {
  uint64_t sum = 0;
  each(c, [&](uint64_t &e) { sum += e; });
  return sum == value<uint64_t>(*c, 0) ? CONSORT_OK : consort_fail(CONSORT_E_INTERNAL, "it has another sum");
}
constexpr uint64_t kCells = kRows * kCols, kSum = kCells * (kCells + 1) / 2;

struct Codelets {
  consort_codelet_id count, more, sum;
  explicit Codelets(const Machine &m) : count(m.on_any(consort_test::count)), more(m.on_any(consort_test::more)), sum(m.on_any(expect_sum)) {}
};

TEST(DeviceParts, WholeAndPartsShareDeviceMemory) {
  for (const char *filter : {"rows", "cols"}) {
    Machine m;
    const Codelets on(m);
    const uint32_t there = m.devices[0];
    const auto x = matrix_of(m, nullptr, 0);
    Desc(on.count).w(x).on(there).must(m);
    consort_plan_id plan{0}, other{0};
    const auto part = split(m, x, filter, 4, &plan), half = split(m, x, "halves", 0, &other);
    uint64_t want = kSum;
    for (int round = 0; round < 5; ++round) {
      for (const auto p : part) Desc(on.more).rw(p).arg(uint64_t{1}).on(there).must(m);
      want += kCells;
      Desc(on.sum).r(x).arg(want).on(there).must(m);            // read beside its parts
      for (const auto p : half) Desc(on.more).rw(p).arg(uint64_t{2}).on(there).must(m);
      want += 2 * kCells;
      if (round % 2) Desc(on.more).rw(x).arg(uint64_t{1}).on(there).must(m), want += kCells;
    }
    ASSERT_OK(consort_plan_destroy(m, plan));
    Desc(on.sum).r(x).arg(want).on(there).must(m);
    EXPECT_EQ(m.moved(), 0u) << filter;
    Desc(on.sum).r(x).arg(want).on(0).must(m);                  // now it has to
    EXPECT_EQ(m.moved(), kBytes);
    ASSERT_OK(consort_unregister(m, x));
  }
}

TEST(DeviceParts, NestedPlansShareDeviceMemory) {
  Machine m;
  const Codelets on(m);
  const uint32_t there = m.devices[0];
  const auto x = matrix_of(m, nullptr, 0);
  Desc(on.count).w(x).on(there).must(m);
  consort_plan_id outer{0}, inner{0};
  const auto rows = split(m, x, "rows", 2, &outer);
  const auto cols = split(m, rows[1], "cols", 4, &inner);
  for (int round = 0; round < 3; ++round) {
    for (const auto p : cols) Desc(on.more).rw(p).arg(uint64_t{1}).on(there).must(m);
    Desc(on.more).rw(rows[1]).arg(uint64_t{1}).on(there).must(m);
    Desc(on.more).rw(rows[0]).arg(uint64_t{2}).on(there).must(m);
    Desc(on.sum).r(x).arg(kSum + (round + 1) * 2 * kCells).on(there).must(m);
  }
  EXPECT_EQ(m.moved(), 0u);
  ASSERT_OK(consort_unregister(m, x));
}

// One plan to read with a border, one to write without.
TEST(DeviceParts, OverlappingPartsAreReadInPlace) {
  Machine m;
  const Codelets on(m);
  const uint32_t there = m.devices[0];
  const auto x = matrix_of(m, nullptr, 0);
  Desc(on.count).w(x).on(there).must(m);
  consort_plan_id plan{0}, halo{0};
  const auto part = split(m, x, "rows", 4, &plan);
  const consort_halo border{4, 1, 1, 0};
  const auto wide = divide(m, x, "overlap", &border, sizeof border, &halo);
  const auto read = m.on_any([](const consort_call *) -> consort_status { return CONSORT_OK; });
  for (int round = 0; round < 4; ++round) {
    for (const auto p : part) Desc(on.more).rw(p).arg(uint64_t{1}).on(there).must(m);
    for (const auto p : wide) Desc(read).r(p).on(there).must(m);
  }
  Desc(on.sum).r(x).arg(kSum + 4 * kCells).on(there).must(m);
  EXPECT_EQ(m.moved(), 0u);
  ASSERT_OK(consort_unregister(m, x));
}

TEST(DeviceParts, CopiesOnlyMissingParts) {
  Machine m(Pairs{{"sim.devices", "2"}});
  const Codelets on(m);
  const auto x = matrix_of(m, nullptr, 0);
  Desc(on.count).w(x).on(m.devices[0]).must(m);
  consort_plan_id plan{0};
  const auto part = split(m, x, "rows", 4, &plan);
  for (const auto p : part) Desc(on.more).rw(p).arg(uint64_t{1}).on(m.devices[0]).must(m);
  ASSERT_EQ(m.moved(), 0u);
  consort_hold hold;
  ASSERT_OK(consort_acquire(m, part[3], CONSORT_M_R, kLong, &hold));  // the host reads one
  ASSERT_OK(consort_release(m, hold));
  EXPECT_EQ(m.moved(), kBytes / 4);
  Desc(on.more).rw(part[3]).arg(uint64_t{1}).on(0).must(m);          // and writes it
  EXPECT_EQ(m.moved(), kBytes / 4);
  Desc(on.more).rw(x).arg(uint64_t{1}).on(m.devices[0]).must(m);      // it goes back, the others stay
  EXPECT_EQ(m.moved(), 2 * kBytes / 4);
  // Two on each device: two go over, and two come back, over the host.
  for (int i = 0; i < 4; ++i) Desc(on.more).rw(part[i]).arg(uint64_t{1}).on(m.devices[i / 2]).must(m);
  EXPECT_EQ(m.moved(), 6 * kBytes / 4);
  Desc(on.more).rw(x).arg(uint64_t{0}).on(m.devices[0]).must(m);
  EXPECT_EQ(m.moved(), 10 * kBytes / 4);
  Desc(on.sum).r(x).arg(kSum + kCells * 3 + kCells / 4).on(m.devices[0]).must(m);
  EXPECT_EQ(m.moved(), 10 * kBytes / 4);
  ASSERT_OK(consort_unregister(m, x));
}

// Home has gaps between rows, the device has none: parts lie where each memory has them.
TEST(DeviceParts, PartsFollowTheLayoutOfEachSpace) {
  constexpr uint64_t kLd = kCols + 5;
  Machine m;
  const Codelets on(m);
  std::vector<uint64_t> memory(kRows * kLd, 7);
  const auto x = matrix_of(m, memory.data(), kLd);
  Desc(on.count).w(x).on(m.devices[0]).must(m);
  consort_plan_id plan{0};
  const consort_tiles grid{4, 2};
  const auto part = divide(m, x, "tiles", &grid, sizeof grid, &plan);
  for (size_t i = 0; i < part.size(); ++i) Desc(on.more).rw(part[i]).arg(uint64_t{100 * i}).on(m.devices[0]).must(m);
  ASSERT_EQ(m.moved(), 0u);
  for (size_t i = 0; i < part.size(); i += 3) Desc(on.more).rw(part[i]).arg(uint64_t{1}).on(0).must(m);
  EXPECT_EQ(m.moved(), 3 * kBytes / 8);
  ASSERT_OK(consort_unregister(m, x));
  for (uint64_t j = 0; j < kRows; ++j) {
    for (uint64_t i = 0; i < kCols; ++i) {
      const uint64_t k = j / 4 * 4 + i / 4;
      ASSERT_EQ(memory[j * kLd + i], j * kCols + i + 1 + 100 * k + (k % 3 == 0)) << j << ", " << i;
    }
    for (uint64_t i = kCols; i < kLd; ++i) ASSERT_EQ(memory[j * kLd + i], 7u) << "a gap";
  }
}

// Its block goes by saving the parts that are nowhere else.
TEST(DeviceParts, EvictionSavesOnlyDirtyParts) {
  Machine m(Pairs{{"limits", "sim0:ram=2048"}, {"save_ahead", "0"}});  // two such matrices
  const Codelets on(m);
  const uint32_t there = m.devices[0];
  const auto x = matrix_of(m, nullptr, 0), y = matrix_of(m, nullptr, 0), z = matrix_of(m, nullptr, 0);
  Desc(on.count).w(x).on(there).must(m);
  consort_plan_id plan{0};
  const auto part = split(m, x, "rows", 4, &plan);
  for (const auto p : part) Desc(on.more).rw(p).arg(uint64_t{1}).on(there).must(m);
  for (int i : {0, 2}) Desc(on.sum).r(part[i]).arg(uint64_t(i ? 2608 : 560)).on(0).must(m);
  const uint64_t before = m.moved();
  EXPECT_EQ(before, kBytes / 2);
  Desc(on.count).w(y).on(there).must(m);
  Desc(on.count).w(z).on(there).must(m);  // now x has to go: two of its parts are at home
  EXPECT_EQ(m.moved(), before + kBytes / 2);
  Desc(on.sum).r(x).arg(kSum + kCells).on(0).must(m);
  EXPECT_EQ(m.moved(), before + kBytes / 2);
  for (const auto d : {x, y, z}) ASSERT_OK(consort_unregister(m, d));
}

// A task whose parts fit, but whose wholes do not.
TEST(DeviceParts, WholesOfPartsThatDoNotFitTogether) {
  Machine m(Pairs{{"limits", "sim0:ram=1280"}});  // one matrix, and one of its quarters
  const Codelets on(m);
  const uint32_t there = m.devices[0];
  const auto both = m.on_any([](const consort_call *c) -> consort_status {
    each(c, [](uint64_t &e) { e += 1; });
    return CONSORT_OK;
  });
  consort_data_id x[2];
  std::vector<consort_data_id> part[2];
  for (int i = 0; i < 2; ++i) {
    x[i] = matrix_of(m, nullptr, 0);
    Desc(on.count).w(x[i]).on(i ? there : 0).must(m);
    consort_plan_id plan{0};
    part[i] = split(m, x[i], "rows", 4, &plan);
  }
  for (int i = 0; i < 4; ++i) Desc(both).rw(part[1][i]).r(part[0][i]).r(part[0][(i + 1) % 4]).on(there).must(m);
  Desc(on.sum).r(x[1]).arg(kSum + kCells).on(0).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
}

// Its first memory is a device's, and home has no room for the place of its parts.
TEST(DeviceParts, HostMemoryLimitIsReported) {
  Machine m(Pairs{{"limits", "ram=512, sim0:ram=2048"}});
  const Codelets on(m);
  const uint32_t there = m.devices[0];
  for (const bool write : {false, true}) {
    const auto x = matrix_of(m, nullptr, 0);
    Desc(on.count).w(x).on(there).must(m);
    consort_plan_id plan{0};
    const auto part = split(m, x, "rows", 4, &plan);
    if (!write) Desc(on.sum).r(part[0]).arg(uint64_t{0}).on(there).must(m);
    for (const uint32_t w : {0u, there, 0u}) Desc(on.count).w(part[1]).on(w).must(m);
    Desc(on.sum).r(x).arg(uint64_t{0}).on(there).must(m);
    EXPECT_SAYS(CONSORT_E_NOMEM, consort_wait_all(m, kLong, 0), "it needs 1024 bytes in ram at once", "raise the limit");
    EXPECT_SAYS(CONSORT_E_NOMEM, consort_unregister(m, x), "no memory at home");
    const auto y = matrix_of(m, nullptr, 0);  // all goes on
    Desc(on.count).w(y).on(there).must(m);
    Desc(on.sum).r(y).arg(kSum).on(there).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_OK(consort_unregister(m, y));
  }
}

}  // namespace
}  // namespace consort_test
