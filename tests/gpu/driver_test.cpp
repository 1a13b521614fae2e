// A GPU driver on one device: its spaces and units, memory, kernels, host functions, completion. Over the double of its
// vendor's library, which runs kernels for real and watches for broken rules; CONSORT_REAL_GPU=1 takes the real one.
#include <consort/layouts.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "drivers/device_memory.hpp"
#include "drivers/device_queues.hpp"
#include "gpu/machine.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

constexpr char kSpin[] =
    "extern \"C\" __global__ void spin(int *x, int n) { int s = x[0]; for (int i = 0; i < n; ++i) s = s * 3 + x[1]; x[0] = s; }\n"
    "extern \"C\" __global__ void move(int *x) { x[2] = x[0]; }\n";

using OneGpu = GpuTest;

TEST_P(OneGpu, OffersASpaceAndUnits) {
  Gpu m(Params{{"units", "3"}, {"depth", "5"}, {"limit", "16M"}});
  ASSERT_EQ(m.own_spaces, 1u);
  EXPECT_EQ(m.spaces[0].flags, 0u) << "not the CPU's";
  EXPECT_STREQ(m.spaces[0].domain, GetParam().driver);
  EXPECT_EQ(m.spaces[0].capacity, 16u << 20);
  ASSERT_EQ(m.units.size(), 3u);
  EXPECT_STREQ(m.units[0].klass, GetParam().driver);
  EXPECT_EQ(m.units[0].depth, 5u);
  EXPECT_EQ(std::string(m.units[0].arch).rfind(std::string(GetParam().driver) + "/", 0), 0u) << m.units[0].arch;
  for (auto [a, b] : {std::pair{0, 1}, {1, 0}, {0, 0}}) EXPECT_TRUE(m.link(a, b).flags & CONSORT_LK_3D) << a << b;
  EXPECT_EQ(m.link(1, 1).size, 0u) << "the host's own affair";
}

TEST_P(OneGpu, ExplainsWhyThereIsNoDevice) {
  const std::string name = GetParam().driver;
  PluginHost none(name, {{"library", "/nowhere/libgpu.so"}});
  EXPECT_FALSE(none.ready());
  EXPECT_EQ(none.failure().rfind(name + ": no device: /nowhere/libgpu.so cannot be opened", 0), 0u) << none.failure();
  EXPECT_EQ(none.failure().find('\n'), std::string::npos) << "one line";
  PluginHost wrong(name, {{"library", "libc.so.6"}});
  EXPECT_NE(wrong.failure().find("libc.so.6 lacks "), std::string::npos) << wrong.failure();
  PluginHost nobody(name, gpu_params(GetParam(), {{"devices", "no such thing"}}));
  EXPECT_NE(nobody.failure().find("none selected by " + name + ".devices"), std::string::npos) << nobody.failure();
  PluginHost bad(name, gpu_params(GetParam(), {{"limit", "much"}}));
  EXPECT_NE(bad.failure().find("limit = \"much\""), std::string::npos) << bad.failure();
  if (on_real_gpu()) return;
  const Double d(GetParam());
  for (const auto &[words, what] : {std::pair{"devices=0", "no device: the driver reports none"}, {"init=100", "reports none"}, {"init=999", "does not start"}}) {
    d.set(words);
    PluginHost host(name, gpu_params(GetParam()));
    EXPECT_FALSE(host.ready());
    EXPECT_NE(host.failure().find(what), std::string::npos) << host.failure();
  }
}

// -- memory -----------------------------------------------------------------------------------------------------------

TEST_P(OneGpu, LimitsMemory) {
  Gpu m(Params{{"limit", "1M"}});
  memory_ends_where_the_limit_is(m, 1 << 20);
}

TEST_P(OneGpu, PinsHostMemoryInPlace) {
  Gpu m;
  std::vector<unsigned char> mine(64 << 10), back(64 << 10);
  consort_addr local{};
  ASSERT_EQ(m.ops->attach(m.dev, m.host(), Gpu::addr(mine.data()), mine.size(), &local), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(local.base + local.off, Gpu::addr(mine.data()).base);
  ASSERT_EQ(m.ops->attach(m.dev, m.host(), Gpu::addr(mine.data()), mine.size(), &local), CONSORT_OK) << "again: counted";
  std::iota(mine.begin(), mine.end(), 0);
  void *q = m.open_queue();
  const consort_addr d = m.alloc(mine.size());
  EXPECT_EQ(m.run(q, {m.to_device(mine.data(), d, mine.size()), m.from_device(d, back.data(), back.size())}), (std::vector<consort_status>{0, 0}));
  EXPECT_EQ(mine, back);
  m.ops->detach(m.dev, m.host(), local);
  m.ops->detach(m.dev, m.host(), local);
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, CONSORT_AL_PINNED | CONSORT_AL_ZERO, &a), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(static_cast<unsigned char *>(consort_ptr(a))[4095], 0);
  m.ops->free(m.dev, m.host(), a, 4096);
  EXPECT_EQ(m.ops->alloc(m.dev, m.host(), 4096, 64, 0, &a), CONSORT_E_INVAL) << "the host's ordinary memory is not its";
}

TEST_P(OneGpu, AttachesDeviceMemory) {
  Gpu m;
  const consort_addr a = m.alloc(4096);
  consort_addr local{};
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), a, 4096, &local), CONSORT_OK) << m.plugin.failure();
  EXPECT_TRUE(local.base == a.base && local.off == a.off);
  m.ops->detach(m.dev, m.own(), local);
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), {a.base, 4000}, 1u << 20, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("pass a larger one"), std::string::npos) << m.plugin.failure();
  int here = 0;
  EXPECT_EQ(m.ops->attach(m.dev, m.own(), Gpu::addr(&here), 4, &local), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("not in this device's memory"), std::string::npos) << m.plugin.failure();
  EXPECT_EQ(m.ops->attach(m.dev, 999, Gpu::addr(&here), 4, &local), CONSORT_E_UNSUPPORTED);
}

// -- kernels ----------------------------------------------------------------------------------------------------------

TEST_P(OneGpu, KernelsTakeDataAndValues) {
  Gpu m;
  void *q = m.open_queue();
  const uint64_t scale = m.load(kScale, "scale"), axpy = m.load(kScale, "axpy");
  ASSERT_TRUE(scale && axpy);
  EXPECT_EQ(m.load(kScale, "scale"), scale) << "the same kernel, the same code";
  std::vector<float> v(1000), w(1000, 3.f);
  std::iota(v.begin(), v.end(), 0.f);
  const consort_addr a = m.alloc(4000), b = m.alloc(4000);
  const std::vector<consort_arg> all = {at(a, 4000), value<uint64_t>(1000), value(10.f)};
  const std::vector<consort_arg> part = {at({a.base, 2000}, 2000), value<uint64_t>(500), value(0.5f)};
  const std::vector<consort_arg> sum = {at(b, 4000), value<uint64_t>(1000), at(a, 4000), value(2.f)};
  EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, 4000), m.to_device(w.data(), b, 4000), launch_of(scale, all, 16, 64), launch_of(scale, part, 500),
                      launch_of(axpy, sum, 1000), m.from_device(b, w.data(), 4000)}),
            (std::vector<consort_status>(6, 0))) << m.plugin.failure();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(w[i], 3.f + 2.f * static_cast<float>(i) * 10.f * (i >= 500 ? 0.5f : 1.f)) << i;
  EXPECT_EQ(m.run(q, {launch_of(scale, all, 0)}), (std::vector<consort_status>{0})) << "nothing to do is done";
}

TEST_P(OneGpu, RefusesBadLaunches) {
  Gpu m;
  void *q = m.open_queue();
  const uint64_t scale = m.load(kScale, "scale");
  const consort_addr a = m.alloc(4096);
  const std::vector<consort_arg> good = {at(a, 4096), value<uint64_t>(10), value(1.f)}, few = {good[0]},
                                 narrow = {good[0], value<uint32_t>(10), good[2]};
  const auto refused = [&](consort_op op, const char *words) {
    EXPECT_EQ(m.run(q, {op}), (std::vector<consort_status>{CONSORT_E_INVAL})) << words;
    EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure();
  };
  refused(launch_of(scale, few, 100), "it has 3 parameters, but its data and values make 1");
  refused(launch_of(scale, narrow, 100), "parameter 1 has 8 bytes, but its argument has 4");
  refused(launch_of(scale, good, 1, 1 << 20), "threads, ");
  refused(launch_of(scale, good, UINT64_C(1) << 40, 2), "along dimension 0");
  consort_op high = launch_of(scale, good, 1, 64);
  high.u.launch.grid[1] = 100'000;
  refused(high, "along dimension 1");
  consort_op hungry = launch_of(scale, good, 1, 64);
  hungry.u.launch.shared_bytes = 1 << 30;
  refused(hungry, "shared memory");
  EXPECT_EQ(m.run(q, {launch_of(scale, good, 100)}), (std::vector<consort_status>{0})) << "a refused launch is no lost device";
}

TEST_P(OneGpu, ReportsCompilerErrors) {
  Gpu m;
  m.load("extern \"C\" __global__ void broken(float *x) { x[0] = undeclared_thing; }", "broken", nullptr, CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("undeclared_thing"), std::string::npos) << m.plugin.failure();
  m.load(kScale, "scaled", nullptr, CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("has no kernel \"scaled\""), std::string::npos) << m.plugin.failure();
  m.load(kScale, nullptr, nullptr, CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("set entry to one"), std::string::npos) << m.plugin.failure();
  m.load(kScale, "scale", "cl", CONSORT_E_UNSUPPORTED);
  EXPECT_NE(m.plugin.failure().find("format \"cl\" is unknown"), std::string::npos) << m.plugin.failure();
}

TEST_P(OneGpu, LoadsAndCachesKernels) {
  const Folder folder("gpu");
  const std::string suffix = GetParam().format == std::string("cuda") ? ".cu" : ".hip";
  std::ofstream(folder / ("k" + suffix)) << "extern \"C\" __global__ void k(int *x) { x[threadIdx.x] *= 3; }\n";
  const Params kept = {{"folders", "/nowhere:" + folder.path()}, {"cache", folder / "deep/er"}};
  int v[4] = {1, 2, 3, 4};
  for (int round = 0; round < 2; ++round) {
    Gpu m(kept);
    void *q = m.open_queue();
    const uint64_t code = m.load(("k" + suffix).c_str(), "k", "file");
    ASSERT_NE(code, 0u);
    m.load("absent.cu", "k", "file", CONSORT_E_INVAL);
    EXPECT_NE(m.plugin.failure().find("no kernel file"), std::string::npos) << m.plugin.failure();
    const consort_addr a = m.alloc(16);
    const std::vector<consort_arg> args = {at(a, 16)};
    EXPECT_EQ(m.run(q, {m.to_device(v, a, 16), launch_of(code, args, 1, 4), m.from_device(a, v, 16)}), (std::vector<consort_status>{0, 0, 0}));
  }
  EXPECT_EQ(v[3], 36);
  EXPECT_EQ(folder.files(), 2u) << "the source, and its one build";
}

// -- host functions and completion ------------------------------------------------------------------------------------

TEST_P(OneGpu, BlockingFunctionsRunOnAnotherThread) {
  Gpu m;
  void *q = m.open_queue();
  const uint64_t scale = m.load(kScale, "scale");
  std::vector<float> v(16, 1.f);
  const consort_addr a = m.alloc(64);
  const std::vector<consort_arg> args = {at(a, 64), value<uint64_t>(16), value(2.f)};
  const auto here = std::this_thread::get_id();
  std::thread::id async_on, blocking_on;
  Call enqueues([&](const consort_call *c) {
    async_on = std::this_thread::get_id();
    EXPECT_TRUE(c->native_queue && (c->native_context || GetParam().driver != std::string("cuda")));
    return CONSORT_OK;
  });
  Call blocks([&](const consort_call *) {
    blocking_on = std::this_thread::get_id();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // nap: later ops would overtake it, which would be wrong
    return CONSORT_OK;
  });
  Call fails([](const consort_call *) { return CONSORT_E_POISONED; });
  EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, 64), launch_of(scale, args, 16), enqueues.op(true), blocks.op(false), launch_of(scale, args, 16),
                      fails.op(true), fails.op(false), op_of(CONSORT_OP_MARK, 0), op_of(99, 0), m.from_device(a, v.data(), 64)}),
            (std::vector<consort_status>{0, 0, 0, 0, 0, CONSORT_E_POISONED, CONSORT_E_POISONED, 0, CONSORT_E_UNSUPPORTED, 0}));
  EXPECT_EQ(v[15], 4.f);
  EXPECT_NE(blocking_on, here) << "blocking functions do not run inside submit()";
  EXPECT_NE(async_on, std::thread::id()) << "it ran";
}

TEST_P(OneGpu, LimitsOpsInFlightToTheDepth) {
  Gpu m(Params{{"depth", "4"}});
  several_are_in_flight(m);
}

TEST_P(OneGpu, ArmWakesForTheOldestOp) {
  Gpu m;
  arm_wakes_for_the_oldest(m, m.load(kSpin, "spin"), 300'000);
}

TEST_P(OneGpu, QueuesWaitForEachOthersTickets) {
  Gpu m(Params{{"units", "2"}});
  void *a = m.open_queue(11), *b = m.open_queue(12), *copies = m.open_queue(13, CONSORT_NONE);
  EXPECT_FALSE(m.desc.flags & CONSORT_Q_IN_ORDER) << "copies overtake one another";
  const uint64_t spin = m.load(kSpin, "spin"), move = m.load(kSpin, "move");
  for (uint64_t helped = 0; helped < 4; ++helped) {
    const consort_addr d = m.alloc(64);
    int start[16] = {5, 0, 0}, got[3] = {};
    const std::vector<consort_arg> wait = {at(d, 64), value<int>(200'000)}, only = {at(d, 64)};
    Call block([](const consort_call *) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // nap: an op that ignored its ticket would be first
      return CONSORT_OK;
    });
    consort_op in = m.to_device(start, d, 64);
    ASSERT_EQ(m.ops->submit(copies, &in, 1), 1u);
    const consort_ticket brought{13, helped * 2 + 1};
    std::vector<consort_op> first = {helped & 1 ? block.op(false) : op_of(CONSORT_OP_MARK, 1), launch_of(spin, wait, 1, 1)};
    first[1].wait = &brought, first[1].nwait = 1;
    ASSERT_EQ(m.ops->submit(a, first.data(), 2), 2u);
    const consort_ticket t[2] = {{11, helped * 2 + 2}, {99, 1}};  // queue 99 is closed: complete
    consort_op then = launch_of(move, only, 1, 1);
    then.wait = t;
    then.nwait = 2;
    ASSERT_EQ(m.ops->submit(b, &then, 1), 1u);
    const consort_ticket moved{12, helped + 1};
    consort_op back = m.from_device(d, got, 12);
    back.wait = &moved, back.nwait = 1;
    ASSERT_EQ(m.ops->submit(copies, &back, 1), 1u);
    for (const auto &done : m.collect(copies, 2)) EXPECT_EQ(done.status, CONSORT_OK);
    EXPECT_EQ(got[2], got[0]) << "after the op of the ticket";
    EXPECT_NE(got[2], 0);
    m.collect(a, 2);
    m.collect(b, 1);
  }
}

TEST_P(OneGpu, TimesUseTheHostsClock) {
  Gpu m;
  void *q = m.open_queue();
  std::vector<unsigned char> v(8 << 20);
  const consort_addr a = m.alloc(v.size());
  for (int i = 0; i < 3; ++i) {
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
}

CONSORT_GPU_VENDORS(OneGpu);

}  // namespace
}  // namespace consort_test
