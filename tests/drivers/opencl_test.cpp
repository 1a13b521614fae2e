// The OpenCL driver on PoCL: two devices that are the host's cores, each with memory of its own. Where no loader and no
// platform is installed, one line says so and the tests are skipped.
#include <consort/layouts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "drivers/device_memory.hpp"
#include "drivers/device_queues.hpp"
#include "drivers/opencl_machine.hpp"
#include "support/folder.hpp"

#if !defined(CONSORT_HAS_OPENCL)
TEST(OpenCl, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

namespace consort_test {
namespace {

constexpr char kScale[] =
    "__kernel void scale(__global float *x, ulong off, ulong n, float a) {\n"
    "  __global float *p = (__global float *)((__global char *)x + off);\n"
    "  if (get_global_id(0) < n) p[get_global_id(0)] *= a;\n"
    "}\n"
    "__kernel void plain(__global float *x, ulong n, float a) { if (get_global_id(0) < n) x[get_global_id(0)] *= a; }\n";

// -- what there is ----------------------------------------------------------------------------------------------------

TEST_F(OpenCl, OffersTwoDevices) {
  Machine m;
  EXPECT_EQ(m.ops->count(m.plugin.self()), 2u);
  ASSERT_EQ(m.own_spaces, 1u);
  EXPECT_EQ(m.spaces[0].flags, 0u) << "neither the CPU's nor opaque: kernels and copies reach it";
  EXPECT_STREQ(m.spaces[0].domain, "opencl");
  EXPECT_GE(m.spaces[0].align, 64u);
  EXPECT_GT(m.spaces[0].capacity, 0u);
  ASSERT_EQ(m.units.size(), 1u);
  EXPECT_STREQ(m.units[0].klass, "opencl");
  EXPECT_EQ(std::string(m.units[0].arch).rfind("opencl/", 0), 0u) << m.units[0].arch;
  EXPECT_EQ(m.units[0].space, m.own());
  for (auto [a, b] : {std::pair{0, 1}, {1, 0}, {0, 0}}) EXPECT_TRUE(m.link(a, b).flags & CONSORT_LK_3D) << a << b;
  EXPECT_EQ(m.link(1, 1).size, 0u) << "the host's own affair";
  void *other = nullptr;
  ASSERT_EQ(m.ops->open(m.plugin.self(), 1, 5, &other), CONSORT_OK);
  consort_space_desc s{};
  s.size = sizeof s, s.id = 9;
  ASSERT_EQ(m.ops->space(other, 0, &s), CONSORT_OK);
  consort_link_desc l{};
  l.size = sizeof l;
  EXPECT_EQ(m.ops->link(m.dev, &m.spaces[0], &s, &l), CONSORT_E_UNSUPPORTED) << "another context: over the host";
  m.ops->close(other);
  EXPECT_EQ(m.ops->open(m.plugin.self(), 2, 5, &other), CONSORT_E_INVAL);
}

TEST_F(OpenCl, ExplainsWhyThereIsNoDevice) {
  PluginHost none("opencl", {{"library", "/nowhere/libOpenCL.so"}});
  EXPECT_FALSE(none.ready());
  EXPECT_EQ(none.failure().rfind("opencl: no device: /nowhere/libOpenCL.so cannot be opened", 0), 0u) << none.failure();
  EXPECT_EQ(none.failure().find('\n'), std::string::npos);
  PluginHost wrong("opencl", {{"library", "libc.so.6"}});
  EXPECT_NE(wrong.failure().find("lacks clGetPlatformIDs"), std::string::npos) << wrong.failure();
  const Folder folder("pipe");
  ASSERT_EQ(::mkfifo((folder / "libOpenCL.so").c_str(), 0600), 0);
  PluginHost pipe("opencl", {{"library", folder / "libOpenCL.so"}});  // it has no writer: opening it would wait
  EXPECT_NE(pipe.failure().find("cannot be opened"), std::string::npos) << pipe.failure();
  PluginHost cores("opencl");
  if (!cores.ready()) {
    EXPECT_NE(cores.failure().find("the host's own cores"), std::string::npos) << cores.failure();
  }
  PluginHost nobody("opencl", on_cpus({{"devices", "no such thing"}}));
  EXPECT_NE(nobody.failure().find("not in opencl.devices"), std::string::npos) << nobody.failure();
  PluginHost bad("opencl", on_cpus({{"limit", "much"}}));
  EXPECT_NE(bad.failure().find("limit = \"much\""), std::string::npos) << bad.failure();
  PluginHost types("opencl", {{"types", "toaster"}});
  EXPECT_NE(types.failure().find("toaster"), std::string::npos) << types.failure();
}

TEST_F(OpenCl, SelectsDevicesByNumber) {
  Machine one(Params{{"devices", "1"}});
  EXPECT_EQ(one.ops->count(one.plugin.self()), 1u);
  Machine named(Params{{"devices", "-"}, {"types", "gpu"}, {"units", "3"}, {"depth", "5"}, {"limit", "64M"}});
  EXPECT_EQ(named.ops->count(named.plugin.self()), 2u) << "a named device may be of any type";
  EXPECT_EQ(named.units.size(), 3u);
  EXPECT_EQ(named.units[0].depth, 5u);
  EXPECT_EQ(named.spaces[0].capacity, 64u << 20);
}

TEST_F(OpenCl, NumberSelectsExactlyThatDevice) {  // INI-11
  const auto device_of = [](const char *devices) {
    Machine m(Params{{"devices", devices}});
    EXPECT_EQ(m.ops->count(m.plugin.self()), 1u) << devices;
    cl_device_id device = nullptr;
    Call asks([&](const consort_call *c) {
      clGetCommandQueueInfo(static_cast<cl_command_queue>(c->native_queue), CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
      return CONSORT_OK;
    });
    void *q = m.open_queue();
    EXPECT_EQ(m.run(q, {asks.op(true)}), (std::vector<consort_status>{0}));
    return device;
  };
  const cl_device_id first = device_of("0"), second = device_of("1");
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(device_of("0"), first);
  Machine both(Params{{"devices", "0,1"}});
  EXPECT_EQ(both.ops->count(both.plugin.self()), 2u);
}

// -- memory -----------------------------------------------------------------------------------------------------------

TEST_F(OpenCl, LimitsMemory) {
  Machine m(Params{{"limit", "1M"}});
  memory_ends_where_the_limit_is(m, 1 << 20);
  consort_addr b{};
  EXPECT_EQ(m.ops->attach(m.dev, m.host(), Machine::addr(&m), 64, &b), CONSORT_E_UNSUPPORTED);
}

// Whole programs attach buffers of other contexts, and sub-buffers: tests/api/opencl_test.cpp.
TEST_F(OpenCl, AttachesBuffers) {
  Machine m;
  const consort_addr a = m.alloc(4096);
  consort_addr local{};
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), a, 4096, &local), CONSORT_OK) << m.plugin.failure();
  EXPECT_TRUE(local.base == a.base && local.off == 0);
  m.ops->detach(m.dev, m.own(), local);
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), {a.base, 4000}, 1u << 20, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("pass a larger one"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), {0, 0}, 64, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("not a buffer"), std::string::npos) << m.plugin.failure();
}

TEST_F(OpenCl, AllocatesPinnedHostMemory) {
  Machine m;
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, CONSORT_AL_PINNED | CONSORT_AL_ZERO, &a), CONSORT_OK) << m.plugin.failure();
  auto *p = static_cast<unsigned char *>(consort_ptr(a));
  EXPECT_EQ(p[4095], 0);
  p[7] = 42;
  void *q = m.open_queue();
  const consort_addr d = m.alloc(4096);
  unsigned char back[4096] = {};
  EXPECT_EQ(m.run(q, {m.to_device(p, d, 4096), m.from_device(d, back, 4096)}), (std::vector<consort_status>{0, 0}));
  EXPECT_EQ(back[7], 42);
  m.ops->free(m.dev, m.host(), a, 4096);
  EXPECT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, 0, &a), CONSORT_E_INVAL) << "the host's ordinary memory is not its";
}

// -- kernels ----------------------------------------------------------------------------------------------------------

TEST_F(OpenCl, KernelsTakeBufferAndOffset) {
  Machine m;
  void *q = m.open_queue();
  const uint64_t scale = m.load(kScale, "scale"), plain = m.load(kScale, "plain");
  EXPECT_EQ(m.load(kScale, "scale"), scale) << "the same kernel, the same code";
  std::vector<float> v(1024);
  std::iota(v.begin(), v.end(), 0.f);
  const consort_addr a = m.alloc(4096);
  const std::vector<consort_arg> part = {at({a.base, 12}, 400), value<uint64_t>(100), value(2.f)};
  const std::vector<consort_arg> all = {at(a, 4096), value<uint64_t>(1024), value(10.f)};
  const std::vector<consort_arg> half = {at({a.base, 2048}, 2048), value<uint64_t>(512), value(0.5f)};
  EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, 4096), launch_of(scale, part, 100), launch_of(plain, all, 16, 64), launch_of(plain, half, 512),
                      m.from_device(a, v.data(), 4096)}),
            (std::vector<consort_status>(5, 0))) << m.plugin.failure();
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(v[i], static_cast<float>(i) * 10.f * (i >= 3 && i < 103 ? 2.f : 1.f) * (i >= 512 ? 0.5f : 1.f)) << i;
  EXPECT_EQ(m.run(q, {launch_of(plain, part, 100)}), (std::vector<consort_status>{CONSORT_E_UNSUPPORTED}));
  EXPECT_NE(m.plugin.failure().find("declare a ulong behind each pointer"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.run(q, {launch_of(plain, {all[0]}, 100)}), (std::vector<consort_status>{CONSORT_E_INVAL}));
  EXPECT_NE(m.plugin.failure().find("has 3 parameters"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.run(q, {launch_of(plain, all, 0)}), (std::vector<consort_status>{0})) << "nothing to do is done";
  EXPECT_EQ(m.run(q, {launch_of(plain, all, 1, 1 << 20)}), (std::vector<consort_status>{CONSORT_E_INVAL}));
}

TEST_F(OpenCl, KernelsUseSharedMemoryAndStructs) {
  Machine m;
  void *q = m.open_queue();
  const uint64_t code = m.load(
      "typedef struct { int a; float b; } pair;\n"
      "__kernel void sum(__global int *out, ulong off, pair p, __local int *mine, __local int *all) {\n"
      "  size_t i = get_local_id(0); mine[i] = (int)i + p.a; all[i] = 1; barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  if (i == 0) { int s = 0; for (size_t k = 0; k < get_local_size(0); ++k) s += mine[k] * all[k]; out[get_group_id(0)] = s + (int)p.b; } }",
      nullptr);
  struct { int a; float b; } pair = {5, 2.f};
  const consort_addr out = m.alloc(64);
  const std::vector<consort_arg> args = {at(out, 64), {CONSORT_ARG_BYTES, sizeof pair, {0, 0}, 0, reinterpret_cast<uint64_t>(&pair)}, {CONSORT_ARG_SHARED, 64, {0, 0}, 0, 0}};
  consort_op op = launch_of(code, args, 3, 8);
  op.u.launch.shared_bytes = 32;
  int got[3] = {};
  EXPECT_EQ(m.run(q, {op, m.from_device(out, got, 12)}), (std::vector<consort_status>{0, 0})) << m.plugin.failure();
  for (int g : got) EXPECT_EQ(g, 28 + 8 * 5 + 2);
}

TEST_F(OpenCl, ReportsCompilerErrors) {
  Machine m;
  m.load("__kernel void broken(__global float *x) { x[0] = undeclared_thing; }", "broken", "cl", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("undeclared_thing"), std::string::npos) << m.plugin.failure();
  m.load(kScale, "scaled", "cl", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("has no kernel \"scaled\""), std::string::npos) << m.plugin.failure();
  EXPECT_NE(m.plugin.failure().find("plain"), std::string::npos) << m.plugin.failure();
  m.load(kScale, nullptr, "cl", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("several kernels"), std::string::npos) << m.plugin.failure();
  m.load(kScale, "scale", "ptx9", CONSORT_E_UNSUPPORTED);
  m.load("nonsense", "scale", "binary", CONSORT_E_UNSUPPORTED);
  m.load("nonsense", "scale", "spirv", CONSORT_E_UNSUPPORTED);
}

TEST_F(OpenCl, LoadsKernelsFromFiles) {
  const Folder folder("opencl");
  std::ofstream(folder / "factor.h") << "#define FACTOR 3\n";
  std::ofstream(folder / "k.cl") << "#include \"factor.h\"\n__kernel void k(__global int *x) { x[get_global_id(0)] *= FACTOR; }\n";
  Machine m(Params{{"folders", "/nowhere:" + folder.path()}});
  void *q = m.open_queue();
  const uint64_t code = m.load("k.cl", "k", "file");
  EXPECT_EQ(m.load((folder / "k.cl").c_str(), "k", "file"), code);
  m.load("absent.cl", "k", "file", CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("no kernel file"), std::string::npos) << m.plugin.failure();
  int v[4] = {1, 2, 3, 4};
  const consort_addr a = m.alloc(16);
  const std::vector<consort_arg> args = {at(a, 16)};
  EXPECT_EQ(m.run(q, {m.to_device(v, a, 16), launch_of(code, args, 4), m.from_device(a, v, 16)}), (std::vector<consort_status>{0, 0, 0}));
  EXPECT_EQ(v[3], 12);
}

TEST_F(OpenCl, CachesBuiltKernels) {
  const Folder folder("opencl");
  const Params cached = {{"cache", folder / "deep/er"}};
  int v[2] = {2, 3};
  const auto use = [&](Machine &m) {
    void *q = m.open_queue();
    const uint64_t code = m.load("__kernel void k(__global int *x) { x[get_global_id(0)] += 1; }", "k");
    const consort_addr a = m.alloc(8);
    const std::vector<consort_arg> args = {at(a, 8)};
    EXPECT_EQ(m.run(q, {m.to_device(v, a, 8), launch_of(code, args, 2), m.from_device(a, v, 8)}), (std::vector<consort_status>{0, 0, 0}));
  };
  { Machine m(cached); use(m); }
  ASSERT_EQ(folder.files(), 1u);
  { Machine m(cached); use(m); }
  EXPECT_EQ(folder.files(), 1u) << "found again";
  // A damaged cached kernel is built anew, and replaced.
  std::string file;
  for (const auto &e : std::filesystem::recursive_directory_iterator(folder.path()))
    if (e.is_regular_file()) file = e.path();
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  { Machine m(cached); use(m); }
  EXPECT_GT(std::filesystem::file_size(file), size / 2);
  { Machine m(Params{{"cache", folder / "deep/er"}, {"options", "-cl-fast-relaxed-math"}}); use(m); }
  EXPECT_EQ(folder.files(), 2u) << "other options, another binary";
  EXPECT_EQ(v[0], 6);
  std::ofstream(folder / "file") << "no folder";
  { Machine m(Params{{"cache", folder / "file/below"}}); use(m); }
  EXPECT_EQ(v[1], 8) << "no cache is no error";
}

// -- host functions and completion ------------------------------------------------------------------------------------

TEST_F(OpenCl, FunctionsReceiveTheNativeQueue) {
  Machine m;
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO);
  const auto here = std::this_thread::get_id();
  std::thread::id async_on, blocking_on;
  const auto add = [&](const consort_call *c, cl_uchar what) {
    return clEnqueueFillBuffer(static_cast<cl_command_queue>(c->native_queue), reinterpret_cast<cl_mem>(a.base), &what, 1, a.off, 16, 0, nullptr, nullptr) == CL_SUCCESS
               ? CONSORT_OK : CONSORT_E_IO;
  };
  Call enqueues([&](const consort_call *c) {
    async_on = std::this_thread::get_id();
    cl_context context = nullptr;
    clGetCommandQueueInfo(static_cast<cl_command_queue>(c->native_queue), CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
    EXPECT_EQ(context, c->native_context);
    return add(c, 7);
  });
  unsigned char seen = 0;
  Call blocks([&](const consort_call *c) {
    blocking_on = std::this_thread::get_id();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // nap: later ops would overtake it, which would be wrong
    return clEnqueueReadBuffer(static_cast<cl_command_queue>(c->native_queue), reinterpret_cast<cl_mem>(a.base), CL_TRUE, a.off, 1, &seen, 0, nullptr, nullptr) == CL_SUCCESS
               ? CONSORT_OK : CONSORT_E_IO;
  });
  Call late([&](const consort_call *c) { return add(c, 9); });
  Call fails([](const consort_call *) { return CONSORT_E_POISONED; });
  unsigned char last[16] = {};
  EXPECT_EQ(m.run(q, {enqueues.op(true), blocks.op(false), late.op(true), fails.op(true), fails.op(false), m.from_device(a, last, 16)}),
            (std::vector<consort_status>{0, 0, 0, CONSORT_E_POISONED, CONSORT_E_POISONED, 0}));
  EXPECT_EQ(async_on, here);
  EXPECT_NE(blocking_on, here) << "blocking functions do not run inside submit()";
  EXPECT_EQ(seen, 7) << "before the ops behind it";
  EXPECT_EQ(last[15], 9);
  EXPECT_EQ(m.run(q, {op_of(CONSORT_OP_MARK, 0), op_of(99, 0)}), (std::vector<consort_status>{0, CONSORT_E_UNSUPPORTED}));
}

TEST_F(OpenCl, LimitsOpsInFlightToTheDepth) {
  Machine m(Params{{"depth", "4"}});
  several_are_in_flight(m);
}

TEST_F(OpenCl, ArmWakesForTheOldestOp) {
  Machine m;
  arm_wakes_for_the_oldest(m, m.load("__kernel void spin(__global int *x, int n) { int s = x[0]; for (int i = 0; i < n; ++i) s = s * 3 + i; x[0] = s; }", "spin"), 3'000'000);
}

TEST_F(OpenCl, QueuesWaitForEachOthersTickets) {
  Machine m(Params{{"units", "2"}});
  void *a = m.open_queue(11), *b = m.open_queue(12);
  EXPECT_TRUE(m.desc.flags & CONSORT_Q_WAITS);
  EXPECT_NE(m.desc.sync, 0u);
  const uint64_t slow = m.load("__kernel void slow(__global int *x, int n) { int s = 0; for (int i = 0; i < n; ++i) s = s * 3 + x[1]; x[0] = s * 0 + 5; }", "slow");
  const uint64_t copy = m.load("__kernel void copy(__global int *x) { x[2] = x[0]; }", "copy");
  for (int helped = 0; helped < 2; ++helped) {
    const consort_addr d = m.alloc(64, CONSORT_AL_ZERO);
    const std::vector<consort_arg> wait = {at(d, 64), value<int>(5'000'000)}, only = {at(d, 64)};
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

TEST_F(OpenCl, TimesUseTheHostsClock) {
  Machine m;
  void *q = m.open_queue();
  std::vector<unsigned char> v(8 << 20);
  const consort_addr a = m.alloc(v.size());
  const uint64_t before = m.plugin.host()->now(m.plugin.host());
  consort_op op = m.to_device(v.data(), a, v.size());
  op.flags = CONSORT_OPF_TIME;
  ASSERT_EQ(m.ops->submit(q, &op, 1), 1u);
  const consort_done done = m.collect(q, 1)[0];
  const uint64_t after = m.plugin.host()->now(m.plugin.host());
  EXPECT_EQ(done.bytes, v.size());
  EXPECT_GE(done.t0, before);
  EXPECT_GT(done.t1, done.t0);
  EXPECT_LE(done.t1, after);
}

}  // namespace
}  // namespace consort_test
#endif
