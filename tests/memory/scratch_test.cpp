// Memory for one task alone (SCRATCH), where memory is counted. It is granted with the task's data, within the limit,
// and given back at its end (MEM-09, ACC-04).
#include <consort/memory.h>

#include "memory_machine.hpp"

namespace {

using namespace consort_test;

// Fills its scratch, and returns its sum: no other task writes to it.
consort_status fill_and_sum(const consort_call &c) {
  auto *mine = pointer<uint64_t>(c, 1);
  auto *out = pointer<uint64_t>(c, 0);
  for (uint64_t i = 0; i < 1024; ++i) mine[i] = out[0] + i;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 1024; ++i) sum += mine[i];
  out[0] = sum;
  return CONSORT_OK;
}
uint64_t sum_from(uint64_t v) { return 1024 * v + 1023 * 512; }

// So many tasks on such workers, each with a datum and 8 KiB of its own; look() when all have run.
template <class F>
void run_with_scratch(MemoryMachine &m, consort_codelet_id codelet, uint64_t tasks, F look) {
  const auto s = vector_of(m, static_cast<uint64_t *>(nullptr), 1024, 8, "own");
  std::vector<uint64_t> v(tasks);
  std::vector<consort_data_id> x;
  for (uint64_t i = 0; i < tasks; ++i) v[i] = i, x.push_back(variable_of(m, &v[i]));
  for (const auto d : x) Desc(codelet).rw(d).scratch(s).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  look();
  for (uint64_t i = 0; i < tasks; ++i) {
    ASSERT_OK(consort_unregister(m, x[i]));
    EXPECT_EQ(v[i], sum_from(i));
  }
  ASSERT_OK(consort_unregister(m, s));
}

TEST(ScratchMemory, StaysWithinTheLimit) {
  const std::string limit = MemoryMachine().space_name() + "=32K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}, {"stream.units", "2"}});
  constexpr uint64_t kTasks = 40;
  run_with_scratch(m, m.on("stream", nullptr, fill_and_sum), kTasks, [&] {
    const consort_space_use use = use_of(m, 1);
    EXPECT_LE(use.used + use.spare, use.limit);
    EXPECT_GE(use.spare, 8192u) << "kept for the next";
    EXPECT_LE(use.used, kTasks * 4096) << "data alone";
    EXPECT_EQ(use.needed_evictions, 0u);
  });
}

TEST(ScratchMemory, EvictsLikeOtherData) {
  const std::string limit = MemoryMachine().space_name() + "=32K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  const auto fill = m.on("stream", nullptr, [](const consort_call &c) { return *pointer<uint64_t>(c, 0) = 5, CONSORT_OK; });
  const auto there = m.on("stream", nullptr, fill_and_sum);
  const auto s = vector_of(m, static_cast<uint64_t *>(nullptr), 1024, 8, "own");
  std::vector<std::vector<uint64_t>> v(4, std::vector<uint64_t>(1024));  // 8 KiB each: as much as there is
  std::vector<consort_data_id> x;
  for (auto &one : v) x.push_back(vector_of(m, one.data(), one.size(), 8));
  for (const auto d : x) Desc(fill).rw(d).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(use_of(m, 1).used, 32768u);
  Desc(there).rw(x[0]).scratch(s).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  const consort_space_use use = use_of(m, 1);
  EXPECT_GE(use.evictions, 1u);
  EXPECT_LE(use.used, 24576u);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_OK(consort_unregister(m, x[i]));
    EXPECT_EQ(v[i][0], i ? 5 : sum_from(5));
  }
  ASSERT_OK(consort_unregister(m, s));
}

TEST(ScratchMemory, TwoScratchDataAreDistinct) {
  const std::string limit = MemoryMachine().space_name() + "=32K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  const auto there = m.on("stream", nullptr, [](const consort_call &c) {
    auto *a = pointer<uint64_t>(c, 1), *b = pointer<uint64_t>(c, 2);
    for (int i = 0; i < 1024; ++i) a[i] = 1, b[i] = 2;
    *pointer<uint64_t>(c, 0) = a[1023] * 10 + b[0];
    return CONSORT_OK;
  });
  const auto s = vector_of(m, static_cast<uint64_t *>(nullptr), 1024, 8, "own");
  uint64_t v = 0;
  const auto x = variable_of(m, &v);
  Desc(there).rw(x).scratch(s).scratch(s).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(v, 12u);
  ASSERT_OK(consort_unregister(m, s));
}

TEST(ScratchMemory, RefusesScratchThatNeverFits) {
  const std::string limit = MemoryMachine().space_name() + "=32K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  const auto s = vector_of(m, static_cast<uint64_t *>(nullptr), 16384, 8, "own");
  uint64_t v = 1, w = 3;
  const auto x = variable_of(m, &v), y = variable_of(m, &w);
  Desc(m.on("stream", nullptr, triple)).rw(x).scratch(s).must(m);
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_wait_all(m, kLong, 0), "body", "131", "32768", "raise the limit");
  Desc(m.on("stream", nullptr, triple)).rw(y).must(m);  // a smaller request succeeds
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(w, 10u);
}

TEST(ScratchMemory, StaysWithinTheHostLimit) {
  MemoryMachine m(Pairs{{"limits", "ram=64K"}}, "4");
  run_with_scratch(m, m.on("cpu", nullptr, fill_and_sum), 200, [&] {
    const consort_space_use use = use_of(m, 0);
    EXPECT_LE(use.used + use.spare, use.limit);
  });
}

}  // namespace
