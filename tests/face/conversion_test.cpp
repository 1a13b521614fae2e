// Values given to submit() that are of another type than the codelet takes: they arrive as they are, but for rounding,
// or the submission throws and no task exists.
#include <consort/consort.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include "api/harness.hpp"

namespace {

using consort::detail::holds;

consort::Settings two() { return consort::Settings{}.set("workers", 2).set("cpu.topology", consort_test::kFourCores); }

// What a codelet of one P gets for it.
template <class P, class A>
P arrived(const A &given) {
  consort::Runtime rt{two()};
  P got{};
  const consort::Codelet look{"look", consort::cpu([&got](P p) { got = p; })};
  rt.submit(look, given);
  rt.wait_all();
  return got;
}

// Whether it is refused, with our sentence, and no task was submitted.
template <class P, class A>
bool refused(const A &given) {
  consort::Runtime rt{two()};
  int runs = 0;
  const consort::Codelet look{"look", consort::cpu([&runs](P) { ++runs; })};
  try {
    rt.submit(look, given);
  } catch (const consort::Error &e) {
    rt.wait_all();
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("beyond the range of the type that the codelet takes"), std::string::npos) << e.what();
    EXPECT_EQ(runs, 0);
    return true;
  }
  rt.wait_all();
  EXPECT_EQ(runs, 1);
  return false;
}

TEST(Conversion, ValuesThatFitArriveAsTheyAre) {
  EXPECT_EQ(arrived<int>(7L), 7);
  EXPECT_EQ(arrived<int>(size_t{7}), 7);
  EXPECT_EQ(arrived<int>(int64_t{std::numeric_limits<int>::min()}), std::numeric_limits<int>::min());
  EXPECT_EQ(arrived<uint32_t>(int64_t{4294967295}), 4294967295u);
  EXPECT_EQ(arrived<size_t>(3), 3u);
  EXPECT_EQ(arrived<double>(1.5f), 1.5);
  EXPECT_EQ(arrived<float>(0.1), 0.1f) << "rounded";
  EXPECT_EQ(arrived<float>(16777217), 16777216.f) << "rounded";
  EXPECT_EQ(arrived<bool>(2), true);
  EXPECT_EQ(arrived<float>(std::numeric_limits<double>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(arrived<float>(std::nan(""))));
}

TEST(Conversion, NumbersOutOfRangeAreRefused) {
  EXPECT_TRUE(refused<int>(int64_t{1} << 31));
  EXPECT_TRUE(refused<int>((int64_t{1} << 32) + 7)) << "its low half would fit";
  EXPECT_TRUE(refused<int>(3000000000u));
  EXPECT_TRUE(refused<unsigned>(-1));
  EXPECT_TRUE(refused<size_t>(-1));
  EXPECT_TRUE(refused<int64_t>(std::numeric_limits<uint64_t>::max()));
  EXPECT_TRUE(refused<signed char>(200));
  EXPECT_TRUE(refused<float>(1e300));
  EXPECT_TRUE(refused<float>(-1e300));
  EXPECT_FALSE(refused<int>((int64_t{1} << 31) - 1));
  EXPECT_FALSE(refused<float>(double{std::numeric_limits<float>::max()}));
}

// Each value of two bytes to each type of one and two bytes, against arithmetic in a wider type.
template <class P, class A>
bool right_for_all() {
  using Wide = __int128;
  for (Wide v = std::numeric_limits<A>::min(); v <= std::numeric_limits<A>::max(); ++v)
    if (holds<P>(static_cast<A>(v)) != (v >= Wide{std::numeric_limits<P>::min()} && v <= Wide{std::numeric_limits<P>::max()})) return false;
  return true;
}

TEST(Conversion, RangesOfIntegersAreExact) {
  EXPECT_TRUE((right_for_all<int8_t, int16_t>()));
  EXPECT_TRUE((right_for_all<int8_t, uint16_t>()));
  EXPECT_TRUE((right_for_all<uint8_t, int16_t>()));
  EXPECT_TRUE((right_for_all<uint8_t, uint16_t>()));
  EXPECT_TRUE((right_for_all<int16_t, uint16_t>()));
  EXPECT_TRUE((right_for_all<uint16_t, int16_t>()));
  EXPECT_TRUE((right_for_all<int64_t, uint16_t>()));
  EXPECT_TRUE((right_for_all<uint64_t, uint16_t>()));
}

}  // namespace
