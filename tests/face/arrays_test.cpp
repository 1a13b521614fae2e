// The C++ face's views of more than two dimensions: the elements that they address. A codelet sees a datum as it was
// registered, with its steps, in memory of the program and of the runtime. IFC-05, IFC-09.
#include <consort/consort.hpp>

#include <numeric>

#include "api/harness.hpp"

using consort::Block, consort::Ndim, consort::Tensor;
using consort::r, consort::rw, consort::w;

namespace {

struct Arrays : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", consort_test::kFourCores)};
};

TEST(Views, AddressElements) {
  std::vector<int> m(4096);
  std::iota(m.begin(), m.end(), 0);
  const Block<int> b(m.data(), 3, 4, 5, 6, 30);
  EXPECT_EQ(b(2, 3, 4), 2 + 3 * 6 + 4 * 30);
  EXPECT_EQ(b.plane(4)(2, 3), b(2, 3, 4));
  EXPECT_EQ(b.plane(1).ld(), 6u);
  const Block<int> packed(m.data(), 3, 4, 5);
  EXPECT_EQ(packed.ldy(), 3u);
  EXPECT_EQ(packed.ldz(), 12u);
  const Tensor<int> t(m.data(), 3, 4, 5, 6, 4, 20, 101);
  EXPECT_EQ(t(2, 3, 4, 5), 2 + 3 * 4 + 4 * 20 + 5 * 101);
  EXPECT_EQ(t.block(5)(2, 3, 4), t(2, 3, 4, 5));
  EXPECT_EQ(Tensor<int>(m.data(), 3, 4, 5, 6).ldt(), 60u);
  const Ndim<int> c(m.data(), {4, 5, 6}, {30, 6, 1});  // int c[4][5][6]
  EXPECT_EQ(c(3, 4, 5), 3 * 30 + 4 * 6 + 5);
  EXPECT_EQ(Ndim<int>(m.data(), {4, 5, 6})(3, 4, 5), 3 + 4 * 4 + 5 * 20);
  const Block<const int> cb = b;
  const Tensor<const int> ct = t;
  const Ndim<const int> cc = c;
  EXPECT_TRUE(&cb(1, 1, 1) == &b(1, 1, 1) && &ct(1, 1, 1, 1) == &t(1, 1, 1, 1) && &cc(1, 1, 1) == &c(1, 1, 1));
}

TEST_F(Arrays, ReachTheCodeletWithTheirSteps) {
  std::vector<double> mb(200), mt(400), mn(20);
  auto b = rt.block(mb.data(), 3, 4, 5, 4, 20, "b");
  auto t = rt.tensor(Tensor<double>(mt.data(), 3, 2, 2, 4, 5, 12, 30));
  auto n = rt.ndim(mn.data(), {4, 5}, {5, 1});
  const consort::Codelet fill{"fill", consort::cpu([](Block<double> b, Tensor<double> t, Ndim<double> n, double v) {
                                for (size_t z = 0; z < b.nz(); ++z)
                                  for (size_t y = 0; y < b.ny(); ++y)
                                    for (size_t x = 0; x < b.nx(); ++x) b(x, y, z) = v;
                                t(t.nx() - 1, t.ny() - 1, t.nz() - 1, t.nt() - 1) = v + 1;
                                for (size_t i = 0; i < n.n(0); ++i) n(i, n.n(1) - 1) = double(i);
                              })};
  rt.submit(fill, rw(b), rw(t), rw(n), 7.0).wait();
  EXPECT_EQ(std::accumulate(mb.begin(), mb.end(), 0.0), 60 * 7.0) << "and none of the gaps";
  EXPECT_EQ(mb[3], 0.0);
  EXPECT_EQ(mt[2 + 5 + 12 + 3 * 30], 8.0);
  EXPECT_EQ(mn[2 * 5 + 4], 2.0);
  EXPECT_EQ(b.read().plane(4)(2, 3), 7.0);
  EXPECT_EQ(n.read()(3, 4), 3.0);
}

TEST_F(Arrays, OfRuntimeMemoryArePacked) {
  auto b = rt.block<float>(3, 4, 5);
  auto t = rt.tensor<float>(2, 3, 4, 5);
  auto n = rt.ndim<float>({2, 3, 2, 3, 2}, "n");
  const consort::Codelet born{"born", consort::cpu([](Block<float> b, Tensor<float> t, Ndim<float> n) {
                                std::iota(b.data(), b.data() + 60, 0.f);
                                std::iota(t.data(), t.data() + 120, 0.f);
                                std::iota(n.data(), n.data() + 72, 0.f);
                              })};
  const consort::Codelet look{
      "look", consort::cpu([](Block<const float> b, Tensor<const float> t, Ndim<const float> n) -> consort_status {
        const bool good = b(2, 3, 4) == 59.f && b.ldz() == 12 && t(1, 2, 3, 4) == 119.f && t.ldt() == 24 &&
                          n.dims() == 5 && n(1, 2, 1, 2, 1) == 71.f && n.step(4) == 36;
        return good ? CONSORT_OK : consort_fail(CONSORT_E_INTERNAL, "not as they were filled");
      })};
  rt.submit(born, w(b), w(t), w(n));
  rt.submit(look, r(b), r(t), r(n)).wait();
  EXPECT_EQ(t.acquire()(1, 0, 0, 0), 1.f);
}

TEST_F(Arrays, ConstElementsAreReadOnly) {
  const std::vector<int> fixed(24, 3);
  auto b = rt.block(fixed.data(), 2, 3, 4);
  static_assert(std::is_same_v<decltype(b), consort::Data<Block<const int>>>);
  const consort::Codelet sum{"sum", consort::cpu([](Block<const int> b, long &s) {
                               for (size_t z = 0; z < b.nz(); ++z)
                                 for (size_t y = 0; y < b.ny(); ++y)
                                   for (int e : b.plane(z).line(y)) s += e;
                             })};
  long s = 0;
  {
    auto total = rt.variable(s);
    rt.submit(sum, r(b), rw(total)).wait();
  }
  EXPECT_EQ(s, 72);
  std::vector<int> m(100);
  EXPECT_THROW(rt.block(m.data(), 4, 4, 4, 3, 16), consort::Error);
  EXPECT_THROW(rt.ndim(m.data(), {4, 4}, {2, 2}), consort::Error);
  EXPECT_THROW(rt.ndim(m.data(), {1, 1, 1, 1, 1, 1, 1, 1, 1}), consort::Error);
}

// The C API's helpers register the same things.
TEST_F(Arrays, AgreeWithTheCApi) {
  std::vector<int> m(200);
  consort_data_id b{}, t{}, n{}, packed{};
  const uint64_t sizes[] = {4, 5}, steps[] = {5, 1};
  ASSERT_EQ(consort_register_block(rt.c(), m.data(), 3, 4, 5, 0, 0, 4, &b), CONSORT_OK);
  ASSERT_EQ(consort_register_tensor(rt.c(), m.data() + 60, 2, 2, 2, 2, 0, 0, 0, 4, &t), CONSORT_OK);
  ASSERT_EQ(consort_register_ndim(rt.c(), m.data() + 80, 2, sizes, steps, 4, &n), CONSORT_OK);
  ASSERT_EQ(consort_register_ndim(rt.c(), m.data() + 100, 2, sizes, nullptr, 4, &packed), CONSORT_OK);
  auto block = rt.adopt<Block<int>>(b);
  auto tensor = rt.adopt<Tensor<int>>(t);
  auto ndim = rt.adopt<Ndim<int>>(n), other = rt.adopt<Ndim<int>>(packed);
  EXPECT_EQ(&block.read()(1, 1, 1), &m[1 + 3 + 12]);
  EXPECT_EQ(&tensor.read()(1, 1, 1, 1), &m[60 + 15]);
  EXPECT_EQ(&ndim.read()(1, 2), &m[80 + 5 + 2]);
  EXPECT_EQ(&other.read()(1, 2), &m[100 + 1 + 8]);
}

}  // namespace
