// Data that move by themselves between two memories: to the task that uses them, home for the application, and away
// when memory is short. Over the stream double with a memory of its own (MEM-02, MEM-03, DAT-15, DAT-16, DAT-17).
#include <random>

#include "memory_machine.hpp"

namespace {

using namespace consort_test;

TEST(Memory, DataMoveToTheirTasks) {
  MemoryMachine m;
  uint64_t v = 1;
  const auto x = variable_of(m, &v);
  const auto here = m.on("cpu", nullptr, triple), there = m.on("stream", nullptr, triple);
  uint64_t want = 1;
  for (int i = 0; i < 200; ++i) Desc(i % 3 ? there : here).rw(x).must(m), want = want * 3 + 1;
  consort_hold hold;
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(v, want) << "the application's own memory holds it when it is acquired";
  ASSERT_OK(consort_release(m, hold));
  Desc(there).rw(x).must(m), want = want * 3 + 1;
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(v, want);
}

TEST(Memory, DeviceReadsWritesOfTheApplication) {
  MemoryMachine m;
  uint64_t v = 1, out = 0;
  const auto x = variable_of(m, &v), y = variable_of(m, &out);
  const auto there = m.on("stream", nullptr, triple);
  const auto copy = m.on("stream", nullptr, [](const consort_call &c) { *pointer<uint64_t>(c, 1) = *pointer<uint64_t>(c, 0); return CONSORT_OK; });
  Desc(there).rw(x).must(m);
  consort_hold hold;
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_RW, kLong, &hold));
  EXPECT_EQ(v, 4u);
  v = 100;
  ASSERT_OK(consort_release(m, hold));
  Desc(copy).r(x).w(y).must(m);
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(out, 100u);
  ASSERT_OK(consort_unregister(m, x));
}

TEST(Memory, DataWithoutAHomeStartOnTheDevice) {
  MemoryMachine m;
  const auto x = variable_of(m, static_cast<uint64_t *>(nullptr));
  const auto there = m.on("stream", nullptr, [](const consort_call &c) { *pointer<uint64_t>(c, 0) = 42; return CONSORT_OK; });
  const auto here = m.on("cpu", nullptr, triple);
  Desc(there).w(x).must(m);
  Desc(here).rw(x).must(m);
  consort_hold hold;
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(*static_cast<uint64_t *>(consort_ptr(static_cast<const consort_variable_view *>(hold.view)->addr)), 127u);
  ASSERT_OK(consort_release(m, hold));
  ASSERT_OK(consort_unregister(m, x));
}

TEST(Memory, CopiesStridedTiles) {
  MemoryMachine m;
  std::vector<uint32_t> big(64 * 64);
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<uint32_t>(i);
  const consort_matrix_args args{big.data() + 5 * 64 + 7, 20, 30, 64, 4};
  const consort_data_desc d{sizeof d, 0, "matrix", &args, sizeof args, "tile"};
  consort_data_id x{0};
  ASSERT_OK(consort_register(m, &d, &x));
  const auto there = m.on("stream", nullptr, [](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i) static_cast<uint32_t *>(consort_ptr(v.addr))[j * v.ld + i] += 1000000;
    return CONSORT_OK;
  });
  Desc(there).rw(x).must(m);
  ASSERT_OK(consort_unregister(m, x));
  for (uint32_t j = 0; j < 64; ++j)
    for (uint32_t i = 0; i < 64; ++i) {
      const bool inside = j >= 5 && j < 35 && i >= 7 && i < 27;
      ASSERT_EQ(big[j * 64 + i], j * 64 + i + (inside ? 1000000 : 0)) << i << " " << j;
    }
}

TEST(Memory, EvictsWhenDataDoNotFit) {  // MEM-02
  const std::string name = MemoryMachine().space_name();
  const std::string limit = name + "=256K";
  for (const bool homeless : {false, true}) {
    MemoryMachine m(Pairs{{"limits", limit.c_str()}});
    constexpr int kData = 40;  // of 32 KiB: 1.25 MiB in all
    std::vector<std::vector<uint64_t>> memory(kData, std::vector<uint64_t>(4096, 1));
    std::vector<consort_data_id> x;
    for (auto &v : memory) x.push_back(vector_of(m, homeless ? nullptr : v.data(), v.size(), 8));
    const auto one = m.on("cpu", "stream", [](const consort_call &c) {
      for (int i = 0; i < 4096; ++i) pointer<uint64_t>(c, 0)[i] = 1;
      return CONSORT_OK;
    });
    const auto add = m.on("stream", nullptr, [](const consort_call &c) {
      for (int i = 0; i < 4096; ++i) pointer<uint64_t>(c, 0)[i] += pointer<uint64_t>(c, 1)[i];
      return CONSORT_OK;
    });
    for (const auto d : x) Desc(one).w(d).must(m);
    std::vector<uint64_t> want(kData, 1);
    std::mt19937 random(3);
    for (int i = 0; i < 600; ++i) {
      const auto a = random() % kData, b = (a + 1 + random() % (kData - 1)) % kData;
      Desc(add).rw(x[a]).r(x[b]).must(m);
      want[a] += want[b];
    }
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    for (int i = 0; i < kData; ++i) {
      consort_hold hold;
      ASSERT_OK(consort_acquire(m, x[i], CONSORT_M_R, kLong, &hold));
      const auto *p = static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
      EXPECT_EQ(p[0], want[i]);
      EXPECT_EQ(p[4095], want[i]);
      ASSERT_OK(consort_release(m, hold));
      ASSERT_OK(consort_unregister(m, x[i]));
    }
  }
}

TEST(Memory, RefusesDataThatNeverFit) {
  const std::string limit = MemoryMachine().space_name() + "=64K";
  MemoryMachine m(Pairs{{"limits", limit.c_str()}});
  std::vector<uint64_t> v(16384, 7);
  const auto x = vector_of(m, v.data(), v.size(), 8, "large");
  Desc(m.on("stream", nullptr, triple)).rw(x).must(m);
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_wait_all(m, kLong, 0), "131072", "65536", "limit");
}

TEST(Memory, RefusesBadLimits) {
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, start({{"limits", "nowhere=1M"}}, &rt), "nowhere", "names no space");
  EXPECT_SAYS(CONSORT_E_INVAL, start({{"limits", "1M"}}, &rt), "has no =");
}

TEST(Memory, RandomGraphsGiveTheSequentialValues) {
  const std::string name = MemoryMachine().space_name(), tight = name + "=6K";  // six of the data
  for (int round = 0; round < 24; ++round) {
    const char *const workers[] = {"1", "2", "4"};
    MemoryMachine m(round & 1 ? Pairs{{"limits", tight.c_str()}, {"stream.units", "2"}} : Pairs{{"stream.units", "2"}, {"window", round & 2 ? "16" : "2048"}}, workers[round % 3]);
    constexpr int kData = 24, kCells = 128;
    std::vector<std::vector<uint64_t>> memory(kData, std::vector<uint64_t>(kCells));
    std::vector<uint64_t> want(kData);
    std::vector<consort_data_id> x;
    for (int i = 0; i < kData; ++i) {
      std::fill(memory[i].begin(), memory[i].end(), want[i] = static_cast<uint64_t>(i) + 1);
      x.push_back(vector_of(m, memory[i].data(), kCells, 8));
    }
    const auto body = [](const consort_call &c) {
      uint64_t h = c.args[0].scalar;
      for (uint32_t i = 0; i < c.nviews; ++i) h = h * 6364136223846793005u + pointer<uint64_t>(c, i)[i];
      for (int k = 0; k < kCells; ++k) pointer<uint64_t>(c, 0)[k] = h;
      return CONSORT_OK;
    };
    const consort_codelet_id codelets[] = {m.on("cpu", nullptr, body), m.on("stream", nullptr, body), m.on("cpu", "stream", body)};
    std::mt19937 random(round);
    for (uint64_t t = 0; t < 500; ++t) {
      const uint32_t n = 1 + random() % 3, first = random() % kData;
      Desc task(codelets[random() % 3]);
      uint64_t h = t;
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t k = (first + i * 7) % kData;
        i ? task.r(x[k]) : task.rw(x[k]);
        h = h * 6364136223846793005u + want[k];
      }
      want[first] = h;
      task.arg(t).must(m);
      if (random() % 40 == 0) {
        consort_hold hold;
        const uint32_t k = random() % kData;
        ASSERT_OK(consort_acquire(m, x[k], CONSORT_M_R, kLong, &hold));
        ASSERT_EQ(memory[k][kCells - 1], want[k]);
        ASSERT_OK(consort_release(m, hold));
      }
    }
    ASSERT_OK(consort_wait_all(m, kLong, 0)) << "round " << round;
    for (int i = 0; i < kData; ++i) {
      ASSERT_OK(consort_unregister(m, x[i]));
      ASSERT_EQ(memory[i][0], want[i]) << "round " << round << ", datum " << i;
      ASSERT_EQ(memory[i][kCells - 1], want[i]);
    }
  }
}

}  // namespace
