// Whole programs on cores and two GPUs: kernels from CUDA C, data in both directions, memory of the application, a lost
// device. Over the double of the vendor's library, which executes for real and injects faults.
#include <consort/memory.h>

#include <map>
#include <random>

#include "gpu/programs.hpp"

namespace consort_test {
namespace {

struct GpuPrograms : GpuTest {
  static bool cuda() { return std::string(GetParam().driver) == "cuda"; }
  // A function of the library that the driver has taken: the double's, or the real one's.
  template <class... A>
  static int ask(const char *of_cuda, const char *of_hip, A... a) {
    static std::map<std::string, void *> libraries;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    void *&library = libraries[GetParam().driver];
    if (!library) library = dlopen(on_real_gpu() ? (cuda() ? "libcuda.so.1" : "libamdhip64.so") : GetParam().library, RTLD_NOW | RTLD_LOCAL);
    void *f = library ? dlsym(library, cuda() ? of_cuda : of_hip) : nullptr;
    return f ? reinterpret_cast<int (*)(A...)>(f)(a...) : -1;
  }
  // The number of the device that this thread is on; -1: on none.
  static int current_device() {
    int n = -1;
    return ask("cuCtxGetDevice", "hipGetDevice", &n) ? -1 : n;
  }
  static std::string current_name() {
    char text[256] = "";
    return ask("cuDeviceGetName", "hipDeviceGetName", text, int{sizeof text}, current_device()) ? "" : text;
  }
  // Of CUDA: the context of the call is that of its stream and of this thread. HIP has a device in its place.
  static bool is_current(const consort_call &c) {
    void *here = nullptr, *of_stream = nullptr;
    return !cuda() || (!ask("cuCtxGetCurrent", "", &here) && !ask("cuStreamGetCtx", "", c.native_queue, &of_stream) && here && here == of_stream &&
                       here == c.native_context);
  }
  static int device_of_worker(const Machine &m, uint32_t worker) {
    return static_cast<int>(std::find(m.devices.begin(), m.devices.end(), worker) - m.devices.begin());
  }
};

TEST_P(GpuPrograms, VectorsMoveBetweenCoresAndDevices) {
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

// Memory of the device that is the application's becomes the home of a datum: nothing is copied, and tasks write there.
TEST_P(GpuPrograms, ApplicationMemoryAsHome) {
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
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &bad, space, &home), "not in this device's memory");
}

TEST_P(GpuPrograms, FunctionsReceiveTheStreamAndContext) {
  Machine m(GetParam());
  std::vector<float> v(64, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  std::atomic<int> good{0};
  const auto looks = [&](const consort_call &c) {
    good += c.native_queue != nullptr && current_device() == device_of_worker(m, c.worker) && is_current(c);
    return CONSORT_OK;
  };
  const auto async = m.function("async", looks, CONSORT_CL_ASYNC), plain = m.function("plain", looks, 0);
  for (uint32_t i = 0; i < 4 * m.devices.size(); ++i) Desc(i % 2 ? async : plain).rw(x).on(m.devices[i / 4]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(good, static_cast<int>(4 * m.devices.size()));
  ASSERT_OK(consort_unregister(m, x));
}

// WRK-06: a kind of memory is the name of its domain, and flags for the access by its units.
TEST_P(GpuPrograms, SpacesDescribeTheirMemory) {
  Machine m(GetParam());
  const auto space_of = [&](uint32_t worker) {
    consort_space_info s{};
    s.size = sizeof s;
    need(consort_get_space(m, m.worker(worker).space, &s), "space");
    return s;
  };
  for (const uint32_t w : m.cores) {
    const auto s = space_of(w);
    EXPECT_STREQ(s.domain, "host");
    EXPECT_TRUE(s.flags & CONSORT_SP_CPU) << "cores read and write it";
    EXPECT_STREQ(s.driver, "cpu");
  }
  for (const uint32_t w : m.devices) {
    const auto s = space_of(w);
    EXPECT_STREQ(s.domain, GetParam().driver);
    EXPECT_FALSE(s.flags & CONSORT_SP_CPU);
    EXPECT_STREQ(s.driver, GetParam().driver);
    EXPECT_GT(s.capacity, 0u);
  }
}

// CUD-10: the numbers of a setting count the devices that the vendor's library shows, which its own variable may have
// hidden and ordered.
TEST_P(GpuPrograms, SelectsDevicesByNumberNameAndVariable) {
  CONSORT_NEEDS_DOUBLE;
  const char *const variable = cuda() ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES";
  const Double d(GetParam());
  struct Unset {
    const char *variable;
    ~Unset() { unsetenv(variable); }
  } unset{variable};
  const auto shown = [&](const char *visible) {
    visible ? setenv(variable, visible, 1) : unsetenv(variable);
    d.set("devices=4,memory=64M");
  };
  const auto taken = [&](const char *visible, const char *wanted) {  // the vendor's names, worker by worker
    shown(visible);
    std::vector<std::string> names;
    Machine m(GetParam(), {{".devices", wanted}});
    const auto x = token_of(m);
    const auto asks = m.function("asks", [&](const consort_call &) { return names.push_back(current_name()), CONSORT_OK; }, 0);
    for (const uint32_t w : m.devices) Desc(asks).rw(x).on(w).must(m);
    EXPECT_OK(consort_wait_all(m, kLong, 0));
    return names;
  };
  const auto named = [](std::initializer_list<int> numbers) {
    std::vector<std::string> names;
    for (const int n : numbers) names.push_back("Consort double " + std::to_string(n));
    return names;
  };
  EXPECT_EQ(taken(nullptr, ""), named({0, 1, 2, 3}));
  EXPECT_EQ(taken(nullptr, "2"), named({2}));
  EXPECT_EQ(taken(nullptr, "3,1"), named({1, 3})) << "in the library's order";
  EXPECT_EQ(taken(nullptr, "double 2"), named({2})) << "by a part of its name";
  EXPECT_EQ(taken("3,1", ""), named({3, 1}));
  EXPECT_EQ(taken("3,1", "0"), named({3})) << "the first that the library shows";
  EXPECT_EQ(taken("3,1", "double 1"), named({1}));
  const auto why_none = [&](const char *visible, const char *wanted) {
    shown(visible);
    return PluginHost(GetParam().driver, {{"library", GetParam().library}, {"cache", "off"}, {"devices", wanted}}).failure();
  };
  const std::string others = why_none("3,1", "2"), hidden = why_none("-1", "");
  EXPECT_NE(others.find("none selected by " + std::string(GetParam().driver) + ".devices: 0 \"Consort double 3\", 1 \"Consort double 1\""), std::string::npos) << others;
  EXPECT_NE(hidden.find(variable), std::string::npos) << hidden;
}

// CUD-04: a predicate queries the worker's device, and an implementation is ruled out on one of two.
TEST_P(GpuPrograms, PredicateMayQueryTheDevice) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  d.set("devices=2,memory=64M,sms=8:64");
  struct Asked {
    Machine m;
    int processors(uint32_t w) const {  // "cuda/sm_90/64sm"
      const std::string arch = m.worker(w).arch;
      return std::atoi(arch.c_str() + arch.rfind('/') + 1);
    }
  } a{Machine(GetParam())};
  ASSERT_EQ(a.m.devices.size(), 2u);
  EXPECT_EQ(a.processors(a.m.devices[0]), 8);
  EXPECT_EQ(a.processors(a.m.devices[1]), 64);
  std::mutex mutex;
  std::vector<std::pair<uint32_t, uint32_t>> ran;  // worker, implementation
  Body note = [&](const consort_call &c) {
    const std::lock_guard lock(mutex);
    return ran.emplace_back(c.worker, c.impl), CONSORT_OK;
  };
  const consort_impl impl = {GetParam().driver, run_body, &note, nullptr, nullptr, nullptr, nullptr, 0}, impls[] = {impl, impl};
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "wide or narrow", desc.impls = impls, desc.nimpls = 2, desc.nmodes = CONSORT_NONE, desc.can_execute_user = &a;
  desc.can_execute = [](void *user, uint32_t w, uint32_t i, consort_task_id) -> int32_t {
    return static_cast<const Asked *>(user)->processors(w) >= 32 || i == 1;  // the first is for wide devices
  };
  consort_codelet_id either{0}, wide{0};
  ASSERT_OK(consort_codelet_add(a.m, &desc, &either));
  desc.name = "wide", desc.nimpls = 1;
  ASSERT_OK(consort_codelet_add(a.m, &desc, &wide));
  for (int i = 0; i < 40; ++i) Desc(wide).must(a.m);
  ASSERT_OK(consort_wait_all(a.m, kLong, 0));
  ASSERT_EQ(ran.size(), 40u);
  for (const auto &[w, i] : ran) EXPECT_EQ(w, a.m.devices[1]);
  ran.clear();
  for (int i = 0; i < 40; ++i) Desc(either).on(a.m.devices[static_cast<size_t>(i) % 2]).must(a.m);
  ASSERT_OK(consort_wait_all(a.m, kLong, 0));
  ASSERT_EQ(ran.size(), 40u);
  for (const auto &[w, i] : ran) EXPECT_TRUE(i == 1u || w == a.m.devices[1]) << "worker " << w;  // a wide one may run both
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(wide).on(a.m.devices[0]).to(a.m), "wide");
}

TEST_P(GpuPrograms, UnbuildableKernelsFallBackToCores) {
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

TEST_P(GpuPrograms, LostDevicesTasksMove) {
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
    // All data are valid in the host's memory: tasks of the lost device run on other units.
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

TEST_P(GpuPrograms, DataLostWithADeviceAreNamed) {
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
    ASSERT_FALSE(bad[s.to] || bad[s.from]) << "seed " << p.seed << ": it ran on data that another failed to write";
    for (uint32_t k = 0; k < kWords; ++k) want[s.to][k] = want[s.to][k] * 3 + want[s.from][k] + s.a;
  }
  for (uint32_t i = 0; i < kData; ++i) {
    consort_hold hold;
    const Answer a = consort_acquire(m, x[i], CONSORT_M_R, kLong, &hold);
    ASSERT_NE(a.status, CONSORT_E_TIMEOUT) << "seed " << p.seed;
    ASSERT_TRUE(p.faults || a.status == CONSORT_OK) << "seed " << p.seed << ": " << a.text;
    if (a.status >= 0) {
      ASSERT_FALSE(bad[i]) << "seed " << p.seed << ": data of a failed write were read";
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

TEST_P(GpuPrograms, RandomProgramsGiveTheSequentialValues) {
  for (uint32_t seed = 1; seed <= (full() ? 200u : 4u); ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_program(GetParam(), {seed}, {}));
    ASSERT_NO_FATAL_FAILURE(random_program(GetParam(), {seed}, {{".limit", "8K"}, {".depth", std::to_string(1 + seed % 4)}}));
  }
}

// Calls of the library fail, operations fail, memory ends, a device is lost. Every program ends, and each datum without
// a failure has its value. No object of the library is left.
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
