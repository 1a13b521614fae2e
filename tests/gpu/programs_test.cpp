// Whole programs on cores and two GPUs: kernels from CUDA C, data that go to and fro, memory that is the application's, a
// device that is lost. Over the double of the vendor's library, which executes for real and injects faults.
#include <consort/memory.h>

#include <random>

#include "gpu/programs.hpp"

namespace consort_test {
namespace {

struct GpuPrograms : GpuTest {};

TEST_P(GpuPrograms, VectorsGoToAndFro) {
  Machine m(GetParam());
  if (!on_real_gpu()) {
    EXPECT_EQ(m.devices.size(), 2u);
  }
  const auto scale = m.scale();
  std::vector<float> v(1000, 1), w(1000, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float)), y = vector_of(m, w.data(), w.size(), sizeof(float));
  for (uint32_t i = 0; i < 60; ++i) {
    Desc(scale).rw(x).arg(i % 2 ? 4.f : 0.5f).on(i % m.workers()).must(m);
    Desc(scale).rw(y).arg(i % 2 ? 4.f : 0.5f).must(m);
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (uint32_t d : m.devices) EXPECT_GE(m.worker(d).tasks, 60 / m.workers());
  ASSERT_OK(consort_unregister(m, x));
  ASSERT_OK(consort_unregister(m, y));
  for (float e : v) ASSERT_EQ(e, 1 << 30);
  for (float e : w) ASSERT_EQ(e, 1 << 30);
}

// Memory of the device that is the application's becomes the home of a datum: nothing is copied, and what tasks write is there.
TEST_P(GpuPrograms, MemoryOfTheApplicationsIsAHome) {
  Machine m(GetParam());
  const auto scale = m.scale();
  // A pointer that an allocation on the device answered: here, a datum's own.
  std::vector<float> v(256, 3);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  std::atomic<uint64_t> at{0};
  const auto look = m.function("look", [&](const consort_call &c) {
    at = vec(c, 0).addr.base + vec(c, 0).addr.off;
    return CONSORT_OK;
  }, 0);
  Desc(scale).rw(x).arg(2.f).on(m.devices[0]).must(m);
  ASSERT_OK(consort_task_wait(m, Desc(look).r(x).on(m.devices[0]).must(m), kLong, 0));
  ASSERT_NE(at, 0u);
  const uint32_t space = m.worker(m.devices[0]).space;
  const consort_vector_args a{reinterpret_cast<void *>(at.load()), 256, 4};
  const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, nullptr};
  consort_data_id home{0};
  ASSERT_OK(consort_register_in(m, &d, space, &home));
  Desc(scale).rw(home).arg(10.f).on(m.devices[0]).must(m);
  Desc(scale).rw(home).arg(10.f).on(m.cores[0]).must(m);
  ASSERT_OK(consort_unregister(m, home)) << "it comes home";
  ASSERT_OK(consort_task_wait(m, Desc(scale).rw(x).arg(1.f).on(m.devices[0]).must(m), kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  for (float e : v) ASSERT_EQ(e, 600.f);
  int here = 0;
  const consort_vector_args wrong{&here, 1, 4};
  const consort_data_desc bad{sizeof bad, 0, "vector", &wrong, sizeof wrong, nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &bad, space, &home), "none of this device's memory");
}

TEST_P(GpuPrograms, FunctionsGetTheStreamWithItsContextCurrent) {
  Machine m(GetParam());
  std::vector<float> v(64, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  std::atomic<int> good{0};
  const auto looks = [&](const consort_call &c) {
    good += c.native_queue != nullptr;
    return CONSORT_OK;
  };
  const auto async = m.function("async", looks, CONSORT_CL_ASYNC), plain = m.function("plain", looks, 0);
  for (int i = 0; i < 4; ++i) Desc(i % 2 ? async : plain).rw(x).on(m.devices[0]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(good, 4);
  ASSERT_OK(consort_unregister(m, x));
}

TEST_P(GpuPrograms, WhatDoesNotBuildGoesToTheCores) {
  Machine m(GetParam(), {{"log", "error"}});
  std::vector<float> v(64, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  const auto missing = m.codelet("missing", [](const consort_call &c) {
    for (uint64_t i = 0; i < vec(c, 0).n; ++i) pointer<float>(c, 0)[i] += 1;
    return CONSORT_OK;
  }, "no_such_kernel");
  for (int i = 0; i < 10; ++i) Desc(missing).rw(x).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(m, Desc(missing).rw(x).on(m.devices[0]).must(m), kLong, 0), "no_such_kernel");
  (void)consort_wait_all(m, kLong, 0);
  ASSERT_OK(consort_invalidate(m, x));
  ASSERT_OK(consort_unregister(m, x));
}

// -- a device that is lost --------------------------------------------------------------------------------------------

TEST_P(GpuPrograms, TasksOfALostDeviceFinishElsewhere) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  {
    Machine m(GetParam(), {{"log", "error"}});
    const auto mix = m.mix();
    constexpr uint32_t kData = 8, kRounds = 6;
    std::vector<uint32_t> v(512, 1);
    std::vector<std::vector<uint32_t>> w(kData, std::vector<uint32_t>(512, 2));
    const auto x = vector_of(m, v.data(), 512, 4);
    std::vector<consort_data_id> y;
    for (auto &i : w) y.push_back(vector_of(m, i.data(), 512, 4));
    for (uint32_t i = 0; i < kData; ++i) {
      Desc(mix).r(x).rw(y[i]).arg(0u).on(m.devices[0]).must(m);
      consort_hold hold;
      ASSERT_OK(consort_acquire(m, y[i], CONSORT_M_R, kLong, &hold)) << "the host has it now, too";
      ASSERT_OK(consort_release(m, hold));
    }
    d.lose(0);
    // All data are valid in the host's memory: whatever was to run there runs on what is left.
    for (uint32_t k = 0; k < kRounds; ++k)
      for (uint32_t i = 0; i < kData; ++i) Desc(mix).r(x).rw(y[i]).arg(0u).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    for (const auto i : y) ASSERT_OK(consort_unregister(m, i));
    ASSERT_OK(consort_unregister(m, x));
    uint32_t want = 2;
    for (uint32_t i = 0; i < 1 + kRounds; ++i) want = want * 3 + 1;
    for (const auto &one : w)
      for (uint32_t e : one) ASSERT_EQ(e, want);
  }
  d.set(words());
}

TEST_P(GpuPrograms, WhatOnlyALostDeviceHadIsNamed) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  {
    Machine m(GetParam(), {{"log", "error"}});
    const auto mix = m.mix();
    std::vector<uint32_t> v(512, 1), w(512, 2);
    const auto x = vector_of(m, v.data(), 512, 4), y = vector_of(m, w.data(), 512, 4, "pressure");
    ASSERT_OK(consort_task_wait(m, Desc(mix).r(x).rw(y).arg(0u).on(m.devices[0]).must(m), kLong, 0));
    d.lose(0);
    const auto next = Desc(mix).r(x).rw(y).arg(0u).name("step 2").on(m.cores[0]).must(m);
    const Answer a = consort_task_wait(m, next, kLong, 0);
    EXPECT_TRUE(a.status == CONSORT_E_DEVICE_LOST || a.status == CONSORT_E_POISONED) << consort_status_name(a.status) << a.text;
    EXPECT_NE(a.text.find("pressure"), std::string::npos) << a.text;
    (void)consort_wait_all(m, kLong, 0);
    ASSERT_OK(consort_invalidate(m, y));
    ASSERT_OK(consort_unregister(m, y));
    ASSERT_OK(consort_unregister(m, x));
  }
  d.set(words());
}

// -- random programs --------------------------------------------------------------------------------------------------

struct Program {
  uint32_t seed;
  bool faults = false;
};

void random_program(const Vendor &vendor, Program p, std::vector<std::pair<std::string, std::string>> more) {
  more.emplace_back("log", "error");
  Machine m(vendor, more, p.faults);
  if (m.devices.empty()) {  // a fault hit it while it was opened
    ASSERT_TRUE(m.rt || m.failure.find(vendor.driver) != std::string::npos) << m.failure;
    return;
  }
  const auto mix = m.mix();
  std::mt19937 rng(p.seed);
  constexpr uint32_t kData = 6, kWords = 256, kTasks = 40;
  std::vector<std::vector<uint32_t>> v(kData, std::vector<uint32_t>(kWords, 5));
  auto want = v;
  std::vector<consort_data_id> x;
  for (auto &i : v) x.push_back(vector_of(m, i.data(), kWords, 4));
  struct Step { uint32_t from, to, a; consort_task_id task; };
  std::vector<Step> steps;
  for (uint32_t i = 0; i < kTasks; ++i) {
    const uint32_t to = rng() % kData, from = (to + 1 + rng() % (kData - 1)) % kData, a = rng() % 100;
    consort_task_id t{0};
    if (Desc(mix).r(x[from]).rw(x[to]).arg(a).on(rng() % 3 ? rng() % m.workers() : CONSORT_NONE).to(m, &t) < 0) {
      ASSERT_TRUE(p.faults) << consort_error();
      continue;
    }
    steps.push_back({from, to, a, t});
  }
  std::vector<bool> bad(kData, false);
  for (const Step &s : steps) {
    const Answer a = consort_task_wait(m, s.task, kLong, 0);
    ASSERT_NE(a.status, CONSORT_E_TIMEOUT) << "seed " << p.seed;
    ASSERT_TRUE(p.faults || a.status == CONSORT_OK) << "seed " << p.seed << ": " << a.text;
    if (a.status < 0) {
      bad[s.to] = true;
      continue;
    }
    ASSERT_FALSE(bad[s.to] || bad[s.from]) << "seed " << p.seed << ": it ran on what another failed to write";
    for (uint32_t k = 0; k < kWords; ++k) want[s.to][k] = want[s.to][k] * 3 + want[s.from][k] + s.a;
  }
  for (uint32_t i = 0; i < kData; ++i) {
    consort_hold hold;
    const Answer a = consort_acquire(m, x[i], CONSORT_M_R, kLong, &hold);
    ASSERT_NE(a.status, CONSORT_E_TIMEOUT) << "seed " << p.seed;
    ASSERT_TRUE(p.faults || a.status == CONSORT_OK) << "seed " << p.seed << ": " << a.text;
    if (a.status >= 0) {
      ASSERT_FALSE(bad[i]) << "seed " << p.seed << ": what was not written well is given out";
      ASSERT_EQ(v[i], want[i]) << "seed " << p.seed << ", datum " << i;
      ASSERT_OK(consort_release(m, hold));
    } else {
      (void)consort_invalidate(m, x[i]);
    }
    (void)consort_unregister(m, x[i]);
  }
}

// Texts that a device has not seen before, while others are loaded: each codelet has its own kernels.
TEST_P(GpuPrograms, EachTextHasItsOwnKernels) {
  Machine m(GetParam());
  std::vector<uint32_t> v(64, 0), want(64, 0);
  const consort_data_id x = vector_of(m, v.data(), 64, 4);
  std::vector<std::string> texts;
  for (int k = 0; k < 12; ++k)
    texts.push_back("extern \"C\" __global__ void add_" + std::to_string(k) + "(unsigned *x, unsigned long long n) {\n"
                    "  if (threadIdx.x < n) x[threadIdx.x] += " + std::to_string(1 << k) + ";\n}\n");
  for (int k = 0; k < 12; ++k) {
    const std::string entry = "add_" + std::to_string(k);
    std::vector<consort_impl> impls = {{m.vendor.driver, nullptr, nullptr, nullptr, m.vendor.format, texts[k].c_str(), entry.c_str(), 0}};
    const consort_codelet_id add = codelet_of(m, entry.c_str(), impls);
    Desc(add).rw(x).must(m);
    for (uint32_t &one : want) one += 1u << k;
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(v, want);
}

TEST_P(GpuPrograms, Random) {
  for (uint32_t seed = 1; seed <= (full() ? 200u : 4u); ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_program(GetParam(), {seed}, {}));
    ASSERT_NO_FATAL_FAILURE(random_program(GetParam(), {seed}, {{".limit", "8K"}, {".depth", std::to_string(1 + seed % 4)}}));
  }
}

// Functions of the library that fail at one call or another, operations that do, memory that ends, a device that is lost:
// every program ends, what did not fail has its value, and nothing of the library's is left.
TEST_P(GpuPrograms, Campaign) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  const char *one = std::getenv("TEST_SEED");
  const uint32_t n = full() ? 10'000 : 60 / kSlow;
  for (uint32_t seed = one ? static_cast<uint32_t>(std::atoi(one)) : 1, end = one ? seed + 1 : n + 1; seed < end; ++seed) {
    std::mt19937 rng(seed * 7919 + 1);
    const auto up_to = [&](uint32_t most) { return rng() % (most + 1); };
    static constexpr const char *functions[] = {"MemcpyHtoDAsync", "MemcpyDtoHAsync", "LaunchKernel", "EventRecord", "EventCreate",
                                                "StreamWaitEvent", "MemAllocFromPoolAsync", "MemHostRegister", "ModuleLoadDataEx",
                                                "StreamAddCallback", "MemcpyPeerAsync", "CtxPushCurrent"};
    static constexpr int codes[] = {1, 2, 999, 700, 719, 801};
    std::string w = "devices=2,quiet=1,memory=" + std::to_string(1 + up_to(3)) + "M,seed=" + std::to_string(seed);
    if (up_to(1)) w += ",jitter=" + std::to_string(up_to(50));
    if (!up_to(2)) w += ",peer=none";
    for (uint32_t k = up_to(2); k > 0; --k)
      w += std::string(",fail=cu") + functions[up_to(std::size(functions) - 1)] + ":" + std::to_string(1 + up_to(40)) + ":" +
           std::to_string(codes[up_to(std::size(codes) - 1)]);
    if (!up_to(2)) w += ",lost=" + std::to_string(up_to(1)) + ":" + std::to_string(5 + up_to(80));
    if (!up_to(3)) w += ",oom=" + std::to_string(1 + up_to(12));
    d.set(w);
    SCOPED_TRACE(w);
    ASSERT_NO_FATAL_FAILURE(random_program(GetParam(), {seed, true}, {{".limit", up_to(1) ? "8K" : "0"}}));
    ASSERT_EQ(d.live(), 0u) << "seed " << seed << ": left alive";
  }
  d.set(words());
}

CONSORT_GPU_VENDORS(GpuPrograms);

}  // namespace
}  // namespace consort_test
