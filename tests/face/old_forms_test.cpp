// What programs wrote before a form got its present name: it compiles with a warning and does the same.
#include <consort/consort.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

using consort::rw;

const consort::Codelet add{"add", consort::cpu([](std::span<int> s, int a) { for (int &e : s) e += a; })};
const consort::Codelet fail{"fail", consort::cpu([](std::span<int>) -> consort_status { return CONSORT_E_INVAL; })};

struct FaceOldForms : testing::Test {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
};

TEST_F(FaceOldForms, WaitTakesNumbersAsFlags) {
  std::vector<int> v(4, 0);
  auto x = rt.vector(v);
  auto group = rt.group("mine");
  const auto task = rt.submit({.group = group}, add, rw(x), 2);
  task.wait(CONSORT_WAIT_NO_HELP);
  task.wait(0);
  EXPECT_TRUE(task.wait_for(std::chrono::seconds(9), CONSORT_WAIT_NO_HELP));
  group.wait(0);
  EXPECT_TRUE(group.wait_for(std::chrono::seconds(9), 0));
  rt.submit({.tag = 7}, add, rw(x), 1);
  rt.tag(7).wait(CONSORT_WAIT_NO_HELP);
  rt.wait(CONSORT_WAIT_NO_HELP);
  rt.wait_all(0);
  EXPECT_EQ(x.read()[3], 3);
}

TEST_F(FaceOldForms, KeptFailureIsThrownAgain) {
  for (int round = 0; round < 2; ++round) {
    std::vector<int> v(4, 0);
    auto x = rt.vector(v);
    auto group = rt.group("mine");
    rt.submit({.group = group}, fail, rw(x));
    if (round) EXPECT_THROW(group.wait(CONSORT_WAIT_KEEP_FAILURE), consort::Error);
    else EXPECT_THROW(group.wait(consort::Wait::keep_failure), consort::Error);
    EXPECT_THROW(group.wait(), consort::Error) << "the wait before has kept it";
    EXPECT_NO_THROW(group.wait());
    x.invalidate();
  }
}

TEST_F(FaceOldForms, ReplicaStateAsBits) {
  std::vector<int> v(4, 0);
  auto x = rt.vector(v);
  EXPECT_EQ(x.in(0), uint32_t{CONSORT_IN_ROOM | CONSORT_IN_VALID});
  EXPECT_EQ(x.in(0), x.replica(0).bits());
  x.prefetch(0, 0, 0);
  x.prefetch(0, 0, CONSORT_PREFETCH_ROOM);
  rt.wait_all();
}

TEST_F(FaceOldForms, PlanTakesTheNameOfAFilter) {
  std::vector<int> v(12, 0);
  auto x = rt.vector(v);
  auto m = rt.matrix<int>(4, 3);
  EXPECT_EQ(x.plan("blocks", 4).size(), 4u);
  EXPECT_EQ(x.plan("blocks", 3u).size(), 3u);
  EXPECT_EQ(x.plan("blocks", {2, 0}).size(), 2u);
  EXPECT_EQ(x.plan("blocks", consort_split{2, 0}, CONSORT_PLAN_READ_ONLY).size(), 2u);
  EXPECT_EQ(m.plan<std::span<int>>("slices", consort_slices{1, 0}).size(), 3u);
  try {
    (void)x.plan("blocks", -1);
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("plan(\"blocks\", -1)"), std::string::npos) << e.what();
  }
  const auto parts = x.plan("blocks", 2, CONSORT_PLAN_READ_ONLY);
  EXPECT_THROW(rt.submit(add, rw(parts[0]), 1), consort::Error);
}

TEST_F(FaceOldForms, GroupFailureAsTheCStruct) {
  std::vector<int> v(4, 0);
  auto x = rt.vector(v, "mine");
  auto group = rt.group("mine");
  rt.submit({.name = "culprit", .group = group}, fail, rw(x));
  EXPECT_THROW(group.wait(), consort::Error);
  EXPECT_STREQ(group.failure().task_name, "culprit");
  EXPECT_EQ(group.failure().nfailed, 1u);
  x.invalidate();
}

TEST_F(FaceOldForms, KernelFilesByClassAlone) {
  const consort::Codelet both{"both", consort::cpu([](std::span<int> s) { ++s[0]; }), consort::opencl("none.cl", "both"), consort::cuda("none.cu", "both"),
                              consort::impl("hip", "file", "none.hip", "both")};
  std::vector<int> v(4, 0);
  auto x = rt.vector(v);
  rt.submit(both, rw(x));
  EXPECT_EQ(x.read()[0], 1);
}

}  // namespace
