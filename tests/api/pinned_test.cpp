// consort_malloc, consort_free: host memory that devices copy from and to.
#include <consort/pinned.h>

#include "harness.hpp"

namespace {

using namespace consort_test;

const Pairs kWithDevice = {{"drivers", "cpu, sim"}, {"cpu.topology", kFourCores}, {"workers", "1"}, {"sim.devices", "2"},
                           {"sim.latency", "1us"}};

TEST(Pinned, ADeviceCopiesFromAndToIt) {
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
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "twice";
  desc.impls = impls;
  desc.nimpls = 2;
  consort_codelet_id c{0};
  ASSERT_OK(consort_codelet_add(rt, &desc, &c));
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

TEST(Pinned, WithoutADeviceThereIsOrdinaryMemory) {
  Rt rt({{"drivers", "cpu"}, {"cpu.topology", kFourCores}, {"workers", "1"}});
  void *p = nullptr;
  ASSERT_OK(consort_malloc(rt, 100, 0, &p));
  std::memset(p, 1, 100);
  EXPECT_OK(consort_free(rt, p));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_malloc(rt, 100, CONSORT_MALLOC_PINNED, &p), "no driver here offers any",
              "leave CONSORT_MALLOC_PINNED out");
  EXPECT_EQ(p, nullptr);
}

TEST(Pinned, BadInput) {
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

TEST(Pinned, WhatIsLeftIsGivenBackAtTheEnd) {  // the simulated device tells of what nobody freed
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
  for (const auto &line : said) EXPECT_EQ(line.find("nobody freed"), std::string::npos) << line;
}

TEST(Pinned, FromManyThreads) {
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
