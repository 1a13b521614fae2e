// The C++ face's slices of views: good as long as their hold, and said so where they are not.
#define CONSORT_CHECK_VIEWS 1
#include <consort/consort.hpp>

#include <numeric>

#include "api/harness.hpp"

using consort::rw;

namespace {

struct FaceSlice : ::testing::Test {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v = std::vector<int>(24);
  void SetUp() override { std::iota(v.begin(), v.end(), 0); }
};
template <class F>
std::string stale(const F &f) {
  try {
    f();
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_STALE);
    return e.what();
  }
  return "nothing was thrown";
}
constexpr char kSays[] = "a slice of a view is used after its hold has ended";
#define EXPECT_STALE(...) EXPECT_NE(stale([&] { (void)(__VA_ARGS__); }).find(kSays), std::string::npos)

TEST_F(FaceSlice, IsASpanLikeAnyOtherWhileTheHoldLives) {
  auto x = rt.vector(v);
  auto held = x.acquire();
  auto part = held.subspan(4, 8);
  EXPECT_EQ(part.size(), 8u);
  EXPECT_EQ(part[0] + part.front() + part.back(), 4 + 4 + 11);
  EXPECT_EQ(std::accumulate(part.begin(), part.end(), 0), 60);
  EXPECT_EQ(part.first(2).last(1)[0], 5);
  EXPECT_EQ(held.first<3>().back(), 2);
  part[1] = 100;
  const std::span<const int> plain = part;
  EXPECT_EQ(plain[1], 100);
  EXPECT_EQ([](std::span<int> s) { return s.size(); }(held.last(5)), 5u);
}

TEST_F(FaceSlice, AfterItsHoldIsRefused) {
  auto x = rt.vector(v);
  auto held = x.read();
  const auto part = held.subspan(1);
  const auto deeper = part.first(3);
  held.release();
  EXPECT_STALE(part[0]);
  EXPECT_STALE(part.data());
  EXPECT_STALE(part.begin());
  EXPECT_STALE(deeper.back());
  EXPECT_EQ(held.size(), 0u);
  auto escaped = [&] {
    const auto inner = x.read();
    return inner.first(2);
  }();
  EXPECT_STALE(escaped[0]);
  const auto again = x.read();
  EXPECT_STALE(escaped[0]) << "another hold is not this one";
  EXPECT_EQ(again.first(2)[1], 1);
}

TEST_F(FaceSlice, OfATemporaryTakesTheHoldAlong) {
  auto x = rt.vector(v);
  const consort::Codelet add{"add", consort::cpu([](std::span<int> s) { for (int &e : s) e += 100; })};
  consort::Task task;
  {
    auto part = x.read().subspan(20);
    static_assert(std::is_same_v<decltype(part), consort::Held<std::span<const int>>>);
    task = rt.submit(add, rw(x));
    EXPECT_FALSE(task.wait_for(std::chrono::milliseconds(5), consort::Wait::no_help)) << "the part holds the datum";
    EXPECT_EQ(part[3], 23);
  }
  task.wait();
  EXPECT_EQ(x.read().last(1)[0], 123);
}

TEST_F(FaceSlice, OfMatricesBlocksAndTensors) {
  auto m = rt.matrix(v.data(), 6, 4);
  {
    auto held = m.read();
    const auto line = held.line(2);
    EXPECT_EQ(line[5], 17);
    EXPECT_EQ(m.read().line(3)[0], 18);
    held.release();
    EXPECT_STALE(line[5]);
  }
  m.unregister();
  auto b = rt.block(v.data(), 2, 3, 4);
  {
    auto held = b.read();
    const auto plane = held.plane(1);
    const auto line = plane.line(2);
    EXPECT_EQ(plane(1, 2) + line[0], 11 + 10);
    held.release();
    EXPECT_STALE(plane(1, 2));
    EXPECT_STALE(line[0]);
  }
  b.unregister();
  auto t = rt.tensor(v.data(), 2, 3, 2, 2);
  auto held = t.acquire();
  const auto block = held.block(1);
  EXPECT_EQ(block(0, 0, 0), 12);
  auto moved = std::move(held);
  EXPECT_EQ(block.plane(1).line(0)[1], 19) << "the hold has moved, not ended";
  EXPECT_EQ(held.data(), nullptr);
  moved.release();
  EXPECT_STALE(block.plane(1).line(0)[1]);
}

TEST_F(FaceSlice, AfterItsRuntimeIsRefused) {
  auto x = rt.vector(v);
  auto held = x.read();
  const auto part = held.first(2);
  held.release();
  rt.stop();
  EXPECT_STALE(part[0]);
}

}  // namespace
