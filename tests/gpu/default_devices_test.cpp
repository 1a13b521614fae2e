// GPUs that no setting names: found by their device nodes, used, and without a context until work is placed on them.
// Over the double of the vendor's library; the device nodes are files in a folder of the test.
#include <filesystem>
#include <fstream>

#include "gpu/programs.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

struct DefaultDevices : GpuTest {
  void SetUp() override {
    if (on_real_gpu()) GTEST_SKIP() << "it needs the double";
    GpuTest::SetUp();
    add_node(std::string(GetParam().driver) == "cuda" ? "/dev/nvidia0" : "/dev/kfd");
  }
  void add_node(const std::string &path) const {
    std::filesystem::create_directories(std::filesystem::path(root.path() + path).parent_path());
    std::ofstream(root.path() + path) << "";
  }
  using Settings = std::vector<std::pair<std::string, std::string>>;
  Settings with(Settings more = {}) const {
    more.insert(more.end(), {{"drivers", "*"}, {"device_root", root.path()}});
    return more;
  }
  const Folder root{"devices"};
};

TEST_P(DefaultDevices, CpuProgramCreatesNoContext) {
  Machine m(GetParam(), with());
  ASSERT_EQ(m.devices.size(), 2u) << "found by the node";
  EXPECT_EQ(m.cores.size(), 2u);
  std::vector<float> v(1000, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  m.bodies.push_back(std::make_unique<Body>([](const consort_call &c) { return pointer<float>(c, 0)[0] *= 2, CONSORT_OK; }));
  std::vector<consort_impl> impls = {{"cpu", run_body, m.bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
  const auto twice = codelet_of(m, "twice", impls);
  for (int i = 0; i < 10; ++i) Desc(twice).rw(x).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(v[0], 1024.f);
  EXPECT_EQ(Double(GetParam()).live(), 0u) << "no context, no stream";
}

TEST_P(DefaultDevices, WakeWithTheFirstWork) {
  Machine m(GetParam(), with());
  const auto scale = m.scale();
  std::vector<float> v(1000, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  for (uint32_t i = 0; i < 8; ++i) Desc(scale).rw(x).arg(2.f).on(m.devices[i % 2]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_GT(Double(GetParam()).live(), 0u);
  ASSERT_OK(consort_unregister(m, x));
  for (float e : v) ASSERT_EQ(e, 256.f);
  for (uint32_t d : m.devices) EXPECT_EQ(m.worker(d).tasks, 4u);
}

TEST_P(DefaultDevices, FunctionWithoutDataWakesItsDevice) {
  Machine m(GetParam(), with());
  std::atomic<int> ran{0};
  const auto look = m.function("look", [&](const consort_call &c) { return ran += c.native_queue ? 1 : 100, CONSORT_OK; }, 0);
  const auto enqueue = m.function("enqueue", [&](const consort_call &c) { return ran += c.native_queue ? 1 : 100, CONSORT_OK; }, CONSORT_CL_ASYNC);
  for (uint32_t i = 0; i < 6; ++i) Desc(i % 3 ? look : enqueue).on(m.devices[i % 2]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(ran, 6);
}

TEST_P(DefaultDevices, AContextThatFailsLeavesTheWorkToTheCores) {
  Double(GetParam()).set(std::string("devices=2,quiet=1,fail=") +
                         (std::string(GetParam().driver) == "cuda" ? "cuStreamCreateWithPriority" : "hipStreamCreateWithPriority") + ":1+:2");
  Machine m(GetParam(), with());
  const auto scale = m.scale();
  std::vector<float> v(1000, 1);
  const auto x = vector_of(m, v.data(), v.size(), sizeof(float));
  for (uint32_t i = 0; i < 8; ++i) Desc(scale).rw(x).arg(2.f).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_unregister(m, x));
  for (float e : v) ASSERT_EQ(e, 256.f);
}

TEST_P(DefaultDevices, NeitherWithoutANodeNorWhereDriversAreNamed) {
  const Folder empty("no-devices");
  for (const Settings &s : {Settings{{"drivers", "*"}, {"device_root", empty.path()}}, Settings{{"drivers", "cpu"}, {"device_root", root.path()}},
                            Settings{{"drivers", std::string("^") + GetParam().driver}, {"device_root", root.path()}}}) {
    Machine m(GetParam(), s);
    EXPECT_EQ(m.devices.size(), 0u);
    EXPECT_EQ(m.cores.size(), 2u);
  }
}

TEST_P(DefaultDevices, ANamedDriverCreatesItsContextsAtTheStart) {
  const Machine m(GetParam(), {{"drivers", std::string("*, ") + GetParam().driver}, {"device_root", root.path()}});
  EXPECT_EQ(m.devices.size(), 2u);
  EXPECT_GT(Double(GetParam()).live(), 0u);
}

CONSORT_GPU_VENDORS(DefaultDevices);

}  // namespace
}  // namespace consort_test
