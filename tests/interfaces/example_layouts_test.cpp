// The interfaces of examples/complex and examples/block_list, as the kernel meets them: IFC-14, IFC-16, IFC-17, IFC-20.
#include <numeric>
#include <random>

#include "../examples/block_list/block_list.h"
#include "../examples/complex/complex.h"
#include "interfaces/layout_harness.hpp"

namespace consort_test {
namespace {

std::string folder(std::string name) { return (CONSORT_BIN_DIR "/" + name).append("_plugins"); }

struct ExampleLayouts : testing::Test {
  LayoutHarness complex{"complex", folder("complex")}, list{"block_list", folder("block_list")};
  std::mt19937_64 random{3};
};

// There and back: by runs to a replica, by bytes to another one and home again.
void round_trip(const LayoutHarness &h, const Pod &shape, const Pod &home, const std::vector<double> &expected) {
  std::vector<unsigned char> one, two;
  const Pod a = h.replica(shape, one), b = h.replica(shape, two);
  const uint64_t bytes = expected.size() * sizeof(double);
  ASSERT_EQ(h.ops->bytes(shape), bytes);
  ASSERT_EQ(one.size(), bytes);
  h.copy(shape, home, a);
  EXPECT_EQ(std::memcmp(one.data(), expected.data(), bytes), 0);
  EXPECT_EQ(h.touched(shape, home, a, false, one), std::vector<int>(bytes, 1));
  std::vector<unsigned char> packed(h.ops->packed_bytes(shape, a));
  ASSERT_EQ(h.ops->pack(shape, a, packed.data(), packed.size()), CONSORT_OK);
  EXPECT_EQ(h.ops->pack(shape, a, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
  ASSERT_EQ(h.ops->unpack(shape, const_cast<Pod &>(b), packed.data(), packed.size()), CONSORT_OK);
  EXPECT_EQ(h.ops->unpack(shape, const_cast<Pod &>(b), packed.data(), packed.size() + 1), CONSORT_E_INVAL);
  EXPECT_EQ(one, two);
  h.copy(shape, b, home);
}

void hostile(const LayoutHarness &h, const Pod &shape, std::mt19937_64 &random) {
  const auto good = h.wire(shape);
  Pod back;
  ASSERT_EQ(h.ops->decode(good.data(), uint32_t(good.size()), back), CONSORT_OK);
  EXPECT_EQ(h.ops->footprint(shape), h.ops->footprint(back));
  EXPECT_EQ(h.wire(back), good);
  for (uint32_t n = 0; n < good.size(); ++n) {
    const std::vector<unsigned char> cut(good.begin(), good.begin() + n);
    EXPECT_EQ(h.ops->decode(cut.data(), n, back), CONSORT_E_TRUNCATED);
  }
  for (int i = 0; i < 5000; ++i) {
    auto bad = good;
    for (uint64_t k = 1 + random() % 5; k-- > 0;) bad[random() % bad.size()] = static_cast<unsigned char>(random());
    if (h.ops->decode(bad.data(), uint32_t(bad.size()), back) != CONSORT_OK) continue;
    EXPECT_LE(h.ops->bytes(back), uint64_t{INT64_MAX});
    EXPECT_EQ(h.wire(back), bad);
  }
}

TEST_F(ExampleLayouts, ComplexNumbersAreTwoArrays) {
  std::vector<double> re(100), im(100), all;
  std::iota(re.begin(), re.end(), 1);
  std::iota(im.begin(), im.end(), 1000);
  all = re;
  all.insert(all.end(), im.begin(), im.end());
  Pod shape, view;
  ASSERT_EQ(complex.make(complex_args{re.data(), im.data(), 100}, shape, view), CONSORT_OK);
  round_trip(complex, shape, view, all);
  hostile(complex, shape, random);
  EXPECT_EQ(complex.describe(shape), "100 complex numbers");
  consort_arg args[3];
  EXPECT_EQ(complex.ops->args(shape, view, args, 3), 3u);
  EXPECT_EQ(args[1].addr.base, reinterpret_cast<uint64_t>(im.data()));
  EXPECT_EQ(args[2].scalar, 100u);
  EXPECT_EQ(complex.make(complex_args{re.data(), nullptr, 100}, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(complex.make(complex_args{re.data(), re.data() + 99, 100}, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(complex.make(complex_args{nullptr, nullptr, uint64_t{1} << 59}, shape, view), CONSORT_E_INVAL);
  ASSERT_EQ(complex.make(complex_args{nullptr, nullptr, 0}, shape, view), CONSORT_OK);
  std::vector<unsigned char> none;
  complex.replica(shape, none);
}

TEST_F(ExampleLayouts, BlockListHoldsItsBlocks) {
  std::vector<std::vector<double>> blocks;
  std::vector<double> all;
  block_list_args a{12, {}, {}};
  for (uint32_t i = 0; i < 12; ++i) {
    blocks.emplace_back(1 + random() % 50, i + 0.5);
    all.insert(all.end(), blocks[i].begin(), blocks[i].end());
    a.n[i] = uint32_t(blocks[i].size());
    a.ptr[i] = blocks[i].data();
  }
  Pod shape, view;
  ASSERT_EQ(list.make(a, shape, view), CONSORT_OK);
  EXPECT_LE(list.ops->view_size, 256u);
  round_trip(list, shape, view, all);
  hostile(list, shape, random);
  EXPECT_EQ(list.describe(shape), "list of 12 blocks, " + std::to_string(all.size() * 8) + " B");
  // Filter "each": the blocks are vectors, of the real interface.
  LayoutHarness vector("vector");
  const consort_filter &each = list.ops->filters[0];
  ASSERT_EQ(each.count(shape, nullptr), 12u);
  EXPECT_STREQ(each.child, "vector");
  for (uint32_t i = 0; i < 12; ++i) {
    Pod s, v;
    ASSERT_EQ(each.shape(shape, nullptr, i, s), CONSORT_OK);
    ASSERT_EQ(each.alias(shape, view, nullptr, i, v), CONSORT_OK);
    EXPECT_EQ(vector.describe(s), "vector of " + std::to_string(a.n[i]) + " x 8 B");
    std::vector<double> out(a.n[i]);
    ASSERT_EQ(vector.ops->pack(s, v, out.data(), out.size() * 8), CONSORT_OK);
    EXPECT_EQ(out, blocks[i]);
  }
  Pod s;
  EXPECT_EQ(each.shape(shape, nullptr, 12, s), CONSORT_E_INVAL);

  auto bad = a;
  bad.count = 0;
  EXPECT_EQ(list.make(bad, shape, view), CONSORT_E_INVAL);
  bad.count = 13;
  EXPECT_EQ(list.make(bad, shape, view), CONSORT_E_INVAL);
  bad = a, bad.n[3] = 0;
  EXPECT_EQ(list.make(bad, shape, view), CONSORT_E_INVAL);
  bad = a, bad.ptr[3] = nullptr;
  EXPECT_EQ(list.make(bad, shape, view), CONSORT_E_INVAL);
  bad = a, bad.ptr[3] = a.ptr[4];
  EXPECT_EQ(list.make(bad, shape, view), CONSORT_E_INVAL) << "one into the other";
}

}  // namespace
}  // namespace consort_test
