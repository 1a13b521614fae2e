// Whole programs on Level Zero devices, which are the double of its library. Kernels from SPIR-V stand beside functions
// for cores. Data go where tasks run, values come back, a device is lost.
#include "api/harness.hpp"

#if !defined(CONSORT_ZE_DOUBLE)
TEST(LevelZeroPrograms, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no level_zero/ze_api.h"; }
#else
#include <consort/layouts.h>
#include <consort/memory.h>

#include "drivers/level_zero_machine.hpp"

namespace consort_test {
namespace {

struct Program {
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> cores, devices;
  std::vector<std::unique_ptr<Body>> bodies;

  Program() {
    rt = std::make_unique<Rt>(Pairs{{"drivers", "cpu,level_zero"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"},
                                    {"level_zero.library", CONSORT_ZE_DOUBLE}, {"level_zero.cache", "off"}});
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info about{};
      about.size = sizeof about;
      need(consort_get_worker(*rt, w, &about), "worker");
      (about.klass == std::string("level_zero") ? devices : cores).push_back(w);
    }
  }
  operator consort_runtime *() const { return *rt; }
  consort_codelet_id both(const char *entry, Body core) {
    bodies.push_back(std::make_unique<Body>(std::move(core)));
    const consort_impl impls[] = {
        {"cpu", run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
        {"level_zero", nullptr, nullptr, nullptr, "spirv", reinterpret_cast<const char *>(kKernels), entry, sizeof kKernels}};
    return codelet_of(*rt, entry, impls);
  }
  consort_codelet_id scale() {
    return both("plain", [](const consort_call &c) {
      for (uint64_t i = 0; i < length(c, 0); ++i) pointer<float>(c, 0)[i] *= consort_test::value<float>(c, 0);
      return CONSORT_OK;
    });
  }
  consort_codelet_id axpy() {
    return both("axpy", [](const consort_call &c) {
      for (uint64_t i = 0; i < length(c, 1); ++i) pointer<float>(c, 1)[i] += consort_test::value<float>(c, 0) * pointer<float>(c, 0)[i];
      return CONSORT_OK;
    });
  }
  static uint64_t length(const consort_call &c, uint32_t i) { return static_cast<const consort_vector_view *>(c.views[i])->n; }
};

using LevelZeroPrograms = LevelZero;

TEST_F(LevelZeroPrograms, RunOnCoresAndDevices) {
  Program m;
  ASSERT_EQ(m.devices.size(), 2u);
  const auto scale = m.scale(), axpy = m.axpy();
  std::vector<float> v(1000, 1), w(1000, 2), want_v = v, want_w = w;
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float)), y = vector_of(m, w.data(), w.size(), sizeof(float));
  const uint32_t all[] = {m.devices[0], m.cores[0], m.devices[1], m.devices[0], m.cores[1]};
  for (uint32_t i = 0; i < 40; ++i) {
    const float a = i % 2 ? 2.f : 0.5f;
    Desc(scale).rw(x).arg(a).on(all[i % 5]).must(m);
    Desc(axpy).r(x).rw(y).arg(0.25f).on(all[i * 3 % 5]).must(m);
    for (float &e : want_v) e *= a;
    for (size_t k = 0; k < v.size(); ++k) want_w[k] += 0.25f * want_v[k];
  }
  ASSERT_OK(consort_unregister(m, x));
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(v, want_v);
  EXPECT_EQ(w, want_w);
}

// The device may be lost at any command: contents that exist elsewhere are right, lost contents are reported.
TEST_F(LevelZeroPrograms, LostDevicesTasksMoveOrAreReported) {
  for (const int nth : {1, 3, 8, 20}) {
    Double::get().configure("devices=1,lost=0:" + std::to_string(nth));
    Program m;
    ASSERT_EQ(m.devices.size(), 1u);
    const auto scale = m.scale();
    std::vector<float> v(256, 1);
    const auto x = vector_of(m, v.data(), v.size(), sizeof(float), "pressure");
    for (int i = 0; i < 30; ++i) Desc(scale).rw(x).arg(2.f).must(m);
    const consort_status s = consort_wait_all(m, kLong, 0);
    if (s == CONSORT_OK) {
      ASSERT_OK(consort_unregister(m, x));
      EXPECT_EQ(v, std::vector<float>(256, static_cast<float>(1 << 30))) << nth;
    } else {
      const std::string said = consort_error();
      EXPECT_TRUE(said.find("DEVICE_LOST") != said.npos || said.find("lost") != said.npos) << nth << ": " << said;
      EXPECT_NE(said.find("level_zero0"), said.npos) << nth << ": " << said;
      ASSERT_OK(consort_invalidate(m, x));
      ASSERT_OK(consort_unregister(m, x));
    }
  }
}

}  // namespace
}  // namespace consort_test
#endif
