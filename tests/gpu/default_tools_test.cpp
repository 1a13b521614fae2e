// What the command says of GPUs that are used by default: `consort topo`, `doctor`, `why-not` and the log, over the double of
// the vendor's library.
#include "gpu/gpu.hpp"
#include "tools/command.hpp"

namespace consort_test {
namespace {

struct DefaultTools : Tools, testing::WithParamInterface<Vendor> {
  std::string name() const { return GetParam().driver; }
  std::string node() const { return name() == "cuda" ? "/dev/nvidia0" : "/dev/kfd"; }
  void SetUp() override {
    if (on_real_gpu()) GTEST_SKIP() << "it needs the double";
    Tools::SetUp();
    std::filesystem::create_directories(folder_ / "dev");
    std::ofstream(folder_.path() + node()) << "";
  }
  ToolAnswer ask(const std::string &arguments, const std::string &more = {}) const {
    return run("--set device_root=" + folder_.path() + " --set " + name() + ".library=" + GetParam().library + " " + more + " " + arguments);
  }
};

TEST_P(DefaultTools, TopoShowsTheDevice) {
  const ToolAnswer a = ask("topo --table");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has(name() + "0:")) << "its memory: " << a.out;
  EXPECT_FALSE(ask("topo --table", "--set drivers=cpu").has(name() + "0:"));
}

TEST_P(DefaultTools, DoctorSaysWhatIsUsedAndWhatWasLookedFor) {
  const ToolAnswer a = ask("doctor");
  EXPECT_TRUE(a.has("used by default")) << a.out;
  EXPECT_TRUE(a.has(" cpu, 1 " + name() + "; found by default: " + name() + " (`drivers` says which to use)")) << a.out;
  const ToolAnswer none = run("doctor --set device_root=/nowhere");
  EXPECT_TRUE(none.has("driver " + name())) << none.out;
  EXPECT_TRUE(none.has("not started: no device: nothing matches " + std::string(name() == "cuda" ? "/dev/nvidia[0-9]*" : "/dev/kfd"))) << none.out;
}

TEST_P(DefaultTools, WhyNotNamesTheReason) {
  ToolAnswer a = ask("why-not " + name());
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("driver \"" + name() + "\" is used: it offers 1 device")) << a.out;
  a = run("why-not " + name() + " --set device_root=/nowhere");
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("is not used: no device: nothing matches ")) << a.out;
  EXPECT_TRUE(a.has("drivers = \"*, " + name() + "\" starts it anyway")) << a.out;
  a = ask("why-not " + name() + "0", "--set drivers=cpu");
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("drivers = \"cpu\"")) << a.out;
}

INSTANTIATE_TEST_SUITE_P(On, DefaultTools, testing::ValuesIn(kVendors), [](const auto &v) { return std::string(v.param.driver); });

}  // namespace
}  // namespace consort_test
