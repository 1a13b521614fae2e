// Random graphs over two memories of which one is much too small, many seeds: all end with right values, whichever copy
// or kernel fails. CONSORT_FULL=1: ten times as many.
#include <algorithm>
#include <random>

#include "memory_machine.hpp"

namespace {

using namespace consort_test;

constexpr int kData = 10, kCells = 32;  // 256 bytes each

uint64_t stir(uint64_t h, uint64_t x) { return (h ^ x) * 6364136223846793005u + 1442695040888963407u; }

// The first view is written; its cells are all alike, so a copy that arrived in part is found out.
consort_status body(const consort_call &c) {
  const bool keeps = c.args[1].scalar;
  uint64_t h = c.args[0].scalar;
  for (uint32_t i = keeps ? 0 : 1; i < c.nviews; ++i) {
    const uint64_t *x = pointer<uint64_t>(c, i);
    for (int k = 1; k < kCells; ++k)
      if (x[k] != x[0]) return CONSORT_E_INTERNAL;
    h = stir(h, x[0]);
  }
  for (int k = 0; k < kCells; ++k) pointer<uint64_t>(c, 0)[k] = h;
  return CONSORT_OK;
}

struct Seed {
  std::mt19937 random;
  bool faults;
  std::string limit, units, window, workers, fail, depth;
  explicit Seed(uint32_t n) : random(n), faults(n % 4 == 3) {
    limit = "stream0:ram=" + std::to_string(256 * (3 + random() % 6));
    units = std::to_string(1 + random() % 2);
    workers = std::to_string(1 + random() % 3);
    window = random() % 3 ? "2048" : "8";
    depth = random() % 3 ? "64" : "2";
    fail = faults ? std::to_string(1 + random() % 60) : "0";
  }
  Pairs pairs() const {
    return {{"limits", limit.c_str()}, {"stream.units", units.c_str()}, {"window", window.c_str()},
            {"stream.fail_op", fail.c_str()}, {"stream.depth", depth.c_str()}};
  }
};

// Ordered data come home; one copy may fail, the next does not.
consort_status read(consort_runtime *rt, consort_data_id x, uint64_t *value) {
  consort_hold hold;
  consort_status s = consort_acquire(rt, x, CONSORT_M_R, kLong, &hold);
  if (s == CONSORT_E_IO) s = consort_acquire(rt, x, CONSORT_M_R, kLong, &hold);
  if (s < 0) return s;
  const auto *p = static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
  *value = std::count(p, p + kCells, p[0]) == kCells ? p[0] : ~uint64_t{0};
  return consort_release(rt, hold);
}

void run(uint32_t n) {
  SCOPED_TRACE(testing::Message() << "seed " << n);
  Seed seed(n);
  auto &random = seed.random;
  MemoryMachine m(seed.pairs(), seed.workers.c_str());
  std::vector<std::vector<uint64_t>> memory(kData, std::vector<uint64_t>(kCells));
  std::vector<uint64_t> want(kData);
  std::vector<consort_data_id> x;
  const consort_codelet_id codelets[] = {m.on("cpu", nullptr, body), m.on("stream", nullptr, body), m.on("cpu", "stream", body)};
  for (int i = 0; i < kData; ++i) {
    const bool homeless = random() % 3 == 0;
    want[i] = static_cast<uint64_t>(i) + 1;
    std::fill(memory[i].begin(), memory[i].end(), want[i]);
    x.push_back(vector_of(m, homeless ? nullptr : memory[i].data(), kCells, 8));
    if (homeless) Desc(codelets[random() % 3]).w(x[i]).arg(want[i]).arg(uint64_t{0}).must(m);
  }
  for (uint64_t t = 100; t < 140; ++t) {
    const uint32_t uses = 1 + random() % 3, first = random() % kData;
    const bool keeps = random() % 5;
    Desc task(codelets[random() % 3]);
    uint64_t h = t;
    for (uint32_t i = 0; i < uses; ++i) {
      const uint32_t k = (first + i * 3) % kData;
      if (i) task.r(x[k]);
      else keeps ? task.rw(x[k]) : task.w(x[k]);
      if (i || keeps) h = stir(h, want[k]);
    }
    want[first] = h;
    task.arg(t).arg(uint64_t{keeps}).must(m);
    if (random() % 16) continue;
    const uint32_t k = random() % kData;
    uint64_t value = 0;
    if (read(m, x[k], &value) >= 0) { ASSERT_EQ(value, want[k]); }
    else ASSERT_TRUE(seed.faults) << consort_error();
  }
  const consort_status all = consort_wait_all(m, kLong, 0);
  ASSERT_TRUE(all == CONSORT_OK || (seed.faults && all < 0 && all != CONSORT_E_TIMEOUT)) << consort_error();
  for (int i = 0; i < kData; ++i) {
    uint64_t value = 0;
    const consort_status s = read(m, x[i], &value);
    ASSERT_TRUE(s == CONSORT_OK || (seed.faults && s == CONSORT_E_POISONED)) << consort_error();
    if (s >= 0) { ASSERT_EQ(value, want[i]) << "datum " << i; }
    ASSERT_EQ(consort_unregister(m, x[i]) < 0, s < 0) << consort_error();  // of a poisoned datum it answers the failure
  }
}

TEST(RandomMemoryGraphs, GiveTheSequentialValues) {
  const uint32_t seeds = full() ? 10'000 : CONSORT_SAN || brief() ? 60 : 400;
  const char *one = std::getenv("TEST_SEED");
  for (uint32_t n = one ? std::atoi(one) : 0, end = one ? n + 1 : seeds; n < end && !HasFatalFailure(); ++n) {
    if (std::getenv("TEST_TELL")) std::fprintf(stderr, "%u\n", n);
    run(n);
  }
}

}  // namespace
