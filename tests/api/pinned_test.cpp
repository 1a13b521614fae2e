// consort_malloc, consort_free: host memory that devices copy from and to.
#include <consort/pinned.h>

#include "harness.hpp"

namespace {

using namespace consort_test;

const Pairs kWithDevice = {{"drivers", "cpu, sim"}, {"cpu.topology", kFourCores}, {"workers", "1"}, {"sim.devices", "2"},
                           {"sim.latency", "1us"}};

TEST(PinnedMemory, DevicesCopyFromAndToIt) {
  Rt rt(kWithDevice);
  void *p = nullptr;
  ASSERT_OK(consort_malloc(rt, 1 << 20, CONSORT_MALLOC_PINNED | CONSORT_MALLOC_ZERO, &p));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 4096, 0u);
  auto *x = static_cast<int *>(p);
  for (int i = 0; i < 1 << 18; ++i) ASSERT_EQ(x[i], 0);
  for (int i = 0; i < 1 << 18; ++i) x[i] = i;
  consort_data_id d{0};
  ASSERT_OK(consort_register_vector(rt, x, 1 << 18, sizeof(int), &d));
  Body twice = [](const consort_call &c) {
    int *v = pointer<int>(c, 0);
    for (int i = 0; i < 1 << 18; ++i) v[i] *= 2;
    return consort_status{CONSORT_OK};
  };
  const consort_impl impls[] = {{"gpu", run_body, &twice, nullptr, nullptr, nullptr, nullptr, 0},
                                {"cpu", run_body, &twice, nullptr, nullptr, nullptr, nullptr, 0}};
  const auto c = codelet_of(rt, "twice", impls);
  const consort_use use{d, CONSORT_M_RW, 0};
  for (uint32_t worker = 0; worker < 3; ++worker) {  // a core and both devices
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = c;
    t.uses = &use;
    t.nuses = 1;
    t.worker = worker;
    ASSERT_OK(consort_submit(rt, &t, nullptr));
  }
  ASSERT_OK(consort_unregister(rt, d));
  for (int i = 0; i < 1 << 18; ++i) ASSERT_EQ(x[i], 8 * i);
  EXPECT_OK(consort_free(rt, p));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_free(rt, p), "given back already");
}

TEST(PinnedMemory, PinRegistersWithEachDevice) {
  Rt rt(kWithDevice);
  std::vector<int> x(1 << 18, 21);
  uint32_t n = 99;
  ASSERT_OK(consort_pin(rt, x.data(), x.size() * sizeof(int), &n));
  EXPECT_EQ(n, 2u);
  consort_data_id d{0};
  ASSERT_OK(consort_register_vector(rt, x.data(), x.size(), sizeof(int), &d));
  Body twice = [](const consort_call &c) {
    for (int i = 0; i < 1 << 18; ++i) pointer<int>(c, 0)[i] *= 2;
    return consort_status{CONSORT_OK};
  };
  const consort_impl impls[] = {{"gpu", run_body, &twice, nullptr, nullptr, nullptr, nullptr, 0},
                                {"cpu", run_body, &twice, nullptr, nullptr, nullptr, nullptr, 0}};
  Desc(codelet_of(rt, "twice", impls)).rw(d).on(1).must(rt);
  ASSERT_OK(consort_unregister(rt, d));
  for (const int v : x) ASSERT_EQ(v, 42);
  EXPECT_OK(consort_unpin(rt, x.data()));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unpin(rt, x.data()), "unpinned already");
  EXPECT_OK(consort_pin(rt, x.data(), 4, nullptr));  // the stop unpins the rest
}

TEST(PinnedMemory, PinWithoutDevicesSucceeds) {
  Rt rt({{"drivers", "cpu"}, {"cpu.topology", kFourCores}, {"workers", "1"}});
  int x = 0;
  uint32_t n = 99;
  EXPECT_OK(consort_pin(rt, &x, sizeof x, &n));
  EXPECT_EQ(n, 0u);
  EXPECT_OK(consort_unpin(rt, &x));
}

TEST(PinnedMemory, RefusesOverlappingPins) {
  Rt rt(kWithDevice);
  std::vector<char> x(100);
  void *p = nullptr;
  ASSERT_OK(consort_malloc(rt, 100, 0, &p));
  ASSERT_OK(consort_pin(rt, &x[40], 20, nullptr));
  uint32_t n = 99;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, &x[0], 41, &n), "41 bytes", "pinned already");
  EXPECT_EQ(n, 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, &x[59], 1, nullptr), "pinned already");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, p, 1, nullptr), "consort_malloc()");
  EXPECT_OK(consort_pin(rt, &x[0], 40, nullptr));
  EXPECT_OK(consort_pin(rt, &x[60], 40, nullptr));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unpin(rt, &x[41]), "no", "begins");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unpin(rt, p), "consort_pin()");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_free(rt, &x[0]), "did not come from consort_malloc()");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, nullptr, 1, nullptr), "no buffer");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, &x[0], 0, nullptr), "no buffer");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_pin(rt, &x[0], UINT64_MAX, nullptr), "no buffer");
  EXPECT_OK(consort_unpin(rt, nullptr));
  EXPECT_OK(consort_free(rt, p));
}

TEST(PinnedMemory, MallocWithoutDevicesIsOrdinaryMemory) {
  Rt rt({{"drivers", "cpu"}, {"cpu.topology", kFourCores}, {"workers", "1"}});
  void *p = nullptr;
  ASSERT_OK(consort_malloc(rt, 100, 0, &p));
  std::memset(p, 1, 100);
  EXPECT_OK(consort_free(rt, p));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_malloc(rt, 100, CONSORT_MALLOC_PINNED, &p), "no driver here offers any",
              "leave CONSORT_MALLOC_PINNED out");
  EXPECT_EQ(p, nullptr);
}

TEST(PinnedMemory, RefusesBadArguments) {
  Rt rt(kWithDevice);
  void *p = &rt;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_malloc(rt, 1, 0, nullptr), "out is NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_malloc(rt, 0, 0, &p), "0 bytes");
  EXPECT_EQ(p, nullptr);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_malloc(rt, 1, 64, &p), "0x40", "CONSORT_MALLOC_ZERO");
  EXPECT_LT(consort_malloc(nullptr, 1, 0, &p), 0);
  EXPECT_OK(consort_free(rt, nullptr));
  int other = 0;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_free(rt, &other), "did not come from consort_malloc()");
}

TEST(PinnedMemory, StopFreesRemainingBlocks) {  // the simulated device reports leaked blocks
  static std::vector<std::string> said;
  said.clear();
  consort_settings s = CONSORT_SETTINGS_INIT;
  Pairs pairs = kWithDevice;
  pairs.push_back({"log", "debug"});
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.log = [](void *, int32_t, const char *text) { said.push_back(text); };
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&s, &rt));
  void *p = nullptr;
  for (int i = 0; i < 5; ++i) ASSERT_OK(consort_malloc(rt, 1000 + static_cast<uint64_t>(i), 0, &p));
  ASSERT_OK(consort_stop(rt));
  for (const auto &line : said) EXPECT_EQ(line.find("were not freed"), std::string::npos) << line;
}

TEST(PinnedMemory, ConcurrentMallocAndFree) {
  Rt rt(kWithDevice);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&rt, t] {
      for (int i = 0; i < 50; ++i) {
        void *p = nullptr;
        EXPECT_OK(consort_malloc(rt, 4096, 0, &p));
        if (p) std::memset(p, t, 4096);
        EXPECT_OK(consort_free(rt, p));
      }
    });
  for (auto &t : threads) t.join();
}

}  // namespace
