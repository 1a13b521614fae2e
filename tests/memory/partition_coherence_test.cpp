// Parts, contributions and commutative tasks, where units have a memory of their own. Contents are copied home in time,
// and stale replicas are not read (FLT-01, FLT-02, ACC-05, ACC-06, DAT-15, DAT-16).
#include <numeric>
#include <random>

#include "memory_machine.hpp"

namespace {

using namespace consort_test;

std::vector<consort_data_id> divide(consort_runtime *rt, consort_data_id x, uint32_t n, consort_plan_id *plan) {
  const consort_split params{n, 0};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = "blocks";
  d.params = &params;
  d.params_bytes = sizeof params;
  need(consort_plan_create(rt, x, &d, plan), "plan");
  std::vector<consort_data_id> part(n);
  EXPECT_EQ(consort_plan_parts(rt, *plan, part.data(), n), int64_t{n});
  return part;
}

consort_status mix(const consort_call &c) {  // the scalar into each cell
  const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
  for (uint64_t i = 0; i < w.n; ++i) pointer<uint64_t>(c, 0)[i] = pointer<uint64_t>(c, 0)[i] * 31 + c.args[0].scalar;
  return CONSORT_OK;
}
consort_status sum(const consort_call &c) {
  const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
  uint64_t s = 0;
  for (uint64_t i = 0; i < w.n; ++i) s = s * 7 + pointer<uint64_t>(c, 0)[i];
  *pointer<uint64_t>(c, 1) = s;
  return CONSORT_OK;
}
consort_status fill(const consort_call &c) {
  const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
  std::iota(pointer<uint64_t>(c, 0), pointer<uint64_t>(c, 0) + w.n, uint64_t{1});
  return CONSORT_OK;
}

// A whole and its parts are written and read here and there, in a random order; each reading is held against one process.
TEST(PartitionCoherence, PartsAndWholeMoveBetweenSpaces) {
  constexpr uint32_t kCells = 64, kParts = 4, kEach = kCells / kParts;
  for (int seed = 0; seed < 24; ++seed) {
    const bool homeless = seed & 1, tight = seed & 2;
    MemoryMachine m(tight ? Pairs{{"limits", "stream0:ram=768"}} : Pairs{}, seed & 4 ? "1" : "2");
    std::mt19937 random(seed);
    std::vector<uint64_t> memory(kCells), want(kCells);
    const auto x = vector_of(m, homeless ? nullptr : memory.data(), kCells, 8, "whole");
    const consort_codelet_id mixes[] = {m.on("cpu", nullptr, mix), m.on("stream", nullptr, mix), m.on("cpu", "stream", mix)};
    const consort_codelet_id sums[] = {m.on("cpu", nullptr, sum), m.on("stream", nullptr, sum)};
    Desc(m.on(seed & 8 ? "cpu" : "stream", nullptr, fill)).w(x).must(m);
    std::iota(want.begin(), want.end(), uint64_t{1});
    consort_plan_id plan{0};
    const auto part = divide(m, x, kParts, &plan);
    std::vector<std::unique_ptr<uint64_t>> seen;
    std::vector<uint64_t> right;
    std::vector<consort_data_id> answers;
    for (int t = 0; t < 120; ++t) {
      const uint32_t which = random() % (kParts + 2), i = which % kParts;
      const bool whole = which >= kParts;
      const auto d = whole ? x : part[i];
      uint64_t *const first = want.data() + (whole ? 0 : i * kEach), *const last = whole ? want.data() + kCells : first + kEach;
      if (random() % 3) {
        Desc(mixes[random() % 3]).rw(d).arg(uint64_t(t)).must(m);
        for (uint64_t *p = first; p < last; ++p) *p = *p * 31 + uint64_t(t);
      } else {
        seen.push_back(std::make_unique<uint64_t>(0));
        answers.push_back(variable_of(m, seen.back().get()));
        Desc(sums[random() % 2]).r(d).w(answers.back()).must(m);
        uint64_t s = 0;
        for (uint64_t *p = first; p < last; ++p) s = s * 7 + *p;
        right.push_back(s);
      }
    }
    ASSERT_OK(consort_wait_all(m, kLong, 0)) << "seed " << seed;
    for (size_t i = 0; i < seen.size(); ++i) {
      ASSERT_OK(consort_unregister(m, answers[i]));
      ASSERT_EQ(*seen[i], right[i]) << "seed " << seed << ", answer " << i;
    }
    consort_hold hold;
    ASSERT_OK(consort_acquire(m, x, CONSORT_M_R, kLong, &hold));
    const auto *got = static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got)) << "seed " << seed;
    ASSERT_OK(consort_release(m, hold));
    ASSERT_OK(consort_unregister(m, x));
    if (!homeless) { EXPECT_EQ(memory, want) << "seed " << seed; }
  }
}

struct Sum {
  consort_codelet_id init, combine;
  explicit Sum(MemoryMachine &m)
      : init(m.on("cpu", nullptr, [](const consort_call &c) { return *pointer<uint64_t>(c, 0) = 0, CONSORT_OK; })),
        combine(m.on("cpu", nullptr, [](const consort_call &c) {
          return *pointer<uint64_t>(c, 0) += *pointer<uint64_t>(c, 1), CONSORT_OK;
        })) {}
};
consort_status add(const consort_call &c) { return *pointer<uint64_t>(c, 0) += c.args[0].scalar, CONSORT_OK; }

TEST(PartitionCoherence, ReducesIntoADatumOnTheDevice) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    MemoryMachine m;
    const Sum how(m);
    uint64_t v = 1, want = 1;
    const auto x = variable_of(m, &v);
    ASSERT_OK(consort_data_set_reduction(m, x, how.init, how.combine));
    const auto either = m.on("cpu", "stream", add), there = m.on("stream", nullptr, triple);
    for (int round = 0; round < 6; ++round) {
      Desc(there).rw(x).must(m), want = want * 3 + 1;
      for (uint64_t i = 0; i < 40; ++i) Desc(either).use(x, CONSORT_M_REDUX | hint).arg(i).must(m), want += i;
    }
    ASSERT_OK(consort_unregister(m, x));
    EXPECT_EQ(v, want);
  }
}

TEST(PartitionCoherence, ReducesOnADeviceAlone) {
  for (const char *limit : {"", "stream0:ram=64"}) {
    MemoryMachine m(*limit ? Pairs{{"limits", limit}} : Pairs{});
    const Sum how(m);
    uint64_t v = 1, want = 1;
    const auto x = variable_of(m, &v), y = variable_of(m, static_cast<uint64_t *>(nullptr), "born of its parts");
    for (const auto d : {x, y}) ASSERT_OK(consort_data_set_reduction(m, d, how.init, how.combine));
    const auto there = m.on("stream", nullptr, add);
    for (int round = 0; round < 4; ++round) {
      for (uint64_t i = 0; i < 50; ++i) {
        Desc(there).use(x, CONSORT_M_REDUX).arg(i).must(m), want += i;
        Desc(there).use(y, CONSORT_M_REDUX).arg(i).must(m);
      }
      consort_hold hold;
      ASSERT_OK(consort_acquire(m, x, CONSORT_M_R, kLong, &hold));
      EXPECT_EQ(v, want) << round;
      ASSERT_OK(consort_release(m, hold));
    }
    uint64_t copied = 0;
    const auto z = variable_of(m, &copied);
    ASSERT_OK(consort_data_copy(m, z, y, {0}, nullptr));
    for (const auto d : {x, y, z}) ASSERT_OK(consort_unregister(m, d));
    EXPECT_EQ(v, want);
    EXPECT_EQ(copied, 4u * 49 * 50 / 2);
  }
}

// Overwritten, invalidated or unregistered in the middle: copies in flight end first.
TEST(PartitionCoherence, UnreadContributionsAreDropped) {
  for (int seed = 0; seed < 8; ++seed) {
    MemoryMachine m({{"stream.units", "2"}, {"limits", "stream0:ram=1024"}}, "2");
    std::mt19937 random(seed);
    const auto sum = [](const consort_call &c) {
      const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
      for (uint64_t i = 0; i < w.n; ++i) pointer<uint64_t>(c, 0)[i] += c.nviews > 1 ? pointer<uint64_t>(c, 1)[i] : 1;
      return CONSORT_OK;
    };
    const auto init = m.on("cpu", "stream", [](const consort_call &c) {
      const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
      return std::fill_n(pointer<uint64_t>(c, 0), w.n, uint64_t{0}), CONSORT_OK;
    });
    const auto combine = m.on("cpu", nullptr, sum), one = m.on("cpu", "stream", sum), far = m.on("stream", nullptr, sum);
    std::vector<std::vector<uint64_t>> memory(4, std::vector<uint64_t>(32, 5));
    for (int turn = 0; turn < 12; ++turn) {
      auto &v = memory[random() % 4];
      uint64_t want = v[0];
      const auto x = vector_of(m, v.data(), v.size(), 8);
      ASSERT_OK(consort_data_set_reduction(m, x, init, combine));
      for (int phase = random() % 3; phase >= 0; --phase) {
        const int n = 1 + random() % 30;
        for (int i = 0; i < n; ++i) Desc(random() % 2 ? one : far).use(x, CONSORT_M_REDUX).must(m);
        want += n;
        if (random() % 2) Desc(init).w(x).must(m), want = 0;
      }
      ASSERT_OK(consort_unregister(m, x));
      for (const uint64_t e : v) ASSERT_EQ(e, want) << "seed " << seed << ", turn " << turn;
    }
  }
}

TEST(PartitionCoherence, CommutesAcrossSpaces) {
  MemoryMachine m(Pairs{{"stream.units", "2"}}, "4");
  constexpr int kData = 5;
  uint64_t v[kData] = {}, want[kData] = {};
  consort_data_id x[kData];
  for (int i = 0; i < kData; ++i) x[i] = variable_of(m, &v[i]);
  const auto both = [](const consort_call &c) {
    for (uint32_t i = 0; i < c.nviews; ++i) *pointer<uint64_t>(c, i) += c.args[0].scalar;
    return CONSORT_OK;
  };
  const consort_codelet_id codelets[] = {m.on("cpu", nullptr, both), m.on("stream", nullptr, both), m.on("cpu", "stream", both)};
  std::mt19937 random(5);
  for (uint64_t t = 0; t < 600; ++t) {
    const uint32_t a = random() % kData, b = (a + 1 + random() % (kData - 1)) % kData;
    Desc task(codelets[random() % 3]);
    task.use(x[a], CONSORT_M_RW | CONSORT_M_COMMUTE), want[a] += t;
    if (random() % 2) task.use(x[b], CONSORT_M_RW | CONSORT_M_COMMUTE), want[b] += t;
    task.arg(t).must(m);
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (int i = 0; i < kData; ++i) {
    ASSERT_OK(consort_unregister(m, x[i]));
    EXPECT_EQ(v[i], want[i]);
  }
}

}  // namespace
