// The Level Zero driver on the double of its library: devices, memory, kernels, host functions, completion, time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "support/folder.hpp"

#if !defined(CONSORT_ZE_DOUBLE)
TEST(LevelZero, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no level_zero/ze_api.h"; }
#else
#include <consort/layouts.h>
#include <level_zero/ze_api.h>

#include "drivers/device_memory.hpp"
#include "drivers/device_queues.hpp"
#include "drivers/level_zero_machine.hpp"

namespace consort_test {
namespace {

using Statuses = std::vector<consort_status>;

// -- what there is ----------------------------------------------------------------------------------------------------

TEST_F(LevelZero, OffersTwoDevices) {
  Machine m;
  EXPECT_EQ(m.ops->count(m.plugin.self()), 2u);
  ASSERT_EQ(m.own_spaces, 1u);
  EXPECT_EQ(m.spaces[0].flags, 0u) << "neither the CPU's nor opaque: kernels and copies reach it";
  EXPECT_STREQ(m.spaces[0].domain, "level_zero");
  EXPECT_EQ(m.spaces[0].capacity, 256u << 20);
  ASSERT_EQ(m.units.size(), 1u);
  EXPECT_STREQ(m.units[0].klass, "level_zero");
  EXPECT_STREQ(m.units[0].arch, "level_zero/double-of-a-gpu-0");
  EXPECT_EQ(m.units[0].space, m.own());
  for (auto [a, b] : {std::pair{0, 1}, {1, 0}, {0, 0}}) EXPECT_TRUE(m.link(a, b).flags & CONSORT_LK_3D) << a << b;
  EXPECT_EQ(m.link(0, 1).engines, 2u);
  EXPECT_EQ(m.link(1, 1).size, 0u) << "the host's own affair";
  void *other = nullptr;
  EXPECT_EQ(m.ops->open(m.plugin.self(), 2, 5, &other), CONSORT_E_INVAL);
}

TEST_F(LevelZero, ExplainsWhyThereIsNoDevice) {
  PluginHost none("level_zero", {{"library", "/nowhere/libze.so"}});
  EXPECT_FALSE(none.ready());
  EXPECT_EQ(none.failure().rfind("level_zero: no device: /nowhere/libze.so cannot be opened", 0), 0u) << none.failure();
  EXPECT_EQ(none.failure().find('\n'), std::string::npos);
  PluginHost wrong("level_zero", {{"library", "libc.so.6"}});
  EXPECT_NE(wrong.failure().find("lacks zeInit"), std::string::npos) << wrong.failure();
  const auto says = [](Params params, const char *what) {
    PluginHost p("level_zero", on_double(std::move(params)));
    EXPECT_FALSE(p.ready());
    EXPECT_NE(p.failure().find(what), std::string::npos) << p.failure();
    EXPECT_EQ(p.failure().find('\n'), std::string::npos);
  };
  says({{"devices", "no such thing"}}, "not in level_zero.devices");
  says({{"limit", "much"}}, "limit = \"much\"");
  says({{"types", "toaster"}}, "toaster");
  says({{"types", "fpga"}}, "of type gpu, which is not in level_zero.types");
  Double::get().configure("init=0x78000001");  // no call may follow a failed zeInit(): the double reports it
  says({}, "zeInit() returned ZE_RESULT_ERROR_UNINITIALIZED");
  Double::get().configure("devices=0");
  says({}, "no device: 1 driver, without a device");
}

TEST_F(LevelZero, SelectsDevicesByNumber) {
  {
    Machine one(Params{{"devices", "1"}});
    EXPECT_EQ(one.ops->count(one.plugin.self()), 1u);
  }
  Machine named(Params{{"devices", "gpu"}, {"types", "fpga"}, {"units", "3"}, {"depth", "5"}, {"limit", "64M"}});
  EXPECT_EQ(named.ops->count(named.plugin.self()), 2u) << "a named device may be of any type";
  EXPECT_EQ(named.units.size(), 3u);
  EXPECT_EQ(named.units[0].depth, 5u);
  EXPECT_EQ(named.spaces[0].capacity, 64u << 20);
}

// The same under the loader that vendors' drivers stand under. It looks for them once, when it comes into the process.
TEST_F(LevelZero, WorksUnderTheRealLoader) {
  setenv("ZE_ENABLE_ALT_DRIVERS", CONSORT_ZE_DOUBLE, 1);
  if (!dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL)) GTEST_SKIP() << "libze1 is not installed";
  {
    Machine m(Params{{"library", "libze_loader.so.1"}});
    ASSERT_TRUE(m.plugin.ready()) << m.plugin.failure();
    EXPECT_EQ(m.ops->count(m.plugin.self()), 2u);
    void *q = m.open_queue();
    const consort_addr a = m.alloc(4096);
    std::vector<float> v(1024, 2);
    const std::vector<consort_arg> args = {at(a, 4096), value<uint64_t>(1024), value(4.f)};
    EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, 4096), launch_of(m.load("plain"), args, 1024), m.from_device(a, v.data(), 4096)}), (Statuses{0, 0, 0}))
        << m.plugin.failure();
    EXPECT_EQ(v[1023], 8);
  }
  unsetenv("ZE_ENABLE_ALT_DRIVERS");
}

// -- memory -----------------------------------------------------------------------------------------------------------

TEST_F(LevelZero, LimitsMemory) {
  Machine m(Params{{"limit", "1M"}});
  memory_ends_where_the_limit_is(m, 4 << 20);
  consort_addr b{};
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 700 << 10, 4096, 0, &b), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(b.base % 4096, 0u);
  m.ops->free(m.dev, m.own(), b, 700 << 10);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 1u << 30, 64, 0, &b), CONSORT_E_NOMEM);
  EXPECT_NE(m.plugin.failure().find("maxMemAllocSize"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 64, 64, CONSORT_AL_PINNED, &b), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(m.ops->alloc(m.dev, m.host(), 64, 64, 0, &b), CONSORT_E_INVAL) << "the host's ordinary memory is not its";
}

TEST_F(LevelZero, AttachesMemory) {
  Machine m;
  const consort_addr a = m.alloc(4096);
  consort_addr local{};
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), a, 4096, &local), CONSORT_OK) << m.plugin.failure();
  EXPECT_TRUE(local.base == a.base && local.off == 0);
  m.ops->detach(m.dev, m.own(), local);
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), {a.base, 64}, 4032, &local), CONSORT_OK) << m.plugin.failure();
  m.ops->detach(m.dev, m.own(), local);
  const auto refused = [&](uint32_t space, consort_addr at, uint64_t n, consort_status want, const char *words) {
    EXPECT_EQ(m.ops->attach(m.dev, space, at, n, &local), want);
    EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure();
  };
  refused(m.own(), {a.base, 4000}, 1u << 20, CONSORT_E_INVAL, "pass a larger one");
  refused(m.own(), {0, 0}, 64, CONSORT_E_INVAL, "not memory of this device's context");
  refused(m.own(), Machine::addr(&m), 64, CONSORT_E_INVAL, "not memory of this device's context");
  refused(m.host(), Machine::addr(&m), 64, CONSORT_E_UNSUPPORTED, "cannot be pinned or mapped");
  consort_addr pinned{};
  ASSERT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, CONSORT_AL_PINNED, &pinned), CONSORT_OK);
  refused(m.own(), pinned, 64, CONSORT_E_INVAL, "the memory is the host's");
  EXPECT_EQ(m.ops->attach(m.dev, m.host(), pinned, 64, &local), CONSORT_OK) << "pinned already";
  m.ops->detach(m.dev, m.host(), local);
  m.ops->free(m.dev, m.host(), pinned, 4096);
}

TEST_F(LevelZero, AllocatesPinnedHostMemory) {
  for (const char *shared : {"false", "true"}) {
    Machine m(Params{{"shared", shared}});
    consort_addr a{};
    ASSERT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, CONSORT_AL_PINNED | CONSORT_AL_ZERO, &a), CONSORT_OK) << m.plugin.failure();
    auto *p = static_cast<unsigned char *>(consort_ptr(a));
    EXPECT_EQ(p[4095], 0);
    p[7] = 42;
    void *q = m.open_queue();
    const consort_addr d = m.alloc(4096), zero = m.alloc(4096, CONSORT_AL_ZERO);
    unsigned char back[4096] = {}, nothing[4096];
    EXPECT_EQ(m.run(q, {m.to_device(p, d, 4096), m.from_device(d, back, 4096), m.from_device(zero, nothing, 4096)}), (Statuses{0, 0, 0}));
    EXPECT_EQ(back[7], 42);
    EXPECT_EQ(std::count(nothing, nothing + 4096, 0), 4096);
    m.ops->free(m.dev, m.host(), a, 4096);
  }
}

// -- kernels ----------------------------------------------------------------------------------------------------------

TEST_F(LevelZero, KernelsTakePointerAndOffset) {
  Machine m;
  void *q = m.open_queue();
  const uint64_t scale = m.load("scale"), plain = m.load("plain");
  EXPECT_EQ(m.load("scale"), scale) << "the same kernel, the same code";
  std::vector<float> v(1024);
  std::iota(v.begin(), v.end(), 0.f);
  const consort_addr a = m.alloc(4096);
  const std::vector<consort_arg> part = {at({a.base, 12}, 400), value<uint64_t>(100), value(2.f)};
  const std::vector<consort_arg> all = {at(a, 4096), value<uint64_t>(1024), value(10.f)};
  const std::vector<consort_arg> half = {at({a.base, 2048}, 2048), value<uint64_t>(512), value(0.5f)};
  EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, 4096), launch_of(scale, part, 100), launch_of(plain, all, 16, 64), launch_of(plain, half, 512),
                      m.from_device(a, v.data(), 4096)}),
            Statuses(5, 0)) << m.plugin.failure();
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(v[i], static_cast<float>(i) * 10.f * (i >= 3 && i < 103 ? 2.f : 1.f) * (i >= 512 ? 0.5f : 1.f)) << i;
  const auto refused = [&](const consort_op &op, const char *words) {
    EXPECT_EQ(m.run(q, {op}), (Statuses{CONSORT_E_INVAL})) << words;
    EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure();
  };
  const std::vector<consort_arg> few = {all[0]}, wide = {all[0], all[1], value(2.0)};
  refused(launch_of(plain, few, 100), "kernel \"plain\": it has 3 parameters");
  refused(launch_of(plain, wide, 100), "argument 2 does not accept 8 bytes");
  refused(launch_of(plain, all, 1, 1 << 20), "1024 at most here");
  refused(launch_of(plain, all, UINT64_C(1) << 40, 64), "blocks along x");
  EXPECT_EQ(m.run(q, {launch_of(plain, all, 0)}), (Statuses{0})) << "nothing to do is done";
}

TEST_F(LevelZero, KernelsUseSharedMemoryAndStructs) {
  Machine m;
  void *q = m.open_queue();
  struct { int a; float b; } pair = {5, 2.f};
  const consort_addr out = m.alloc(64);
  const std::vector<consort_arg> args = {at(out, 64), {CONSORT_ARG_BYTES, sizeof pair, {0, 0}, 0, reinterpret_cast<uint64_t>(&pair)}, {CONSORT_ARG_SHARED, 64, {0, 0}, 0, 0}};
  consort_op op = launch_of(m.load("sum"), args, 3, 8);
  op.u.launch.shared_bytes = 32;
  int got[3] = {};
  EXPECT_EQ(m.run(q, {op, m.from_device(out, got, 12)}), (Statuses{0, 0})) << m.plugin.failure();
  for (int g : got) EXPECT_EQ(g, 28 + 8 * 5 + 2);
  op.u.launch.block[0] = 1;  // memory of each block's own: the blocks are not the device's choice
  EXPECT_EQ(m.run(q, {op, m.from_device(out, got, 12)}), (Statuses{0, 0})) << m.plugin.failure();
  for (int g : got) EXPECT_EQ(g, 5 + 2);
}

TEST_F(LevelZero, GridsHaveThreeDimensions) {
  Machine m;
  void *q = m.open_queue();
  const consort_addr out = m.alloc(8 * 6 * 10 * 3);
  const std::vector<consort_arg> args = {at(out, 1440)};
  consort_op op = launch_of(m.load("grid"), args, 3, 2);
  op.u.launch.grid[1] = 2, op.u.launch.block[1] = 5, op.u.launch.grid[2] = 3;
  uint64_t got[180] = {};
  EXPECT_EQ(m.run(q, {op, m.from_device(out, got, sizeof got)}), (Statuses{0, 0})) << m.plugin.failure();
  for (uint64_t z = 0; z < 3; ++z)
    for (uint64_t y = 0; y < 10; ++y)
      for (uint64_t x = 0; x < 6; ++x)
        ASSERT_EQ(got[x + 6 * (y + 10 * z)], x + 100 * y + 10000 * z + 1000000 * (x / 2) + 100000000 * (y % 5)) << x << " " << y << " " << z;
}

// The double's kernel gives the results of a compiler's build of the same text.
TEST_F(LevelZero, KernelsAgreeWithC) {
  Machine m;
  void *q = m.open_queue();
  const uint64_t code = m.load("maths");
  constexpr int n = 64;
  for (const int k : {0, 1, 2, 5, 7}) {
    float f[n], v[n][4], want_v[n][4];
    double d[n];
    unsigned char c[n];
    int64_t l[n];
    for (int i = 0; i < n; ++i) {
      f[i] = static_cast<float>(i) * 0.7f, d[i] = (i - 30) * 1.25, c[i] = static_cast<unsigned char>(i * 11), l[i] = (i - 32) * INT64_C(123456789);
      for (int e = 0; e < 4; ++e) v[i][e] = static_cast<float>(i * 4 + e), want_v[i][3 - e] = v[i][e] * 2 + static_cast<float>(4 - e);
    }
    const consort_addr af = m.alloc(sizeof f), ad = m.alloc(sizeof d), av = m.alloc(sizeof v), ac = m.alloc(sizeof c), al = m.alloc(sizeof l);
    float gf[n], gv[n][4];
    double gd[n];
    unsigned char gc[n];
    int64_t gl[n];
    const std::vector<consort_arg> args = {at(af, 0), at(ad, 0), at(av, 0), at(ac, 0), at(al, 0), value(k)};
    EXPECT_EQ(m.run(q, {m.to_device(f, af, sizeof f), m.to_device(d, ad, sizeof d), m.to_device(v, av, sizeof v), m.to_device(c, ac, sizeof c), m.to_device(l, al, sizeof l),
                        launch_of(code, args, n), m.from_device(af, gf, sizeof f), m.from_device(ad, gd, sizeof d), m.from_device(av, gv, sizeof v),
                        m.from_device(ac, gc, sizeof c), m.from_device(al, gl, sizeof l)}),
              Statuses(11, 0)) << m.plugin.failure();
    constexpr float table[4] = {1.5f, -2.0f, 0.25f, 8.0f};
    for (int i = 0; i < n; ++i) {
      const float x = f[i];
      const float want = k == 0 ? std::sqrt(x) : k == 1 ? std::exp(x) + std::sin(x) : k == 2 ? std::fmax(x, 2.f) - std::pow(x, 3.f) : k == 7 ? table[static_cast<int>(x) & 3] : std::fabs(x) / 3.f;
      ASSERT_NEAR(gf[i], want, std::fabs(want) * 1e-5) << k << " " << i;
      ASSERT_EQ(gd[i], k > 3 ? d[i] * 0.5 : static_cast<double>(static_cast<int64_t>(d[i]))) << k << " " << i;
      for (int e = 0; e < 4; ++e) ASSERT_EQ(gv[i][e], want_v[i][e]) << k << " " << i << " " << e;
      const auto byte = static_cast<unsigned char>(static_cast<unsigned char>(c[i] << 1) ^ k);
      ASSERT_EQ(gc[i], byte) << k << " " << i;
      const int64_t third = l[i] < 0 ? byte : std::min(std::max(k, 1), 3);
      ASSERT_EQ(gl[i], (l[i] >> 2) + std::min<int64_t>(k, l[i] % 5) + static_cast<int16_t>(l[i]) + third) << k << " " << i;
    }
  }
}

TEST_F(LevelZero, ReportsCompilerErrors) {
  Machine m;
  std::vector<uint32_t> broken(kKernels, kKernels + sizeof kKernels / 4);
  broken[5] = 0;  // an instruction without length
  m.load(broken.data(), broken.size() * 4, "plain", "spirv", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("does not compile (ZE_RESULT_ERROR_MODULE_BUILD_FAILURE):\ninstruction at word 5"), std::string::npos) << m.plugin.failure();
  const auto says = [&](const char *words) { EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure(); };
  m.load("scaled", CONSORT_E_INVAL);
  says("has no kernel \"scaled\" (ZE_RESULT_ERROR_INVALID_KERNEL_NAME): its kernels are \"scale;plain");
  m.load(nullptr, CONSORT_E_INVAL);
  says("several kernels");
  m.load(kKernels, sizeof kKernels, "scale", "ptx9", CONSORT_E_UNSUPPORTED);
  says("format \"ptx9\" is unknown");
  m.load("nonsense", 8, "scale", "native", CONSORT_E_UNSUPPORTED);
  says("ZE_RESULT_ERROR_INVALID_NATIVE_BINARY");
  m.load("nonsense", 8, "scale", "spirv", CONSORT_E_INVAL);
  says("is not SPIR-V");
  m.load("", 0, "scale", "file", CONSORT_E_INVAL);
}

TEST_F(LevelZero, LoadsAndCachesKernels) {
  const Folder folder("level_zero");
  std::ofstream(folder / "k.spv", std::ios::binary).write(reinterpret_cast<const char *>(kKernels), sizeof kKernels);
  const Params cached = {{"folders", "/nowhere:" + folder.path()}, {"cache", folder / "deep/er"}};
  const auto use = [&](Machine &m) {
    void *q = m.open_queue();
    const uint64_t code = m.load("k.spv", 5, "add", "file");
    uint32_t v[2] = {2, 3};
    const consort_addr a = m.alloc(8);
    const std::vector<consort_arg> args = {at(a, 8), value<uint64_t>(2), value(10u), value(1u)};
    EXPECT_EQ(m.run(q, {m.to_device(v, a, 8), launch_of(code, args, 2), m.from_device(a, v, 8)}), (Statuses{0, 0, 0})) << m.plugin.failure();
    EXPECT_EQ(v[1], 31u);
  };
  { Machine m(cached); use(m); }
  EXPECT_EQ(folder.files(), 2u) << "the file and its build";
  { Machine m(cached); use(m); }
  EXPECT_EQ(folder.files(), 2u) << "found again";
  // A damaged cached kernel is built anew, and replaced.
  std::string kept;
  for (const auto &e : std::filesystem::recursive_directory_iterator(folder.path()))
    if (e.is_regular_file() && e.path().extension() == ".bin") kept = e.path();
  const auto size = std::filesystem::file_size(kept);
  std::filesystem::resize_file(kept, size / 2);
  { Machine m(cached); use(m); }
  EXPECT_EQ(std::filesystem::file_size(kept), size);
  Machine m;
  m.load("absent.spv", 10, "add", "file", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("no kernel file absent.spv"), std::string::npos) << m.plugin.failure();
}

// -- host functions and completion ------------------------------------------------------------------------------------

TEST_F(LevelZero, FunctionsReceiveTheNativeList) {
  Machine m;
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO);
  const auto here = std::this_thread::get_id();
  std::thread::id async_on, blocking_on;
  void *library = dlopen(CONSORT_ZE_DOUBLE, RTLD_NOW | RTLD_LOCAL);
  const auto fill = reinterpret_cast<decltype(&zeCommandListAppendMemoryFill)>(dlsym(library, "zeCommandListAppendMemoryFill"));
  const auto add = [&](const consort_call *c, unsigned char what) {
    return fill(static_cast<ze_command_list_handle_t>(c->native_queue), consort_ptr(a), &what, 1, 16, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS ? CONSORT_OK : CONSORT_E_IO;
  };
  Call enqueues([&](const consort_call *c) {
    async_on = std::this_thread::get_id();
    return add(c, 7);
  });
  Call blocks([&](const consort_call *) {
    blocking_on = std::this_thread::get_id();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // nap: later ops would overtake it, which would be wrong
    return CONSORT_OK;
  });
  Call late([&](const consort_call *c) { return add(c, 9); });
  Call fails([](const consort_call *) { return CONSORT_E_POISONED; });
  unsigned char seen[16] = {}, last[16] = {};
  EXPECT_EQ(m.run(q, {enqueues.op(true), m.from_device(a, seen, 16), blocks.op(false), late.op(true), fails.op(true), fails.op(false), m.from_device(a, last, 16)}),
            (Statuses{0, 0, 0, 0, CONSORT_E_POISONED, CONSORT_E_POISONED, 0}));
  EXPECT_EQ(async_on, here);
  EXPECT_NE(blocking_on, here) << "blocking functions do not run inside submit()";
  EXPECT_EQ(seen[15], 7) << "the next op waits for the function's commands";
  EXPECT_EQ(last[15], 9);
  EXPECT_EQ(m.run(q, {op_of(CONSORT_OP_MARK, 0), op_of(99, 0)}), (Statuses{0, CONSORT_E_UNSUPPORTED}));
}

TEST_F(LevelZero, LimitsOpsInFlightToTheDepth) {
  Machine m(Params{{"depth", "4"}});
  several_are_in_flight(m);
}

// Chains are held together by events that are used again: many more ops than a pool has.
TEST_F(LevelZero, LongChainsKeepTheirOrder) {
  Machine m(Params{{"depth", "200"}});
  void *q = m.open_queue();
  const uint64_t add = m.load("add");
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO);
  std::vector<std::vector<consort_arg>> args;
  std::vector<consort_op> ops;
  uint32_t want = 0, got = 0;
  for (uint32_t i = 0; i < 600; ++i) args.push_back({at(a, 64), value<uint64_t>(1), value(3u), value(i)});
  for (uint32_t i = 0; i < 600; ++i) ops.push_back(launch_of(add, args[i], 1)), want = want * 3 + i;
  ops.push_back(m.from_device(a, &got, 4));
  EXPECT_EQ(m.run(q, ops), Statuses(601, 0)) << m.plugin.failure();
  EXPECT_EQ(got, want);
}

TEST_F(LevelZero, ArmWakesForTheOldestOp) {
  Machine m;
  arm_wakes_for_the_oldest(m, m.load("spin"), 20'000);
}

TEST_F(LevelZero, QueuesWaitForEachOthersTickets) {
  Machine m(Params{{"units", "2"}});
  void *a = m.open_queue(11), *b = m.open_queue(12);
  EXPECT_TRUE(m.desc.flags & CONSORT_Q_WAITS);
  EXPECT_NE(m.desc.sync, 0u);
  const uint64_t slow = m.load("slow"), copy = m.load("copy");
  for (int helped = 0; helped < 2; ++helped) {
    const consort_addr d = m.alloc(64, CONSORT_AL_ZERO);
    const std::vector<consort_arg> wait = {at(d, 64), value<int>(50'000)}, only = {at(d, 64)};
    Call block([](const consort_call *) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // nap: an op that ignored its ticket would be first
      return CONSORT_OK;
    });
    std::vector<consort_op> first = {helped ? block.op(false) : op_of(CONSORT_OP_MARK, 1), launch_of(slow, wait, 1)};
    ASSERT_EQ(m.ops->submit(a, first.data(), 2), 2u);
    const consort_ticket t[2] = {{11, uint64_t(helped) * 2 + 2}, {99, 1}};  // queue 99 is closed: complete
    consort_op then = launch_of(copy, only, 1);
    then.wait = t;
    then.nwait = 2;
    ASSERT_EQ(m.ops->submit(b, &then, 1), 1u);
    int got[3] = {};
    consort_op back = m.from_device(d, got, 12);
    ASSERT_EQ(m.ops->submit(b, &back, 1), 1u);
    for (const auto &done : m.collect(b, 2)) EXPECT_EQ(done.status, CONSORT_OK);
    EXPECT_EQ(got[2], 5) << "after the op of the ticket" << (helped ? ", which a helper had yet to issue" : "");
    m.collect(a, 2);
  }
}

// The device's clock runs at 12.5 MHz in 32 bits, and wraps while this goes on.
TEST_F(LevelZero, TimesUseTheHostsClock) {
  Double::get().configure("latency_us=300");
  Machine m;
  void *q = m.open_queue();
  std::vector<unsigned char> v(1 << 20);
  const consort_addr a = m.alloc(v.size());
  for (int i = 0; i < 40; ++i) {
    const uint64_t before = m.plugin.host()->now(m.plugin.host());
    consort_op ops[] = {m.to_device(v.data(), a, i % 2 ? v.size() : 1), m.fill({a.base, 1}, 4000, 0x01020304)};
    for (consort_op &op : ops) op.flags = CONSORT_OPF_TIME;
    ASSERT_EQ(m.ops->submit(q, ops, 2), 2u);
    uint64_t last = before;
    for (const consort_done &done : m.collect(q, 2)) {
      const uint64_t after = m.plugin.host()->now(m.plugin.host());
      EXPECT_EQ(done.status, CONSORT_OK);
      EXPECT_GE(done.t0 + 20'000, last) << "one after the other, as far as the clocks can be read together";
      EXPECT_GE(done.t1, done.t0 + 200'000) << "as long as a command takes here";
      EXPECT_LE(done.t1, after);
      last = done.t1;
    }
  }
}

}  // namespace
}  // namespace consort_test
#endif
