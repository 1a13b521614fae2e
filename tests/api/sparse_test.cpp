// Sparse matrices in whole programs: products with a vector by parts of csr, bcsr and coo against a loop. Parts are
// written and the whole is read, matrices are written by tasks alone, and bad ones refused. IFC-06, IFC-07, IFC-08,
// FLT-15, FLT-16.
#include <algorithm>
#include <numeric>
#include <random>

#include <consort/sparse.h>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

// A matrix with numbers that are exact in any order of adding.
struct Matrix {
  uint64_t rows, cols, r, c;
  uint32_t first;
  std::vector<uint32_t> start, column, row;
  std::vector<double> value;

  Matrix(uint64_t n, uint64_t m, uint64_t lines, uint64_t columns, uint32_t from, std::mt19937_64 &random)
      : rows(n), cols(m), r(lines), c(columns), first(from), start{from} {
    for (uint64_t i = 0; i < rows; ++i) {
      for (uint64_t k = random() % 3 ? random() % 12 : 0; k-- > 0;) {
        row.push_back(uint32_t(i));
        column.push_back(uint32_t(random() % cols));
        for (uint64_t e = 0; e < r * c; ++e) value.push_back(double(random() % 17) - 8);
      }
      start.push_back(uint32_t(first + column.size()));
    }
  }
  uint64_t nnz() const { return column.size(); }
  std::vector<double> times(const std::vector<double> &x) const {
    std::vector<double> y(rows * r);
    for (uint64_t k = 0; k < nnz(); ++k)
      for (uint64_t e = 0; e < r * c; ++e) y[row[k] * r + e / c] += value[k * r * c + e] * x[column[k] * c + e % c];
    return y;
  }
  std::vector<consort_row_end> bands(uint32_t parts) const {
    std::vector<consort_row_end> ends(parts);
    consort_cut_rows(start.data(), 4, rows, parts, CONSORT_CUT_ENTRIES, ends.data());
    return ends;
  }
};
std::vector<double> some_vector(uint64_t n) {
  std::vector<double> x(n);
  for (uint64_t i = 0; i < n; ++i) x[i] = double(i * 7 % 13) - 6;
  return x;
}

template <class Args>
consort_data_id sparse(consort_runtime *rt, const char *layout, const Args &a, const char *name) {
  const consort_data_desc d{sizeof d, 0, layout, &a, sizeof a, name};
  consort_data_id id{0};
  need(consort_register(rt, &d, &id), name);
  return id;
}
consort_csr_args csr_args(Matrix &a) { return {a.value.data(), a.column.data(), a.start.data(), a.rows, a.cols, a.nnz(), a.first, 8, 4}; }
consort_bcsr_args bcsr_args(Matrix &a) {
  return {a.value.data(), a.column.data(), a.start.data(), a.rows, a.cols, a.nnz(), a.first, a.r, a.c, 8, 4};
}
consort_coo_args coo_args(Matrix &a) { return {a.value.data(), a.column.data(), a.row.data(), a.rows, a.cols, a.nnz(), 8, 4}; }

using Ids = std::vector<consort_data_id>;
Ids plan(consort_runtime *rt, consort_data_id x, const char *filter, const void *params, uint64_t bytes) {
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = filter;
  d.params = params;
  d.params_bytes = bytes;
  consort_plan_id id{0};
  need(consort_plan_create(rt, x, &d, &id), filter);
  Ids out(size_t(consort_plan_parts(rt, id, nullptr, 0)));
  consort_plan_parts(rt, id, out.data(), uint32_t(out.size()));
  return out;
}
Ids bands(consort_runtime *rt, consort_data_id x, const std::vector<consort_row_end> &ends) {
  std::vector<uint64_t> p(1 + 2 * ends.size());
  p[0] = 2 * ends.size();  // on this machine the lower half comes first; the upper is `reserved`
  std::memcpy(p.data() + 1, ends.data(), ends.size() * sizeof ends[0]);
  return plan(rt, x, "rows", p.data(), p.size() * 8);
}
// The pieces of a vector that belong to bands of rows, `r` elements to a row.
Ids pieces(consort_runtime *rt, consort_data_id y, const std::vector<consort_row_end> &ends, uint64_t r) {
  std::vector<uint64_t> p{ends.size()};
  for (size_t i = 0; i < ends.size(); ++i) p.push_back((ends[i].row - (i ? ends[i - 1].row : 0)) * r);
  return plan(rt, y, "list", p.data(), p.size() * 8);
}

struct Sparse : ::testing::Test {
  Rt rt;
  Bodies body;
  std::mt19937_64 random{11};
  consort_codelet_id csr_product, bcsr_product, coo_product, csr_twice, matrix_twice, zero, add;

  static const double *in(const consort_call &c, uint32_t i) { return pointer<const double>(c, i); }
  static const consort_csr_view &csr(const consort_call &c) { return *static_cast<const consort_csr_view *>(c.views[0]); }

  void SetUp() override {
    csr_product = body(rt, "csr product", [](const consort_call &c) {  // R: a, R: x, W: y
      const auto &a = csr(c);
      const auto *column = static_cast<const uint32_t *>(consort_ptr(a.column));
      for (uint64_t i = 0; i < a.rows; ++i) {
        double sum = 0;
        for (uint64_t k = consort_csr_begin(&a, i); k < consort_csr_begin(&a, i + 1); ++k) sum += in(c, 0)[k] * in(c, 1)[column[k]];
        pointer<double>(c, 2)[i] = sum;
      }
      return CONSORT_OK;
    });
    bcsr_product = body(rt, "bcsr product", [](const consort_call &c) {
      const auto &a = *static_cast<const consort_bcsr_view *>(c.views[0]);
      const auto *column = static_cast<const uint32_t *>(consort_ptr(a.column));
      std::fill_n(pointer<double>(c, 2), a.rows * a.r, 0.0);
      for (uint64_t i = 0; i < a.rows; ++i)
        for (uint64_t k = consort_bcsr_begin(&a, i); k < consort_bcsr_begin(&a, i + 1); ++k)
          for (uint64_t e = 0; e < a.r * a.c; ++e)
            pointer<double>(c, 2)[i * a.r + e / a.c] += in(c, 0)[k * a.r * a.c + e] * in(c, 1)[column[k] * a.c + e % a.c];
      return CONSORT_OK;
    });
    coo_product = body(rt, "coo product", [](const consort_call &c) {  // R: a, R: x, REDUX: y
      const auto &a = *static_cast<const consort_coo_view *>(c.views[0]);
      for (uint64_t k = 0; k < a.nnz; ++k)
        pointer<double>(c, 2)[consort_index_at(consort_ptr(a.row), a.index, k)] +=
            in(c, 0)[k] * in(c, 1)[consort_index_at(consort_ptr(a.column), a.index, k)];
      return CONSORT_OK;
    });
    csr_twice = body(rt, "csr twice", [](const consort_call &c) {
      for (uint64_t k = 0; k < csr(c).nnz; ++k) pointer<double>(c, 0)[k] *= 2;
      return CONSORT_OK;
    });
    matrix_twice = body(rt, "matrix twice", [](const consort_call &c) {
      const auto &m = *static_cast<const consort_matrix_view *>(c.views[0]);
      for (uint64_t i = 0; i < m.nx * m.ny; ++i) pointer<double>(c, 0)[i / m.nx * m.ld + i % m.nx] *= 2;
      return CONSORT_OK;
    });
    zero = body(rt, "zero", [](const consort_call &c) {
      std::fill_n(pointer<double>(c, 0), static_cast<const consort_vector_view *>(c.views[0])->n, 0.0);
      return CONSORT_OK;
    });
    add = body(rt, "add", [](const consort_call &c) {
      for (uint64_t i = 0; i < static_cast<const consort_vector_view *>(c.views[0])->n; ++i) pointer<double>(c, 0)[i] += in(c, 1)[i];
      return CONSORT_OK;
    });
  }
  void product(consort_codelet_id c, const Ids &a, consort_data_id x, const Ids &y) {
    ASSERT_EQ(a.size(), y.size());
    for (size_t i = 0; i < a.size(); ++i) Desc(c).r(a[i]).r(x).w(y[i]).must(rt);
  }
};

TEST_F(Sparse, MultipliesByBandsOfACsr) {
  for (uint32_t first : {0u, 1u}) {
    Matrix a(300, 200, 1, 1, first, random);
    auto x = some_vector(a.cols);
    std::vector<double> y(a.rows, -1), z(a.rows, -1);
    auto expected = a.times(x);
    const auto A = sparse(rt, "csr", csr_args(a), "A");
    const auto X = vector_of(rt, x.data(), x.size(), 8, "x"), Y = vector_of(rt, y.data(), y.size(), 8, "y"),
               Z = vector_of(rt, z.data(), z.size(), 8, "z");
    const auto ends = a.bands(17);
    const auto as = bands(rt, A, ends), ys = pieces(rt, Y, ends, 1);
    product(csr_product, as, X, ys);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(y, expected);
    for (auto part : as) Desc(csr_twice).rw(part).must(rt);    // parts are written,
    Desc(csr_product).r(A).r(X).w(Z).must(rt);                 // the whole is read,
    Desc(csr_twice).rw(A).must(rt);                            // written,
    product(csr_product, as, X, ys);                           // and its parts are read
    for (auto d : {A, X, Y, Z}) ASSERT_OK(consort_unregister(rt, d));
    for (double &e : expected) e *= 2;
    EXPECT_EQ(z, expected);
    for (double &e : expected) e *= 2;
    EXPECT_EQ(y, expected);
  }
}

TEST_F(Sparse, MultipliesByBandsAndBlocksOfABcsr) {
  Matrix a(60, 40, 3, 2, 0, random);
  auto x = some_vector(a.cols * a.c);
  std::vector<double> y(a.rows * a.r, -1);
  auto expected = a.times(x);
  const auto A = sparse(rt, "bcsr", bcsr_args(a), "A");
  const auto X = vector_of(rt, x.data(), x.size(), 8, "x"), Y = vector_of(rt, y.data(), y.size(), 8, "y");
  const auto ends = a.bands(7);
  const auto as = bands(rt, A, ends), ys = pieces(rt, Y, ends, a.r);
  product(bcsr_product, as, X, ys);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(y, expected);
  const auto blocks = plan(rt, A, "blocks", nullptr, 0);  // a second plan beside the first
  ASSERT_EQ(blocks.size(), a.nnz());
  for (auto b : blocks) Desc(matrix_twice).rw(b).must(rt);
  product(bcsr_product, as, X, ys);
  for (auto d : {A, X, Y}) ASSERT_OK(consort_unregister(rt, d));
  for (double &e : expected) e *= 2;
  EXPECT_EQ(y, expected);
}

// Of two matrices of one size the one with more blocks makes more parts: the filter is given no number.
TEST_F(Sparse, PartCountFollowsBlocks) {
  std::vector<size_t> made;
  for (int i = 0; i < 3; ++i) {
    Matrix a(60, 40, 3, 2, 0, random);
    const uint64_t before = a.nnz();
    for (int k = 0; k < 10 * i; ++k) {  // the last rows lose blocks
      a.column.pop_back();
      a.row.pop_back();
      a.value.resize(a.value.size() - a.r * a.c);
    }
    for (uint32_t &s : a.start) s = std::min(s, uint32_t(a.nnz()));
    ASSERT_EQ(a.nnz(), before - static_cast<uint64_t>(10 * i));
    const auto A = sparse(rt, "bcsr", bcsr_args(a), "A");
    const auto parts = plan(rt, A, "blocks", nullptr, 0);
    EXPECT_EQ(parts.size(), a.nnz());
    made.push_back(parts.size());
    const double last = a.value.back();
    Desc(matrix_twice).rw(parts.back()).must(rt);
    ASSERT_OK(consort_unregister(rt, A));
    EXPECT_EQ(a.value.back(), 2 * last) << "the last part is the last block";
  }
  EXPECT_NE(made[0], made[1]);
  EXPECT_NE(made[1], made[2]);
}

TEST_F(Sparse, ReducesOverPiecesOfACoo) {
  Matrix a(300, 200, 1, 1, 0, random);
  std::vector<size_t> order(a.nnz());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Matrix b = a;
  for (size_t k = 0; k < order.size(); ++k) b.row[k] = a.row[order[k]], b.column[k] = a.column[order[k]], b.value[k] = a.value[order[k]];
  auto x = some_vector(a.cols);
  std::vector<double> y(a.rows, 0);
  const auto A = sparse(rt, "coo", coo_args(b), "A");
  const auto X = vector_of(rt, x.data(), x.size(), 8, "x"), Y = vector_of(rt, y.data(), y.size(), 8, "y");
  ASSERT_OK(consort_data_set_reduction(rt, Y, zero, add));
  const consort_split split{9, 0};
  for (auto part : plan(rt, A, "blocks", &split, sizeof split)) Desc(coo_product).r(part).r(X).use(Y, CONSORT_M_REDUX).must(rt);
  for (auto d : {A, X, Y}) ASSERT_OK(consort_unregister(rt, d));
  EXPECT_EQ(y, a.times(x));
}

// The runtime has the memory; each band is written, structure and all, by a task of its own.
TEST_F(Sparse, TasksWriteStructureAndValues) {
  Matrix a(80, 50, 1, 1, 0, random);
  auto x = some_vector(a.cols);
  std::vector<double> y(a.rows, -1);
  auto none = csr_args(a);
  none.value = none.column = none.start = nullptr;
  Matrix copy = a;
  std::fill(copy.value.begin(), copy.value.end(), -1);
  std::fill(copy.column.begin(), copy.column.end(), 0);
  std::fill(copy.start.begin(), copy.start.end(), 0);
  const auto A = sparse(rt, "csr", none, "A"), C = sparse(rt, "csr", csr_args(copy), "copy");
  const auto X = vector_of(rt, x.data(), x.size(), 8, "x"), Y = vector_of(rt, y.data(), y.size(), 8, "y");
  const auto fill = body(rt, "fill", [&a](const consort_call &c) {
    const auto &v = csr(c);
    const uint64_t from = v.first, row = value<uint64_t>(c, 0);
    std::copy_n(a.value.begin() + long(from), v.nnz, pointer<double>(c, 0));
    std::copy_n(a.column.begin() + long(from), v.nnz, static_cast<uint32_t *>(consort_ptr(v.column)));
    const uint64_t own = v.rows && !(v.flags & CONSORT_SPARSE_BORROWED_END) ? v.rows + 1 : v.rows;
    std::copy_n(a.start.begin() + long(row), own, static_cast<uint32_t *>(consort_ptr(v.start)));
    return CONSORT_OK;
  });
  const auto ends = a.bands(6);
  const auto as = bands(rt, A, ends);
  for (size_t i = 0; i < as.size(); ++i) Desc(fill).w(as[i]).arg(i ? ends[i - 1].row : uint64_t{0}).must(rt);
  Desc(csr_product).r(A).r(X).w(Y).must(rt);
  ASSERT_OK(consort_data_copy(rt, C, A, {0}, nullptr));
  for (auto d : {A, C, X, Y}) ASSERT_OK(consort_unregister(rt, d));
  EXPECT_EQ(y, a.times(x));
  EXPECT_EQ(copy.value, a.value);
  EXPECT_EQ(copy.column, a.column);
  EXPECT_EQ(copy.start, a.start);
}

TEST_F(Sparse, RefusesInvalidPartitions) {
  Matrix a(20, 20, 1, 1, 0, random);
  const auto A = sparse(rt, "csr", csr_args(a), "A"), B = sparse(rt, "coo", coo_args(a), "B");
  consort_plan_desc d = CONSORT_PLAN_INIT;
  consort_plan_id id{0};
  CONSORT_ROWS(2) p = {4, 0, {{10, a.start[10]}, {20, a.start[20]}}};
  d.filter = "rows";
  d.params = &p;
  d.params_bytes = sizeof p;
  ASSERT_OK(consort_plan_create(rt, A, &d, &id));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, B, &d, &id), "rows", "blocks", "list");
  d.params_bytes = sizeof p - 8;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, A, &d, &id), "rows", "40 bytes", "32");
  d.params_bytes = sizeof p;
  p.end[1].row = 19;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, A, &d, &id), "no part", "A");
  p.end[1] = {20, uint64_t{a.start[20]} + 1};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, A, &d, &id), "no part", "A");
  p.numbers = 3;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, A, &d, &id), "no part", "A");
  auto wrong = csr_args(a);
  wrong.elem = 0;
  const consort_data_desc bad{sizeof bad, 0, "csr", &wrong, sizeof wrong, "bad"};
  consort_data_id none{0};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register(rt, &bad, &none), "csr");
  for (auto x : {A, B}) ASSERT_OK(consort_unregister(rt, x));
}

}  // namespace
