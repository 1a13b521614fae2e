// The C++ face's reductions by a value and an operation: codelets that the runtime makes and keeps.
#include <consort/consort.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

#include "api/harness.hpp"

using consort::r, consort::redux, consort::redux_fixed, consort::rw;
using consort_test::kFourCores;

namespace {

struct FaceReduction : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 4).set("cpu.topology", kFourCores)};
};

template <class F>
std::string refused(consort_status status, const F &f) {
  try {
    f();
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), status);
    return e.what();
  }
  return "nothing was thrown";
}

const consort::Codelet add{"add", consort::cpu([](double &sum, double by) { sum += by; })};

TEST_F(FaceReduction, ReducesOneValue) {
  double sum = 5, product = 2, largest = -1;
  {
    auto s = rt.variable(sum), p = rt.variable(product), m = rt.variable(largest);
    rt.reduction(s, 0, std::plus<>{});
    rt.reduction(p, 1.0, std::multiplies<double>{});
    rt.reduction(m, -1e9, [](double a, double b) { return std::max(a, b); });
    const consort::Codelet times{"times", consort::cpu([](double &x, double by) { x *= by; })};
    const consort::Codelet most{"most", consort::cpu([](double &x, double other) { x = std::max(x, other); })};
    for (int i = 1; i <= 100; ++i) {
      rt.submit(add, redux(s), static_cast<double>(i));
      rt.submit(most, redux(m), static_cast<double>(i * 37 % 101));
      if (i <= 20) rt.submit(times, redux(p), 2.0);
    }
  }
  EXPECT_EQ(sum, 5 + 5050) << "what it held before counts";
  EXPECT_EQ(product, 2.0 * (1 << 20));
  EXPECT_EQ(largest, 100);
}

// Every layout, with gaps between the lines where it may have them: elements in a gap are unchanged.
TEST_F(FaceReduction, ReducesEveryLayout) {
  std::vector<long> v(7, 1), m(5 * 4, 1), b(2 * 3 * 2, 1), t(2 * 2 * 2 * 2, 1), n(4 * 6, 1);
  {
    auto vector = rt.vector(v);
    auto matrix = rt.matrix(m.data(), 3, 4, 5);
    auto block = rt.block(b.data(), 2, 3, 2);
    auto tensor = rt.tensor(t.data(), 2, 2, 2, 2);
    auto ndim = rt.ndim(n.data(), {4, 6}, {6, 1});
    for (int i = 0; i < 2; ++i) {  // the second time the runtime has the codelets already
      rt.reduction(vector, 0, std::plus<>{});
      rt.reduction(matrix, 0, std::plus<>{});
      rt.reduction(block, 0, std::plus<>{});
      rt.reduction(tensor, 0, std::plus<>{});
      rt.reduction(ndim, 0, std::plus<>{});
    }
    const consort::Codelet v1{"v1", consort::cpu([](std::span<long> x) { for (long &e : x) ++e; })};
    const consort::Codelet m1{"m1", consort::cpu([](consort::Matrix<long> x) {
                                for (size_t j = 0; j < x.ny(); ++j)
                                  for (long &e : x.line(j)) ++e;
                              })};
    const consort::Codelet b1{"b1", consort::cpu([](consort::Block<long> x) { ++x(1, 2, 1); })};
    const consort::Codelet t1{"t1", consort::cpu([](consort::Tensor<long> x) { ++x(1, 1, 1, 1); })};
    const consort::Codelet n1{"n1", consort::cpu([](consort::Ndim<long> x) { ++x(3, 5), ++x(0, 0); })};
    for (int i = 0; i < 50; ++i) {
      rt.submit(v1, redux(vector));
      rt.submit(m1, redux_fixed(matrix));
      rt.submit(b1, redux(block));
      rt.submit(t1, redux(tensor));
      rt.submit(n1, redux(ndim));
    }
  }
  EXPECT_EQ(v, std::vector<long>(7, 51));
  for (size_t j = 0; j < 4; ++j)
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(m[j * 5 + i], i < 3 ? 51 : 1) << i << ' ' << j;
  EXPECT_EQ(b.back(), 51);
  EXPECT_EQ(std::accumulate(b.begin(), b.end(), 0L), 12 + 50);
  EXPECT_EQ(t.back(), 51);
  EXPECT_EQ(n[0], 51);
  EXPECT_EQ(n[23], 51);
  EXPECT_EQ(std::accumulate(n.begin(), n.end(), 0L), 24 + 100);
}

// An operation may have a state, which is part of it.
TEST_F(FaceReduction, OperationsMayHaveStates) {
  long v[2] = {0, 0};
  {
    auto x = rt.variable(v[0]), y = rt.variable(v[1]);
    const auto modulo = [](long m) { return [m](long a, long b) { return (a + b) % m; }; };
    rt.reduction(x, 0, modulo(7));
    rt.reduction(y, 0, modulo(11));
    const consort::Codelet plus{"plus", consort::cpu([](long &x, long by) { x += by; })};
    for (int i = 0; i < 10; ++i) rt.submit(plus, redux_fixed(x), 3L), rt.submit(plus, redux_fixed(y), 3L);
  }
  EXPECT_EQ(v[0] % 7, 30 % 7);
  EXPECT_EQ(v[1] % 11, 30 % 11);
}

// The codelets are the runtime's: the data may go in any order, a thousand of them, and by any thread.
TEST_F(FaceReduction, ManyDataShareTheirCodelets) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) {
        double sum = 0;
        {
          auto s = rt.variable(sum);
          rt.reduction(s, 0.0, std::plus<>{});
          rt.submit(add, redux(s), 1.0);
          rt.submit(add, redux(s), 2.0);
        }
        right += sum == 3;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(right, 1000);
}

TEST_F(FaceReduction, UnregisterLaterUnitesTheContributions) {
  double sum = 0;
  auto s = rt.variable(sum);
  rt.reduction(s, 0.0, std::plus<>{});
  rt.submit(add, redux(s), 4.0);
  s.unregister_later();
  rt.stop();
  EXPECT_EQ(sum, 4);
  EXPECT_NE(refused(CONSORT_E_STOPPED, [&] { rt.reduction(s, 0.0, std::plus<>{}); }).find("stopped"), std::string::npos);
}

TEST_F(FaceReduction, DatumOfAnotherRuntimeThrows) {
  consort::Runtime other{{"workers", "1"}};
  double sum = 0;
  auto s = other.variable(sum);
  EXPECT_NE(refused(CONSORT_E_INVAL, [&] { rt.reduction(s, 0.0, std::plus<>{}); }).find("another runtime"), std::string::npos);
  EXPECT_NE(refused(CONSORT_E_INVAL, [&] { rt.reduction(consort::Data<double &>(), 0.0, std::plus<>{}); }).find("another runtime"), std::string::npos);
}

}  // namespace
