// Cores, devices of a GPU driver and OpenCL devices at work together (SCH-18). A codelet has an implementation for
// each, and its tasks are bound to no worker, under one policy after the other. Over the double of the vendor's library
// and PoCL.
#include "gpu/programs.hpp"

namespace consort_test {
namespace {

#ifndef CONSORT_HAS_OPENCL
TEST(GpuBesideOpenCl, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else
constexpr char kText[] =
    "__kernel void scale(__global float *x, ulong n, float a) { if (get_global_id(0) < n) x[get_global_id(0)] *= a; }\n";

struct GpuBesideOpenCl : GpuTest {};

struct Together {
  std::unique_ptr<Rt> rt;
  std::string failure;
  std::vector<std::vector<uint32_t>> workers{3};  // of cores, of the GPU driver, of OpenCL

  Together(const Vendor &v, const char *policy, const char *samples = "10") {
    const std::string name = v.driver, drivers = "cpu,opencl," + name, library = name + ".library", compiler = name + ".compiler";
    consort_runtime *started = nullptr;
    const Pairs pairs = {{"drivers", drivers.c_str()}, {library.c_str(), v.library}, {compiler.c_str(), v.compiler},
                         {"cpu.topology", kFourCores}, {"cpu.workers", "2"}, {"opencl.types", "cpu"}, {"opencl.platforms", "portable"},
                         {"scheduler", policy}, {"calibrate_samples", samples},
                         {"keep_models", "no"}, {"log", "error"}};
    if (start(pairs, &started) < 0) {
      failure = consort_error();
      return;
    }
    rt = std::make_unique<Rt>(started);
    for (uint32_t w = 0; w < info().nworkers; ++w) {
      const std::string klass = worker(w).klass;
      workers[klass == "cpu" ? 0 : klass == name ? 1 : 2].push_back(w);
    }
    if (workers[2].empty()) failure = "no OpenCL device here: install pocl-opencl-icd";
  }
  consort_info info() const {
    consort_info i{};
    i.size = sizeof i;
    need(consort_get_info(*rt, &i), "info");
    return i;
  }
  consort_worker_info worker(uint32_t w) const {
    consort_worker_info i{};
    i.size = sizeof i;
    need(consort_get_worker(*rt, w, &i), "worker");
    return i;
  }
  // "scale" for all three; a core sleeps as well.
  consort_codelet_id scale(const Vendor &v, std::chrono::milliseconds on_core) {
    core_ = [on_core](const consort_call &c) {
      for (uint64_t i = 0; i < vec(c, 0).n; ++i) pointer<float>(c, 0)[i] *= value<float>(c, 0);
      std::this_thread::sleep_for(on_core);  // nap: a core is slower than the devices
      return CONSORT_OK;
    };
    const consort_impl impls[] = {{"cpu", run_body, &core_, nullptr, nullptr, nullptr, nullptr, 0},
                                  {v.driver, nullptr, nullptr, nullptr, v.format, kKernels, "scale", 0},
                                  {"opencl", nullptr, nullptr, nullptr, "cl", kText, "scale", 0}};
    return codelet_of(*rt, "scale", impls);
  }
  uint64_t ran(size_t kind) const {
    uint64_t n = 0;
    for (const uint32_t w : workers[kind]) n += worker(w).tasks;
    return n;
  }

 private:
  Body core_;
};

// Settings of PoCL.
void set_environment() {
  setenv("POCL_DEVICES", "pthread", 0);
  setenv("POCL_MEMORY_LIMIT", "1", 0);  // GiB
}

TEST_P(GpuBesideOpenCl, EachClassRunsTasksUnderEachPolicy) {
  CONSORT_NEEDS_DOUBLE;
  set_environment();
  for (const char *policy : {"eager", "lws", "dmda"}) {
    SCOPED_TRACE(policy);
    Together t(GetParam(), policy);
    if (!t.failure.empty()) GTEST_SKIP() << t.failure;
    ASSERT_EQ(t.workers[1].size(), 2u);
    const auto scale = t.scale(GetParam(), 2ms);  // the devices have time to take theirs
    constexpr size_t kData = 48, kEach = 5;
    std::vector<std::vector<float>> v(kData, std::vector<float>(256, 1));
    std::vector<consort_data_id> x;
    for (auto &one : v) x.push_back(vector_of(*t.rt, one.data(), one.size(), sizeof(float)));
    int rounds = 0;  // the first kernels are compiled, which takes a while: cores alone may take the first rounds
    const auto before = std::chrono::steady_clock::now();
    while ((t.ran(0) < kEach || t.ran(1) < kEach || t.ran(2) < kEach) && std::chrono::steady_clock::now() - before < 60s * kSlow) {
      for (const auto d : x) Desc(scale).rw(d).arg(rounds % 2 ? 4.f : 0.25f).must(*t.rt);
      ASSERT_OK(consort_wait_all(*t.rt, kLong, CONSORT_WAIT_NO_HELP));
      ++rounds;
    }
    EXPECT_GE(t.ran(0), kEach) << "cores";
    EXPECT_GE(t.ran(1), kEach) << GetParam().driver;
    EXPECT_GE(t.ran(2), kEach) << "OpenCL";
    EXPECT_EQ(t.ran(0) + t.ran(1) + t.ran(2), kData * static_cast<size_t>(rounds)) << "each task once";
    for (const auto d : x) ASSERT_OK(consort_unregister(*t.rt, d));
    for (const auto &one : v)
      for (const float e : one) ASSERT_EQ(e, rounds % 2 ? 0.25f : 1.f);
  }
}

// Models know the times of kernels, microseconds here, and not the cost of a launch on the host. Known tasks end sooner on
// the devices than one task on a core: cores take the tasks that calibrate them, and then no more.
TEST_P(GpuBesideOpenCl, HeteroprioLeavesCoresIdleWhereTheyDelayTheEnd) {
  CONSORT_NEEDS_DOUBLE;
  set_environment();
  Together t(GetParam(), "heteroprio", "3");
  if (!t.failure.empty()) GTEST_SKIP() << t.failure;
  const auto scale = t.scale(GetParam(), 20ms);
  std::vector<std::vector<float>> v(16, std::vector<float>(256, 1));
  std::vector<consort_data_id> x;
  for (auto &one : v) x.push_back(vector_of(*t.rt, one.data(), one.size(), sizeof(float)));
  int rounds = 0;
  const auto round = [&] {
    for (const auto d : x) Desc(scale).rw(d).arg(rounds % 2 ? 4.f : 0.25f).must(*t.rt);
    need(consort_wait_all(*t.rt, kLong, CONSORT_WAIT_NO_HELP), "wait");
    ++rounds;
  };
  const auto before = std::chrono::steady_clock::now();
  while ((t.ran(0) < 3 || t.ran(1) < 3 || t.ran(2) < 3) && std::chrono::steady_clock::now() - before < 60s * kSlow) round();
  const uint64_t measured = t.ran(0);
  EXPECT_GE(measured, 3u);
  EXPECT_LE(measured, 3u + 2 * 2) << "those that two cores had begun by then";
  for (int more = 0; more < 20; ++more) round();
  EXPECT_EQ(t.ran(0), measured);
  EXPECT_EQ(t.ran(0) + t.ran(1) + t.ran(2), x.size() * static_cast<size_t>(rounds)) << "each task once";
  for (const auto d : x) ASSERT_OK(consort_unregister(*t.rt, d));
}

CONSORT_GPU_VENDORS(GpuBesideOpenCl);
#endif

}  // namespace
}  // namespace consort_test
