// The C++ face's parts of a datum: plans that own themselves, parts that are data like any other (FLT-01).
#include <consort/consort.hpp>

#include <numeric>

#include "api/harness.hpp"

using consort::r, consort::rw, consort::w;
using consort_test::kFourCores;

namespace {

struct FacePlan : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
};

const consort::Codelet add{"add", consort::cpu([](std::span<int> x, int a) {
                             for (int &e : x) e += a;
                           })};

TEST_F(FacePlan, PartsAndTheWholeAreOrderedByTheirBytes) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  auto parts = x.plan("blocks", consort_split{4, 0});
  ASSERT_EQ(parts.size(), 4u);
  int k = 1;
  for (const auto &part : parts) rt.submit(add, rw(part), k++);
  rt.submit(add, rw(x), 10);
  rt.submit(add, rw(parts[3]), 100);
  EXPECT_EQ(std::vector<int>(x.read().begin(), x.read().end()),
            (std::vector<int>{11, 11, 11, 12, 12, 12, 13, 13, 114, 114}));
  EXPECT_EQ(parts[1].read().size(), 3u);
}

TEST_F(FacePlan, PartsMayHaveAnotherLayout) {
  std::vector<int> v(12, 0);
  auto m = rt.matrix(v.data(), 4, 3);
  auto lines = m.plan<std::span<int>>("slices", consort_slices{1, 0});
  ASSERT_EQ(lines.size(), 3u);
  rt.submit(add, rw(lines[1]), 5);
  const auto view = m.read();
  for (size_t x = 0; x < 4; ++x) EXPECT_EQ(view(x, 0) * 100 + view(x, 1) * 10 + view(x, 2), 50);
}

TEST_F(FacePlan, PlansMoveAndEndOnceWithTasksInFlight) {
  std::vector<int> v(8, 0);
  auto x = rt.vector(v);
  for (int round = 0; round < 50; ++round) {
    consort::Parts<std::span<int>> parts = x.plan("blocks", consort_split{2, 0});
    consort::Parts<std::span<int>> other = std::move(parts);
    EXPECT_EQ(parts.size(), 0u);
    rt.submit(add, rw(other[0]), 1);
    rt.submit(add, rw(other[1]), 2);
    parts = std::move(other);
    EXPECT_EQ(parts.size(), 2u);
  }
  EXPECT_EQ(x.read()[0], 50);
  EXPECT_EQ(x.read()[7], 100);
}

TEST_F(FacePlan, AFilterThatTheLayoutLacksIsASentence) {
  std::vector<int> v(8, 0);
  auto x = rt.vector(v);
  try {
    (void)x.plan("spirals", consort_split{2, 0});
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("spirals"), std::string::npos) << e.what();
  }
}

TEST_F(FacePlan, ANumberStandsForSoManyParts) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  EXPECT_EQ(x.plan("blocks", 4).size(), 4u);
  EXPECT_EQ(x.plan("blocks", 3u).size(), 3u);
  EXPECT_EQ(x.plan("blocks", {2, 0}).size(), 2u);
  try {
    (void)x.plan("blocks", -1);
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("plan(\"blocks\", -1)"), std::string::npos) << e.what();
  }
}

TEST_F(FacePlan, APartThatDoesNotExistIsRefusedByName) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  auto parts = x.plan("blocks", 4);
  EXPECT_NO_THROW((void)parts[3]);
  try {
    (void)parts[7];
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_STREQ(e.what(), "part 7 of the plan \"blocks\" does not exist: there are 4, numbered from 0");
  }
}

TEST(FacePlanLives, PartsMayOutliveTheirDatumAndTheirRuntime) {
  std::vector<int> v(8, 0);
  consort::Parts<std::span<int>> parts;
  {
    consort::Runtime rt;
    {
      auto x = rt.vector(v);
      parts = x.plan("blocks", consort_split{2, 0});
      rt.submit(add, rw(parts[1]), 3);
    }
    EXPECT_EQ(v[7], 3);
    EXPECT_THROW(rt.submit(add, rw(parts[0]), 1), consort::Error);
  }
  EXPECT_EQ(parts.size(), 2u);
}

}  // namespace
