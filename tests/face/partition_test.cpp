// The C++ face's parts of a datum: plans that own themselves, parts that are data like any other (FLT-01).
#include <consort/consort.hpp>

#include <numeric>

#include "api/harness.hpp"

using consort::blocks, consort::r, consort::rw, consort::w;
using consort_test::kFourCores;

namespace {

struct FacePartition : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
};

const consort::Codelet add{"add", consort::cpu([](std::span<int> x, int a) {
                             for (int &e : x) e += a;
                           })};

TEST_F(FacePartition, PartsAndWholeAreOrdered) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  auto parts = x.partition(blocks{.parts = 4});
  ASSERT_EQ(parts.size(), 4u);
  int k = 1;
  for (const auto &part : parts) rt.submit(add, rw(part), k++);
  rt.submit(add, rw(x), 10);
  rt.submit(add, rw(parts[3]), 100);
  EXPECT_EQ(std::vector<int>(x.read().begin(), x.read().end()),
            (std::vector<int>{11, 11, 11, 12, 12, 12, 13, 13, 114, 114}));
  EXPECT_EQ(parts[1].read().size(), 3u);
}

TEST_F(FacePartition, PartsMayHaveAnotherLayout) {
  std::vector<int> v(12, 0);
  auto m = rt.matrix(v.data(), 4, 3);
  auto lines = m.partition(consort::slices{.axis = 1});
  ASSERT_EQ(lines.size(), 3u);
  rt.submit(add, rw(lines[1]), 5);
  const auto view = m.read();
  for (size_t x = 0; x < 4; ++x) EXPECT_EQ(view(x, 0) * 100 + view(x, 1) * 10 + view(x, 2), 50);
}

TEST_F(FacePartition, PlansMoveAndEndOnce) {
  std::vector<int> v(8, 0);
  auto x = rt.vector(v);
  for (int round = 0; round < 50; ++round) {
    consort::Parts<std::span<int>> parts = x.partition(blocks{.parts = 2});
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

TEST_F(FacePartition, UnknownFilterThrows) {
  std::vector<int> v(8, 0);
  auto x = rt.vector(v);
  try {
    (void)x.partition("spirals", consort_split{2, 0});
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("spirals"), std::string::npos) << e.what();
  }
}

// Each filter by its struct divides as the same filter by its name.
template <class A, class B>
void expect_same_parts(const A &a, const B &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto one = a[i].read();
    const void *const begin = one.data();
    const auto other = b[i].read();
    EXPECT_EQ(begin, static_cast<const void *>(other.data())) << i;
  }
}

TEST_F(FacePartition, VectorFiltersMatchTheirNames) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  expect_same_parts(x.partition(blocks{.parts = 3}), x.partition("blocks", consort_split{3, 0}));
  expect_same_parts(x.partition(consort::halves{}), x.partition("halves"));
  expect_same_parts(x.partition(consort::cyclic{.parts = 3}), x.partition<consort::Ndim<int>>("cyclic", consort_split{3, 0}));
  expect_same_parts(x.partition(consort::overlap{.parts = 2, .width = 2, .rim = true}),
                    x.partition("overlap", consort_halo{2, 0, 2, CONSORT_HALO_RIM}));
  const auto listed = x.partition(consort::pieces{.sizes = {1, 2, 7}});
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[2].read().size(), 7u);
  EXPECT_EQ(listed[2].read().data(), v.data() + 3);
  const auto single = x.partition(consort::slices{});
  static_assert(std::is_same_v<decltype(single), const consort::Parts<int &>>);
  EXPECT_EQ(single.size(), 10u);
}

TEST_F(FacePartition, MatrixFiltersMatchTheirNames) {
  std::vector<int> v(24, 0);
  auto m = rt.matrix(v.data(), 6, 4);
  expect_same_parts(m.partition(consort::rows{.parts = 3}), m.partition("rows", consort_split{3, 1}));
  expect_same_parts(m.partition(consort::cols{.parts = 3}), m.partition("cols", consort_split{3, 0}));
  expect_same_parts(m.partition(blocks{.parts = 2, .axis = 1}), m.partition("blocks", consort_split{2, 1}));
  expect_same_parts(m.partition(consort::tiles{.x = 3, .y = 2}), m.partition("tiles", consort_tiles{3, 2}));
  expect_same_parts(m.partition(consort::cyclic{.parts = 2, .axis = 1}), m.partition("cyclic", consort_split{2, 1}));
  EXPECT_EQ(m.partition(consort::tiles{.x = 3, .y = 2})[4].read().data(), v.data() + 2 * 6 + 2) << "column 1 of line 1";
  const auto lines = m.partition(consort::slices{.axis = 1});
  static_assert(std::is_same_v<decltype(lines), const consort::Parts<std::span<int>>>);
  EXPECT_EQ(lines[3].read().data(), v.data() + 18);
}

TEST_F(FacePartition, FiltersOfMoreDimensionsMatchTheirNames) {
  std::vector<int> v(2 * 4 * 6 * 2, 0);
  auto b = rt.block(v.data(), 4, 6, 2);
  expect_same_parts(b.partition(consort::tiles{.x = 2, .y = 3, .z = 2}), b.partition("tiles", consort_grid{{2, 3, 2}}));
  static_assert(std::is_same_v<decltype(b.partition(consort::slices{.axis = 2})), consort::Parts<consort::Matrix<int>>>);
  EXPECT_EQ(b.partition(consort::slices{.axis = 2}).size(), 2u);
  auto t = rt.tensor(v.data() + 48, 4, 3, 2, 2);
  expect_same_parts(t.partition(consort::tiles{.x = 2, .t = 2}), t.partition("tiles", consort_grid{{2, 1, 1, 2}}));
  std::vector<int> u(4 * 4, 0);
  auto n = rt.ndim(u.data(), {4, 4});
  expect_same_parts(n.partition(consort::grid{.parts = {2, 2}}), n.partition("tiles", consort_grid{{2, 2}}));
  EXPECT_EQ(n.partition(consort::tiles{.y = 4}).size(), 4u);
}

// A filter of one's own is a struct, too.
struct Evens {
  unsigned parts;
  static constexpr const char *filter = "cyclic";
  template <class V>
  using Part = std::conditional_t<std::is_same_v<V, std::span<int>>, consort::Ndim<int>, void>;
  consort_split params() const { return {parts, 0}; }
};
TEST_F(FacePartition, TakesAFilterOfTheProgram) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  const auto parts = x.partition(Evens{2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].read().n(0), 5u);
  EXPECT_EQ(parts[1].read().step(0), 2u);
}

TEST_F(FacePartition, ReadOnlyPartsRefuseWrites) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  const auto parts = x.partition(blocks{.parts = 2}, consort::read_only);
  static_assert(std::is_same_v<decltype(parts), const consort::Parts<std::span<const int>>>);
  static_assert(std::is_same_v<decltype(x.partition(consort::overlap{.parts = 2})), consort::Parts<std::span<const int>>>);
  rt.submit(add, rw(x), 3);
  EXPECT_EQ(parts[1].read()[4], 3);
  // By the C API, which has no types: the runtime refuses the task.
  const consort_use use{parts[0].id(), CONSORT_M_RW, 0};
  consort_task_desc task = CONSORT_TASK_INIT;
  task.uses = &use;
  task.nuses = 1;
  EXPECT_EQ(consort_submit(rt.c(), &task, nullptr), CONSORT_E_INVAL) << consort_error();
}

template <class F>
std::string refused(const F &f) {
  try {
    f();
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    return e.what();
  }
  return "nothing was thrown";
}
TEST_F(FacePartition, InvalidCountsThrowWithTheField) {
  std::vector<int> v(12, 0);
  auto x = rt.vector(v);
  auto m = rt.matrix(v.data(), 0, 0);
  EXPECT_EQ(refused([&] { (void)x.partition(blocks{.parts = int64_t{-1}}); }), "blocks.parts: the number is negative or above 4294967295");
  EXPECT_EQ(refused([&] { (void)x.partition(blocks{.parts = size_t{1} << 32}); }), "blocks.parts: the number is negative or above 4294967295");
  EXPECT_EQ(refused([&] { (void)m.partition(consort::tiles{.x = 2, .z = 2}); }), "tiles.z: a matrix has the axes x and y");
  EXPECT_EQ(refused([&] { (void)rt.block<int>(2, 2, 2).partition(consort::tiles{.t = 2}); }), "tiles.t: a datum of so few axes has no t");
  EXPECT_EQ(refused([&] { (void)rt.ndim<int>({2, 2}).partition(consort::grid{.parts = {1, 1, 1, 1, 1, 1, 1, 1, 1}}); }),
            "grid.parts: a datum has eight axes at most");
  EXPECT_NE(refused([&] { (void)x.partition(blocks{.parts = 0}); }).find("blocks"), std::string::npos);
  EXPECT_NE(refused([&] { (void)x.partition(blocks{.parts = 2, .axis = 1}); }).find("blocks"), std::string::npos);
  EXPECT_NE(refused([&] { (void)x.partition(consort::pieces{.sizes = {1, 2}}); }).find("list"), std::string::npos);
}

TEST_F(FacePartition, AbsentPartThrowsWithItsNumber) {
  std::vector<int> v(10, 0);
  auto x = rt.vector(v);
  auto parts = x.partition(blocks{.parts = 4});
  EXPECT_NO_THROW((void)parts[3]);
  try {
    (void)parts[7];
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_STREQ(e.what(), "part 7 of the plan \"blocks\" does not exist: there are 4, numbered from 0");
  }
}

TEST(FacePartitionLifetimes, PartsMayOutliveDatumAndRuntime) {
  std::vector<int> v(8, 0);
  consort::Parts<std::span<int>> parts;
  {
    consort::Runtime rt;
    {
      auto x = rt.vector(v);
      parts = x.partition(blocks{.parts = 2});
      rt.submit(add, rw(parts[1]), 3);
    }
    EXPECT_EQ(v[7], 3);
    EXPECT_THROW(rt.submit(add, rw(parts[0]), 1), consort::Error);
  }
  EXPECT_EQ(parts.size(), 2u);
}

}  // namespace
