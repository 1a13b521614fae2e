// The layouts one by one, as an application meets them: shapes from arguments, runs, the wire, purity. All dense ones
// against a model: dense_test.cpp; partitions: filter_test.cpp.
#include <algorithm>
#include <random>

#include <consort/sparse.h>

#include "interfaces/layout_harness.hpp"

namespace consort_test {
namespace {

template <class View>
const View &as(const Pod &p) { return *reinterpret_cast<const View *>(p.bytes); }

TEST(Void, HasNoBytes) {
  LayoutHarness h("void");
  Pod shape, view;
  EXPECT_EQ(h.ops->shape(nullptr, 0, shape, view), CONSORT_OK);
  EXPECT_EQ(h.ops->shape("x", 1, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(h.ops->bytes(shape), 0u);
  EXPECT_EQ(h.ops->extents(shape, view, nullptr, 0), 0u);
  EXPECT_EQ(h.ops->args(shape, view, nullptr, 0), 0u);
  EXPECT_EQ(h.runs(shape, view, view).size(), 0u);
  std::vector<unsigned char> none;
  h.replica(shape, none);
  EXPECT_EQ(h.ops->packed_bytes(shape, view), 0u);
  EXPECT_EQ(h.ops->pack(shape, view, nullptr, 0), CONSORT_OK);
  EXPECT_EQ(h.ops->unpack(shape, view, nullptr, 0), CONSORT_OK);
  EXPECT_EQ(h.ops->unpack(shape, view, "x", 1), CONSORT_E_INVAL);
  EXPECT_EQ(h.describe(shape), "void");
}

TEST(Variable, DescribesItsBytes) {
  LayoutHarness h("variable");
  double x = 3.5;
  Pod shape, view;
  ASSERT_EQ(h.make(consort_variable_args{&x, sizeof x}, shape, view), CONSORT_OK);
  EXPECT_EQ(consort_ptr(as<consort_variable_view>(view).addr), &x);
  EXPECT_EQ(as<consort_variable_view>(view).bytes, 8u);
  EXPECT_EQ(h.ops->bytes(shape), 8u);
  consort_extent e;
  EXPECT_EQ(h.ops->extents(shape, view, &e, 1), 1u);
  EXPECT_EQ(e.bytes, 8u);
  std::vector<unsigned char> memory;
  const Pod copy = h.replica(shape, memory);
  h.copy(shape, view, copy);
  EXPECT_EQ(std::memcmp(memory.data(), &x, 8), 0);
  consort_arg arg;
  EXPECT_EQ(h.ops->args(shape, view, &arg, 1), 1u);
  EXPECT_EQ(arg.kind, uint32_t{CONSORT_ARG_ADDR});
  EXPECT_EQ(arg.extent, 8u);
  EXPECT_EQ(h.describe(shape), "variable of 8 B");
}

TEST(Vector, DescribesItsElements) {
  LayoutHarness h("vector");
  std::vector<float> x(100, 1.5f);
  Pod shape, view;
  ASSERT_EQ(h.make(consort_vector_args{x.data(), 100, 4}, shape, view), CONSORT_OK);
  EXPECT_EQ(as<consort_vector_view>(view).n, 100u);
  EXPECT_EQ(as<consort_vector_view>(view).elem, 4u);
  std::vector<unsigned char> memory;
  const Pod copy = h.replica(shape, memory);
  EXPECT_EQ(h.touched(shape, view, copy, false, memory), std::vector<int>(400, 1));
  consort_arg args[2];
  EXPECT_EQ(h.ops->args(shape, view, args, 2), 2u);
  EXPECT_EQ(args[0].extent, 400u);
  EXPECT_EQ(args[1].kind, uint32_t{CONSORT_ARG_SCALAR});
  EXPECT_EQ(args[1].scalar, 100u);
  EXPECT_EQ(h.describe(shape), "vector of 100 x 4 B");
  Pod empty, nothing;
  ASSERT_EQ(h.make(consort_vector_args{x.data(), 0, 4}, empty, nothing), CONSORT_OK);
  EXPECT_EQ(h.ops->bytes(empty), 0u);
  EXPECT_TRUE(h.runs(empty, nothing, nothing).empty());
  h.replica(empty, memory);
}

TEST(Matrix, RunsCoverEachByteOnce) {
  LayoutHarness h("matrix");
  for (uint64_t nx : {1, 3, 8})
    for (uint64_t ny : {1, 2, 5})
      for (uint64_t gap : {0, 1, 4})
        for (uint64_t elem : {1, 8}) {
          const uint64_t ld = nx + gap;
          std::vector<unsigned char> home(ld * ny * elem);
          for (size_t i = 0; i < home.size(); ++i) home[i] = static_cast<unsigned char>(i);
          Pod shape, view;
          ASSERT_EQ(h.make(consort_matrix_args{home.data(), nx, ny, ld, elem}, shape, view), CONSORT_OK);
          EXPECT_EQ(h.ops->bytes(shape), nx * ny * elem);
          std::vector<unsigned char> memory;
          const Pod replica = h.replica(shape, memory);
          EXPECT_EQ(as<consort_matrix_view>(replica).ld, nx) << "packed";
          EXPECT_EQ(h.touched(shape, view, replica, false, memory), std::vector<int>(nx * ny * elem, 1));
          const auto read = h.touched(shape, view, replica, true, home);
          for (size_t i = 0; i < home.size(); ++i) EXPECT_EQ(read[i], i / elem % ld < nx ? 1 : 0);
          const auto runs = h.runs(shape, view, replica);
          ASSERT_EQ(runs.size(), 1u);
          EXPECT_EQ(runs[0].n[0] == 1, gap == 0 || ny == 1) << "merged where it is contiguous";
          consort_extent e;
          ASSERT_EQ(h.ops->extents(shape, view, &e, 1), 1u);
          EXPECT_EQ(e.bytes, ((ny - 1) * ld + nx) * elem);
          // There and back, over packed bytes as well.
          h.copy(shape, view, replica);
          const auto before = home;
          std::vector<unsigned char> packed(h.ops->packed_bytes(shape, replica));
          ASSERT_EQ(h.ops->pack(shape, view, packed.data(), packed.size()), CONSORT_OK);
          EXPECT_EQ(packed, memory);
          std::fill(home.begin(), home.end(), 0xcc);
          ASSERT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size()), CONSORT_OK);
          for (size_t i = 0; i < home.size(); ++i) EXPECT_EQ(home[i], i / elem % ld < nx ? before[i] : 0xcc);
          EXPECT_EQ(h.ops->pack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
          EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
          EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() + 1), CONSORT_E_INVAL);
          consort_arg args[4];
          ASSERT_EQ(h.ops->args(shape, view, args, 4), 4u);
          EXPECT_EQ(args[1].scalar, nx);
          EXPECT_EQ(args[2].scalar, ny);
          EXPECT_EQ(args[3].scalar, ld);
        }
}

TEST(Matrix, LeadingDimensionBelongsToTheView) {
  LayoutHarness h("matrix");
  char home[64];
  Pod a, b, va, vb;
  ASSERT_EQ(h.make(consort_matrix_args{home, 4, 4, 0, 1}, a, va), CONSORT_OK);
  ASSERT_EQ(h.make(consort_matrix_args{home, 4, 4, 9, 1}, b, vb), CONSORT_OK);
  EXPECT_EQ(as<consort_matrix_view>(va).ld, 4u);
  EXPECT_EQ(as<consort_matrix_view>(vb).ld, 9u);
  EXPECT_EQ(h.ops->footprint(a), h.ops->footprint(b));
  EXPECT_EQ(std::memcmp(a.bytes, b.bytes, h.ops->shape_size), 0);
  ASSERT_EQ(h.make(consort_matrix_args{home, 2, 8, 0, 1}, b, vb), CONSORT_OK);
  EXPECT_NE(h.ops->footprint(a), h.ops->footprint(b));
  EXPECT_EQ(h.describe(b), "matrix of 2 x 8 x 1 B");
}

TEST(Layouts, RefusesBadArguments) {
  constexpr uint64_t big = uint64_t{1} << 62, max = UINT64_MAX;
  auto *high = reinterpret_cast<void *>(max - 15);
  Pod s, v;
  LayoutHarness variable("variable"), vector("vector"), matrix("matrix");
  for (const LayoutHarness *h : {&variable, &vector, &matrix}) {
    EXPECT_EQ(h->ops->shape(nullptr, 0, s, v), CONSORT_E_INVAL);
    EXPECT_EQ(h->ops->shape(nullptr, 40, s, v), CONSORT_E_INVAL);
    const uint64_t args[6] = {0, 1, 1, 1, 1, 1};
    for (uint64_t n : {1, 8, 41, 48}) EXPECT_EQ(h->ops->shape(args, n, s, v), CONSORT_E_INVAL);
  }
  EXPECT_EQ(variable.make(consort_variable_args{nullptr, 0}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(variable.make(consort_variable_args{nullptr, max}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(variable.make(consort_variable_args{high, 16}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(vector.make(consort_vector_args{nullptr, 4, 0}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(vector.make(consort_vector_args{nullptr, big, 4}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(vector.make(consort_vector_args{nullptr, big, 2}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(vector.make(consort_vector_args{high, 4, 4}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(matrix.make(consort_matrix_args{nullptr, 4, 4, 3, 1}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(matrix.make(consort_matrix_args{nullptr, 4, 4, 4, 0}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(matrix.make(consort_matrix_args{nullptr, 1, 1ull << 32, 1ull << 32, 1}, s, v), CONSORT_E_INVAL)
      << "the gaps count";
  EXPECT_EQ(matrix.make(consort_matrix_args{nullptr, max, max, max, max}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(matrix.make(consort_matrix_args{high, 4, 4, 4, 1}, s, v), CONSORT_E_INVAL);
}

// No home: the view says so by its address.
TEST(Layouts, NullHomeGivesANullAddress) {
  Pod s, v;
  consort_extent e{{1, 1}, 0};
  LayoutHarness vector("vector");
  ASSERT_EQ(vector.make(consort_vector_args{nullptr, 10, 4}, s, v), CONSORT_OK);
  EXPECT_EQ(vector.ops->extents(s, v, &e, 1), 1u);
  EXPECT_EQ(e.addr.base + e.addr.off, 0u);
  EXPECT_EQ(e.bytes, 40u);
}

class Wire : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, Wire, testing::Values("void", "variable", "vector", "matrix", "block", "tensor", "ndim", "csr", "bcsr", "coo"),
                         [](const auto &i) { return std::string(i.param); });

consort_status some_shape(const LayoutHarness &h, std::mt19937_64 &random, Pod &shape, Pod &view) {
  const std::string name = h.plugin.plugin()->name;
  const uint64_t a = 1 + random() % 1000000, b = 1 + random() % 100000, e = 1 + random() % 64;
  if (name == "void") return h.ops->shape(nullptr, 0, shape, view);
  if (name == "variable") return h.make(consort_variable_args{nullptr, a}, shape, view);
  if (name == "vector") return h.make(consort_vector_args{nullptr, a, e}, shape, view);
  if (name == "matrix") return h.make(consort_matrix_args{nullptr, a, b, a + e, e}, shape, view);
  if (name == "block") return h.make(consort_block_args{nullptr, a, b, e, a + e, 0, e}, shape, view);
  if (name == "tensor") return h.make(consort_tensor_args{nullptr, e, b, e, e, e + 1, 0, 0, e}, shape, view);
  if (name == "csr") return h.make(consort_csr_args{nullptr, nullptr, nullptr, a, b, 7 * a, e - 1, e, 0}, shape, view);
  if (name == "bcsr") return h.make(consort_bcsr_args{nullptr, nullptr, nullptr, a, b, 5 * b, 0, e, 3, 8, 8}, shape, view);
  if (name == "coo") return h.make(consort_coo_args{nullptr, nullptr, nullptr, a, b, 3 * a, e, 4}, shape, view);
  return h.make(consort_ndim_args{nullptr, 3, {a, b, e}, {e * b, 1, b}, e}, shape, view);
}

TEST_P(Wire, ShapesRoundTrip) {
  LayoutHarness h(GetParam());
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    Pod shape, view, back;
    ASSERT_EQ(some_shape(h, random, shape, view), CONSORT_OK);
    const auto wire = h.wire(shape);
    ASSERT_EQ(h.ops->decode(wire.data(), static_cast<uint32_t>(wire.size()), back), CONSORT_OK);
    EXPECT_EQ(std::memcmp(shape.bytes, back.bytes, h.ops->shape_size), 0);
    EXPECT_EQ(h.ops->footprint(shape), h.ops->footprint(back));
  }
}

TEST(Wire, FormatIsPlatformIndependent) {
  LayoutHarness h("matrix");
  Pod shape, view;
  ASSERT_EQ(h.make(consort_matrix_args{nullptr, 0x0102, 3, 0, 8}, shape, view), CONSORT_OK);
  const unsigned char expected[] = {'M', 'A', 'T', '1', 2, 1, 0, 0, 0, 0, 0, 0, 3, 0,
                                    0,   0,   0,   0,   0, 0, 8, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(h.wire(shape), std::vector<unsigned char>(std::begin(expected), std::end(expected)));
}

TEST_P(Wire, HostileBytesAreRefusedOrValid) {
  LayoutHarness h(GetParam());
  std::mt19937_64 random(9);
  Pod shape, view;
  ASSERT_EQ(some_shape(h, random, shape, view), CONSORT_OK);
  const auto good = h.wire(shape);
  Pod back;
  for (uint32_t n = 0; n < good.size(); ++n) {
    std::vector<unsigned char> cut(good.begin(),
                                   good.begin() + n);  // its end is the end: a sanitizer sees one byte too many
    EXPECT_EQ(h.ops->decode(cut.data(), n, back), CONSORT_E_TRUNCATED);
  }
  auto longer = good;
  longer.push_back(0);
  EXPECT_EQ(h.ops->decode(longer.data(), static_cast<uint32_t>(longer.size()), back), CONSORT_E_INVAL);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (uint64_t k = 1 + random() % 8; k-- > 0;)
      bad[random() % bad.size()] = static_cast<unsigned char>(random() % 3 ? random() : 0xff);
    Pod made;
    const consort_status status = h.ops->decode(bad.data(), static_cast<uint32_t>(bad.size()), made);
    if (status != CONSORT_OK) {
      EXPECT_EQ(status, CONSORT_E_INVAL);
      continue;
    }
    EXPECT_LE(h.ops->bytes(made), uint64_t{INT64_MAX});
    EXPECT_EQ(h.wire(made), bad) << "an accepted shape is the original one";
  }
}

TEST_P(Wire, AnswersAreDeterministic) {
  LayoutHarness h(GetParam());
  std::mt19937_64 one(5), two(5);
  Pod a, b, va, vb;
  ASSERT_EQ(some_shape(h, one, a, va), CONSORT_OK);
  ASSERT_EQ(some_shape(h, two, b, vb), CONSORT_OK);
  EXPECT_EQ(std::memcmp(a.bytes, b.bytes, 256), 0);
  EXPECT_EQ(std::memcmp(va.bytes, vb.bytes, 256), 0);
  for (size_t i = h.ops->shape_size; i < 256; ++i) EXPECT_EQ(a.bytes[i], 0xee) << "wrote past its shape";
  for (size_t i = h.ops->view_size; i < 256; ++i) EXPECT_EQ(va.bytes[i], 0xee) << "wrote past its view";
  EXPECT_EQ(h.ops->footprint(a), h.ops->footprint(b));
  EXPECT_EQ(h.describe(a), h.describe(b));
  consort_run ra[4], rb[4];
  std::memset(ra, 0x11, sizeof ra);
  std::memset(rb, 0x11, sizeof rb);
  EXPECT_EQ(h.ops->runs(a, va, va, ra, 4), h.ops->runs(b, vb, vb, rb, 4));
  EXPECT_EQ(std::memcmp(ra, rb, sizeof ra), 0);
  EXPECT_LE(h.ops->shape_size, 256u);
  EXPECT_GT(h.ops->shape_size, 0u);
}

TEST(Footprint, DistinguishesSizesAndLayouts) {
  std::vector<uint64_t> seen;
  LayoutHarness variable("variable"), vector("vector"), matrix("matrix"), block("block"), ndim("ndim");
  LayoutHarness csr("csr"), coo("coo");
  Pod s, v;
  for (uint64_t i = 1; i < 40; ++i) {
    ASSERT_EQ(variable.make(consort_variable_args{nullptr, i}, s, v), CONSORT_OK);
    seen.push_back(variable.ops->footprint(s));
    for (uint64_t k = 1; k < 40; ++k) {
      ASSERT_EQ(vector.make(consort_vector_args{nullptr, i, k}, s, v), CONSORT_OK);
      seen.push_back(vector.ops->footprint(s));
      ASSERT_EQ(matrix.make(consort_matrix_args{nullptr, i, k, 0, 4}, s, v), CONSORT_OK);
      seen.push_back(matrix.ops->footprint(s));
      ASSERT_EQ(block.make(consort_block_args{nullptr, i, k, 1, 0, 0, 4}, s, v), CONSORT_OK);
      seen.push_back(block.ops->footprint(s));
      ASSERT_EQ(ndim.make(consort_ndim_args{nullptr, 2, {i, k}, {}, 4}, s, v), CONSORT_OK);
      seen.push_back(ndim.ops->footprint(s));
      ASSERT_EQ(csr.make(consort_csr_args{nullptr, nullptr, nullptr, i, 9, k, 0, 8, 4}, s, v), CONSORT_OK);
      seen.push_back(csr.ops->footprint(s));
      ASSERT_EQ(coo.make(consort_coo_args{nullptr, nullptr, nullptr, i, 9, k, 8, 4}, s, v), CONSORT_OK);
      seen.push_back(coo.ops->footprint(s));
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace consort_test
