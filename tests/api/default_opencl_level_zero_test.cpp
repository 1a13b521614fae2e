// Devices of OpenCL and Level Zero that no setting names: found by entries of a folder of the test, asleep until the first task.
// Level Zero over its double; OpenCL over PoCL, whose devices are taken for others here (opencl.types = cpu).
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/harness.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

// Data go there and back, and the function gets the queue of a context that was not there at the start.
[[maybe_unused]] void work_on(const std::string &driver, Pairs pairs) {
  const Folder root("devices");
  std::filesystem::create_directories(root / "sys/bus/pci/drivers/i915");
  std::ofstream(root / "sys/bus/pci/drivers/i915/0000:00:02.0") << "";
  pairs.insert(pairs.end(), {{"device_root", root.path().c_str()}, {"workers", "1"}, {"cpu.topology", kFourCores}});
  std::atomic<int> ran{0};
  Body body([&](const consort_call &c) { return ran += c.native_queue && c.native_context ? 1 : 100, CONSORT_OK; });
  Rt rt(pairs);
  consort_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_info(rt, &info));
  uint32_t worker = CONSORT_NONE;
  for (uint32_t w = 0; w < info.nworkers; ++w) {
    consort_worker_info about{};
    about.size = sizeof about;
    ASSERT_OK(consort_get_worker(rt, w, &about));
    if (driver == about.klass) worker = w;
  }
  ASSERT_NE(worker, CONSORT_NONE) << "found by its entry";
  std::vector<consort_impl> impls = {{driver.c_str(), run_body, &body, nullptr, nullptr, nullptr, nullptr, 0}};
  const auto codelet = codelet_of(rt, "look", impls);
  std::vector<float> v(1000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  const auto x = vector_of(rt, v.data(), v.size(), sizeof(float));
  for (int i = 0; i < 3; ++i) Desc(codelet).on(worker).must(rt);
  for (int i = 0; i < 3; ++i) Desc(codelet).rw(x).on(worker).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_OK(consort_unregister(rt, x));
  EXPECT_EQ(ran, 6);
  for (size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], static_cast<float>(i));
}

#ifdef CONSORT_ZE_DOUBLE
TEST(DefaultDevices, LevelZeroWakesWithTheFirstTask) {
  work_on("level_zero", {{"drivers", "*,^opencl"}, {"level_zero.library", CONSORT_ZE_DOUBLE}, {"level_zero.cache", "off"}});
}
#endif

#ifdef CONSORT_HAS_OPENCL
TEST(DefaultDevices, OpenClWakesWithTheFirstTask) {
  if (!std::filesystem::exists("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "PoCL is not installed";
  setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors", 1);  // named: the driver does not leave PoCL's list alone
  work_on("opencl", {{"drivers", "*,^level_zero"}, {"opencl.types", "cpu"}, {"opencl.cache", "off"}});
}

TEST(DefaultDevices, PoclAloneIsNotLoaded) {
  if (!std::filesystem::exists("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "PoCL is not installed";
  unsetenv("OCL_ICD_VENDORS");
  size_t others = 0;
  for (const auto &e : std::filesystem::directory_iterator("/etc/OpenCL/vendors")) others += e.path().filename() != "pocl.icd";
  if (others) GTEST_SKIP() << "there are other platforms";
  const Folder root("devices");
  std::filesystem::create_directories(root / "dev");
  std::ofstream(root / "dev/mali0") << "";
  const Rt rt({{"drivers", "*"}, {"opencl.types", "cpu"}, {"device_root", root.path().c_str()}, {"workers", "1"}, {"cpu.topology", kFourCores}});
  consort_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_info(rt, &info));
  EXPECT_EQ(info.nworkers, 1u);
}
#endif

}  // namespace
}  // namespace consort_test
