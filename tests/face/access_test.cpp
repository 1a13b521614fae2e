// The C++ face's other accesses: contributions on copies (RED-01..03), in any order (ACC-05), without order
// (DEP-04); and the counts of a codelet's tasks (COD-19).
#include <consort/consort.hpp>

#include "api/harness.hpp"

using consort::commute, consort::r, consort::redux, consort::redux_fixed, consort::rw, consort::w;
using consort_test::kFourCores;

namespace {

struct FaceAccess : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 4).set("cpu.topology", kFourCores)};
};

const consort::Codelet zero{"zero", consort::cpu([](double &sum) { sum = 0; })};
const consort::Codelet unite{"unite", consort::cpu([](double &sum, const double &more) { sum += more; })};
const consort::Codelet contribute{"contribute", consort::cpu([](double &sum, double x) { sum += x; })};

TEST_F(FaceAccess, ReductionAddsToTheOldValue) {
  double value = 5;
  auto sum = rt.variable(value);
  sum.set_reduction(zero, unite);
  for (int i = 1; i <= 1000; ++i) rt.submit(contribute, redux(sum), i);
  EXPECT_EQ(*sum.read(), 5 + 500500.0);
  rt.submit(zero, w(sum));
  for (int i = 0; i < 10; ++i) rt.submit(contribute, redux(sum), 1);
  EXPECT_EQ(*sum.read(), 10.0);
}

TEST_F(FaceAccess, FixedTreeIsBitwiseReproducible) {
  const auto once = [&] {
    auto sum = rt.variable<double>("sum");
    sum.set_reduction(zero, unite);
    for (int i = 1; i <= 300; ++i) rt.submit(contribute, redux_fixed(sum), 1.0 / i);
    return *sum.read();
  };
  const double first = once();
  EXPECT_NEAR(first, 6.28266, 1e-4);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(once(), first);
}

TEST_F(FaceAccess, CommutingTasksAreExclusive) {
  long n = 0;  // not atomic: two at a time would lose some, and the thread sanitizer would see them
  auto x = rt.variable(n);
  const consort::Codelet increment{"increment", consort::cpu([](long &x) { x = x + 1; })};
  for (int i = 0; i < 2000; ++i) rt.submit(increment, commute(x));
  EXPECT_EQ(*x.read(), 2000);
}

TEST_F(FaceAccess, UnorderedDataAddNoDependences) {
  long n = 0;
  auto x = rt.variable(n);
  x.set_ordered(false);
  consort_test::Gate gate;
  const consort::Codelet stay{"stay", consort::cpu([&gate](long &) { gate.pass(); })};
  const consort::Codelet go{"go", consort::cpu([](long &x) { x = 7; })};
  auto staying = rt.submit(stay, rw(x));
  rt.submit(go, rw(x)).wait(consort::Wait::no_help);  // would never end if it followed the task that does not end
  gate.open();
  staying.wait();
  EXPECT_EQ(*x.read(), 7);
}

TEST_F(FaceAccess, ContributionWithoutAReductionThrows) {
  double value = 0;
  auto sum = rt.variable(value, "the sum");
  try {
    rt.submit(contribute, redux(sum), 1);
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("the sum"), std::string::npos) << e.what();
  }
}

TEST_F(FaceAccess, CountsTasksByWorker) {
  const consort::Codelet counted{"counted", consort::counted, consort::cpu([](int) {})};
  const consort::Codelet other{"other", consort::cpu([](int) {})};
  for (int i = 0; i < 100; ++i) rt.submit({.worker = static_cast<uint32_t>(i % 3)}, counted, i);
  rt.submit(other, 1);
  rt.wait();
  EXPECT_EQ(rt.counts(counted), (std::vector<uint64_t>{34, 33, 33, 0}));
  try {
    rt.counts(other);
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_UNSUPPORTED);
    EXPECT_NE(std::string(e.what()).find("CONSORT_CL_STATS"), std::string::npos) << e.what();
  }
}

}  // namespace
