// The sparse layouts against the model of sparse_model.hpp, on random matrices: views, runs, extents, packing, the
// bytes of a part. Bad arguments, parameters and contents are refused. IFC-06 bcsr, IFC-07 csr, IFC-08 coo, FLT-15,
// FLT-16.
#include <memory>

#include "interfaces/sparse_model.hpp"

namespace consort_test {
namespace {

const consort_filter *find(const LayoutHarness &h, const std::string &name) {
  for (uint32_t i = 0; i < h.ops->nfilters; ++i)
    if (h.ops->filters[i].name == name) return &h.ops->filters[i];
  return nullptr;
}
// Parameters without a spare byte at the end: a sanitizer sees one byte too many.
std::unique_ptr<uint32_t[]> exact(const std::vector<uint32_t> &p) {
  auto out = std::make_unique<uint32_t[]>(p.size());
  std::copy(p.begin(), p.end(), out.get());
  return out;
}

// As consort_index_at(), also where the replica of a test does not begin at a number's place.
uint64_t number(const void *array, uint64_t index, uint64_t i) {
  uint64_t n = 0;
  std::memcpy(&n, static_cast<const char *>(array) + i * index, index);
  return n;
}

struct SparseLayout : testing::TestWithParam<const char *> {
  LayoutHarness h{GetParam()};
  std::mt19937_64 random{29};
};
INSTANTIATE_TEST_SUITE_P(All, SparseLayout, testing::Values("csr", "bcsr", "coo"), [](const auto &i) { return std::string(i.param); });

TEST_P(SparseLayout, AgreesWithTheModel) {
  for (int round = 0; round < 500; ++round) {
    Sparse s = some_sparse(GetParam(), random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    for (size_t k = h.ops->shape_size; k < 256; ++k) ASSERT_EQ(shape.bytes[k], 0xee);
    for (size_t k = h.ops->view_size; k < 256; ++k) ASSERT_EQ(view.bytes[k], 0xee);
    const Fields f = read_sparse(GetParam(), view);
    EXPECT_TRUE(f.rows == s.rows && f.cols == s.cols && f.nnz == s.nnz && f.first == s.first && f.entry == s.entry() &&
                f.index == s.index && f.flags == 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(f.at[i].base + f.at[i].off, reinterpret_cast<uint64_t>(s.ptr(i)));
    EXPECT_EQ(h.ops->bytes(shape), s.bytes());
    std::vector<consort_extent> e(3);
    e.resize(h.ops->extents(shape, view, e.data(), 3));
    std::vector<int> reached(s.memory.size());
    for (const auto &x : e)
      for (uint64_t k = 0; k < x.bytes; ++k) ++reached.at(x.addr.base + x.addr.off + k - reinterpret_cast<uint64_t>(s.memory.data()));
    EXPECT_EQ(reached, s.owned());

    std::vector<unsigned char> memory;
    const Pod replica = h.replica(shape, memory);
    h.copy(shape, view, replica);
    EXPECT_EQ(memory, s.packed());
    EXPECT_EQ(h.touched(shape, view, replica, true, s.memory), s.owned()) << "each byte once";
    EXPECT_EQ(h.touched(shape, view, replica, false, memory), std::vector<int>(memory.size(), 1)) << "each byte once";

    std::vector<unsigned char> packed(h.ops->packed_bytes(shape, view));
    ASSERT_EQ(h.ops->pack(shape, view, packed.data(), packed.size()), CONSORT_OK);
    EXPECT_EQ(packed, s.packed());
    const auto before = s.memory;
    const auto mine = s.owned();
    for (size_t k = 0; k < mine.size(); ++k)
      if (mine[k]) s.memory[k] = 0xcc;
    ASSERT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size()), CONSORT_OK);
    EXPECT_EQ(s.memory, before);
    EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() + 1), CONSORT_E_INVAL);
    if (packed.empty()) continue;
    EXPECT_EQ(h.ops->pack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
    EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
  }
}

TEST_P(SparseLayout, RefusesToUnpackBadRowPointers) {
  if (std::string(GetParam()) == "coo") return;  // it has none
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    Sparse s = some_sparse(GetParam(), random);
    if (!s.rows) continue;
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    auto packed = s.packed();
    const uint64_t which = random() % (s.rows + 1);
    const uint64_t wrong = random() % 2 ? s.first + s.nnz + 1 + random() % 9 : s.first + random() % (s.nnz + 1);
    std::memcpy(&packed[s.bytes(0) + s.bytes(1) + which * s.index], &wrong, s.index);
    auto start = s.start;
    start[which] = wrong;
    const bool good = std::is_sorted(start.begin(), start.end()) && start.back() <= s.first + s.nnz;
    const auto before = s.memory;
    EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size()), good ? CONSORT_OK : CONSORT_E_INVAL);
    refused += !good;
    EXPECT_TRUE(good || s.memory == before) << "nothing is written";
  }
  EXPECT_GT(refused, 100);
}

// Parts of csr and bcsr have the right contents and are data like any other. Together they are the whole, each byte of
// it once.
TEST_P(SparseLayout, RowBandsCoverTheWhole) {
  if (std::string(GetParam()) == "coo") return;
  const consort_filter &rows = *find(h, "rows");
  EXPECT_EQ(rows.flags, uint32_t{CONSORT_FI_COVER | CONSORT_FI_LIST});
  for (int round = 0; round < 500; ++round) {
    Sparse s = some_sparse(GetParam(), random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    const auto ends = some_bands(s, random);
    const auto params = exact(band_params(ends));
    ASSERT_EQ(rows.count(shape, params.get()), ends.size());
    std::vector<int> written(s.memory.size());
    for (uint32_t i = 0; i < ends.size(); ++i) {
      SCOPED_TRACE("round " + std::to_string(round) + " band " + std::to_string(i));
      Pod cs, cv, back;
      ASSERT_EQ(rows.shape(shape, params.get(), i, cs), CONSORT_OK);
      ASSERT_EQ(rows.alias(shape, view, params.get(), i, cv), CONSORT_OK);
      const consort_row_end begin = i ? ends[i - 1] : consort_row_end{0, s.first};
      Fields f = read_sparse(GetParam(), cv);
      EXPECT_EQ(f.rows, ends[i].row - begin.row);
      EXPECT_EQ(f.nnz, ends[i].start - begin.start);
      EXPECT_EQ(f.first, begin.start);
      EXPECT_EQ(f.cols, s.cols);
      EXPECT_EQ(bool(f.flags & CONSORT_SPARSE_BORROWED_END), ends[i].row < s.rows);
      const auto *start = consort_ptr(f.at[2]);
      for (uint64_t r = 0; f.rows && r <= f.rows; ++r)
        EXPECT_EQ(consort_index_at(start, f.index, r), s.start[begin.row + r]) << "the whole's own numbers, the end too";
      const auto wire = h.wire(cs);
      ASSERT_EQ(h.ops->decode(wire.data(), uint32_t(wire.size()), back), CONSORT_OK);
      EXPECT_EQ(std::memcmp(back.bytes, cs.bytes, h.ops->shape_size), 0);

      std::vector<unsigned char> memory;
      const Pod replica = h.replica(cs, memory);
      EXPECT_EQ(h.touched(cs, cv, replica, false, memory), std::vector<int>(memory.size(), 1)) << "a replica is whole, its end too";
      h.copy(cs, cv, replica);
      const Fields there = read_sparse(GetParam(), replica);
      EXPECT_EQ(there.flags, 0u);
      for (uint64_t r = 0; f.rows && r <= f.rows; ++r)
        EXPECT_EQ(number(consort_ptr(there.at[2]), f.index, r), s.start[begin.row + r]);
      const auto m = h.touched(cs, replica, cv, false, s.memory);
      for (size_t k = 0; k < m.size(); ++k) written[k] += m[k];
      std::vector<unsigned char> packed(h.ops->packed_bytes(cs, cv));
      ASSERT_EQ(h.ops->pack(cs, cv, packed.data(), packed.size()), CONSORT_OK);
      EXPECT_EQ(packed, memory);
      const auto before = s.memory;
      ASSERT_EQ(h.ops->unpack(cs, cv, packed.data(), packed.size()), CONSORT_OK);
      EXPECT_EQ(s.memory, before);

      // A band of a band.
      if (f.rows < 2) continue;
      const std::vector<consort_row_end> two = {{1, s.start[begin.row + 1]}, {f.rows, ends[i].start}};
      const auto deeper = exact(band_params(two));
      ASSERT_EQ(rows.count(cs, deeper.get()), 2u);
      Pod last;
      ASSERT_EQ(rows.alias(cs, cv, deeper.get(), 1, last), CONSORT_OK);
      EXPECT_EQ(read_sparse(GetParam(), last).flags, f.flags) << "the end is as much its own as its whole's";
      ASSERT_EQ(rows.alias(cs, replica, deeper.get(), 1, last), CONSORT_OK);
      EXPECT_EQ(read_sparse(GetParam(), last).flags, 0u);
    }
    EXPECT_EQ(written, s.owned());
    Pod nothing;
    EXPECT_EQ(rows.shape(shape, params.get(), uint32_t(ends.size()), nothing), CONSORT_E_INVAL);
    EXPECT_EQ(rows.alias(shape, view, params.get(), uint32_t(ends.size()), nothing), CONSORT_E_INVAL);
  }
}

TEST(SparseParts, BcsrBlocksAreMatrices) {
  LayoutHarness h("bcsr"), matrix("matrix");
  const consort_filter &blocks = *find(h, "blocks");
  EXPECT_EQ(blocks.flags, uint32_t{CONSORT_FI_RETYPE}) << "the structure belongs to no part";
  EXPECT_STREQ(blocks.child, "matrix");
  std::mt19937_64 random(31);
  for (int round = 0; round < 200; ++round) {
    Sparse s = some_sparse("bcsr", random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    ASSERT_EQ(blocks.count(shape, nullptr), s.nnz);
    std::vector<int> seen(s.memory.size()), expected(s.memory.size());
    for (uint64_t k = 0; k < s.bytes(0); ++k) expected[s.at[0] + k] = 1;
    for (uint32_t i = 0; i < s.nnz; ++i) {
      Pod cs, cv;
      ASSERT_EQ(blocks.shape(shape, nullptr, i, cs), CONSORT_OK);
      ASSERT_EQ(blocks.alias(shape, view, nullptr, i, cv), CONSORT_OK);
      EXPECT_EQ(matrix.describe(cs), "matrix of " + std::to_string(s.c) + " x " + std::to_string(s.r) + " x " + std::to_string(s.elem) + " B");
      std::vector<unsigned char> memory;
      const auto m = matrix.touched(cs, cv, matrix.replica(cs, memory), true, s.memory);
      for (size_t k = 0; k < m.size(); ++k) seen[k] += m[k];
    }
    EXPECT_EQ(seen, expected);
    Pod nothing;
    EXPECT_EQ(blocks.shape(shape, nullptr, uint32_t(s.nnz), nothing), CONSORT_E_INVAL);
    EXPECT_EQ(blocks.alias(shape, view, nullptr, uint32_t(s.nnz), nothing), CONSORT_E_INVAL);
  }
}

TEST(SparseParts, CooPiecesCoverTheWhole) {
  LayoutHarness h("coo");
  std::mt19937_64 random(37);
  for (int round = 0; round < 500; ++round) {
    Sparse s = some_sparse("coo", random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    const uint32_t parts = 1 + uint32_t(random() % 7);
    std::vector<uint32_t> p{parts, 0};
    std::vector<uint64_t> sizes(parts);
    const bool list = random() % 2;
    uint64_t left = s.nnz;
    for (uint32_t i = 0; i < parts; ++i) {
      sizes[i] = !list ? s.nnz / parts + (i < s.nnz % parts) : i + 1 == parts ? left : random() % (left + 1);
      left -= sizes[i];
      if (list) p.push_back(uint32_t(sizes[i])), p.push_back(0);
    }
    const consort_filter &filter = *find(h, list ? "list" : "blocks");
    const auto params = exact(p);
    ASSERT_EQ(filter.count(shape, params.get()), parts);
    std::vector<int> written(s.memory.size());
    uint64_t entry = 0;
    for (uint32_t i = 0; i < parts; ++i) {
      Pod cs, cv;
      ASSERT_EQ(filter.shape(shape, params.get(), i, cs), CONSORT_OK);
      ASSERT_EQ(filter.alias(shape, view, params.get(), i, cv), CONSORT_OK);
      const Fields f = read_sparse("coo", cv);
      ASSERT_EQ(f.nnz, sizes[i]);
      EXPECT_TRUE(f.rows == s.rows && f.cols == s.cols);
      for (uint64_t k = 0; k < f.nnz; ++k, ++entry) {
        EXPECT_EQ(consort_index_at(consort_ptr(f.at[1]), f.index, k), s.column[entry]);
        EXPECT_EQ(consort_index_at(consort_ptr(f.at[2]), f.index, k), s.row[entry]);
      }
      std::vector<unsigned char> memory;
      const auto m = h.touched(cs, h.replica(cs, memory), cv, false, s.memory);
      for (size_t k = 0; k < m.size(); ++k) written[k] += m[k];
    }
    EXPECT_EQ(written, s.owned());
    EXPECT_EQ(filter.shape(shape, params.get(), parts, view), CONSORT_E_INVAL);
  }
}

// With any parameters: no crash, and either no parts or such as lie inside of their whole.
TEST_P(SparseLayout, ArbitraryParametersAreSafe) {
  int good = 0, none = 0;
  for (int round = 0; round < 5000; ++round) {
    Sparse s = some_sparse(GetParam(), random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    for (uint32_t k = 0; k < h.ops->nfilters; ++k) {
      const consort_filter &filter = h.ops->filters[k];
      if (filter.child) continue;
      std::vector<uint32_t> p = s.by_rows() ? band_params(some_bands(s, random)) : std::vector<uint32_t>{3, 0};
      for (auto &w : p)
        if (random() % 8 == 0) w = random() % 3 ? uint32_t(random() % 8) : random() % 2 ? uint32_t(random()) : ~0u;
      if (filter.flags & CONSORT_FI_LIST) p.resize(2 + 2 * (p[0] %= 12), 1);
      const auto params = exact(p);
      EXPECT_EQ(filter.count(shape, nullptr), 0u);
      const uint32_t n = filter.count(shape, params.get());
      ++(n ? good : none);
      for (uint32_t i : {0u, 1u, 2u, n - 1, n, uint32_t(random())}) {
        Pod cs, cv, back;
        const bool shaped = filter.shape(shape, params.get(), i, cs) == CONSORT_OK;
        EXPECT_EQ(filter.alias(shape, view, params.get(), i, cv) == CONSORT_OK, shaped);
        EXPECT_TRUE(n == 0 || shaped == (i < n));
        if (!shaped) continue;
        const auto wire = h.wire(cs);
        ASSERT_EQ(h.ops->decode(wire.data(), uint32_t(wire.size()), back), CONSORT_OK);
        consort_extent e[3];
        const uint64_t from = reinterpret_cast<uint64_t>(s.memory.data());
        for (uint32_t m = h.ops->extents(cs, cv, e, 3); m-- > 0;) {
          const uint64_t at = e[m].addr.base + e[m].addr.off;
          EXPECT_TRUE(at >= from && at + e[m].bytes <= from + s.memory.size()) << "outside of its whole";
        }
      }
    }
  }
  EXPECT_GT(good, 500);
  EXPECT_GT(none, 500);
}

TEST(SparseArgs, RefusesBadArguments) {
  LayoutHarness csr("csr"), bcsr("bcsr"), coo("coo");
  alignas(8) static char m[4096];
  Pod s, v;
  constexpr uint64_t big = uint64_t{1} << 62, max = UINT64_MAX;
  const consort_csr_args c{m, m + 800, m + 1600, 10, 20, 100, 0, 8, 4};
  ASSERT_EQ(csr.make(c, s, v), CONSORT_OK);
  const auto no = [&](auto change) {
    auto a = c;
    change(a);
    EXPECT_EQ(csr.make(a, s, v), CONSORT_E_INVAL);
  };
  no([](auto &a) { a.elem = 0; });
  no([](auto &a) { a.index = 2; });
  no([](auto &a) { a.index = 12; });
  no([](auto &a) { a.rows = 0; });
  no([](auto &a) { a.cols = 0; });
  no([](auto &a) { a.nnz = max; });
  no([](auto &a) { a.elem = max; });
  no([](auto &a) { a.elem = big; });
  no([](auto &a) { a.rows = max; a.index = 8; });
  no([](auto &a) { a.rows = big; a.index = 8; });
  no([](auto &a) { a.first = max; });
  no([](auto &a) { a.first = uint64_t{UINT32_MAX} - 99; });
  no([](auto &a) { a.cols = uint64_t{1} << 32; });
  no([](auto &a) { a.start = nullptr; });
  no([](auto &a) { a.value = nullptr; });
  no([](auto &a) { a.column = m + 796; });
  no([](auto &a) { a.start = m + 400; });
  no([](auto &a) { a.value = reinterpret_cast<void *>(max - 8); });
  auto a = c;
  a.nnz = 0, a.value = a.column = nullptr;
  EXPECT_EQ(csr.make(a, s, v), CONSORT_OK) << "empty data have no address";
  EXPECT_EQ(csr.ops->extents(s, v, nullptr, 0), 1u);
  a.rows = 0;
  EXPECT_EQ(csr.make(a, s, v), CONSORT_OK);
  EXPECT_EQ(csr.ops->extents(s, v, nullptr, 0), 0u);
  EXPECT_EQ(csr.ops->bytes(s), 0u);
  a = c, a.value = a.column = a.start = nullptr;
  ASSERT_EQ(csr.make(a, s, v), CONSORT_OK);
  consort_extent e{};
  EXPECT_EQ(csr.ops->extents(s, v, &e, 1), 3u);
  EXPECT_EQ(e.addr.base + e.addr.off, 0u) << "no home";

  EXPECT_EQ(bcsr.make(consort_bcsr_args{nullptr, nullptr, nullptr, 2, 2, 2, 0, 0, 2, 8, 4}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(bcsr.make(consort_bcsr_args{nullptr, nullptr, nullptr, 2, 2, 2, 0, big, 8, 8, 4}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(bcsr.make(consort_bcsr_args{nullptr, nullptr, nullptr, 2, 2, big, 0, 2, 2, 8, 8}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(coo.make(consort_coo_args{nullptr, nullptr, nullptr, 2, 2, big, 1, 8}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(coo.make(consort_coo_args{nullptr, nullptr, nullptr, 0, 2, 1, 1, 8}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(coo.make(consort_coo_args{nullptr, nullptr, nullptr, 2, 2, 1, 0, 8}, s, v), CONSORT_E_INVAL);
  EXPECT_EQ(coo.make(consort_coo_args{m, m + 8, m + 12, 2, 2, 2, 4, 4}, s, v), CONSORT_E_INVAL) << "rows in the columns";
  for (const LayoutHarness *h : {&csr, &bcsr, &coo}) {
    EXPECT_EQ(h->ops->shape(nullptr, 0, s, v), CONSORT_E_INVAL);
    EXPECT_EQ(h->ops->shape(m, 40, s, v), CONSORT_E_INVAL);
  }
}

TEST(SparseArgs, DescriptionsAndLaunchArguments) {
  LayoutHarness csr("csr"), bcsr("bcsr"), coo("coo");
  Pod s, t, v;
  ASSERT_EQ(csr.make(consort_csr_args{nullptr, nullptr, nullptr, 10, 20, 100, 1, 8, 0}, s, v), CONSORT_OK);
  EXPECT_EQ(csr.describe(s), "csr of 10 x 20, 100 x 8 B");
  ASSERT_EQ(csr.make(consort_csr_args{nullptr, nullptr, nullptr, 10, 20, 100, 77, 8, 4}, t, v), CONSORT_OK);
  EXPECT_EQ(csr.ops->footprint(s), csr.ops->footprint(t)) << "where a band begins is no matter of its size";
  std::vector<uint64_t> all;
  const auto scalars = [&](const LayoutHarness &h) {
    consort_arg a[12];
    const uint32_t n = h.ops->args(s, v, a, 12);
    all.clear();
    for (uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(a[i].kind, i < 3 ? uint32_t{CONSORT_ARG_ADDR} : uint32_t{CONSORT_ARG_SCALAR});
      all.push_back(i < 3 ? a[i].extent : a[i].scalar);
    }
    return all;
  };
  using U = std::vector<uint64_t>;
  ASSERT_EQ(csr.make(consort_csr_args{nullptr, nullptr, nullptr, 10, 20, 100, 1, 8, 0}, s, v), CONSORT_OK);
  EXPECT_EQ(scalars(csr), (U{800, 400, 44, 10, 20, 100, 1}));
  ASSERT_EQ(bcsr.make(consort_bcsr_args{nullptr, nullptr, nullptr, 10, 20, 30, 1, 2, 3, 8, 8}, s, v), CONSORT_OK);
  EXPECT_EQ(scalars(bcsr), (U{1440, 240, 88, 10, 20, 30, 1, 2, 3}));
  EXPECT_EQ(bcsr.describe(s), "bcsr of 10 x 20 blocks of 2 x 3, 30 x 48 B");
  ASSERT_EQ(coo.make(consort_coo_args{nullptr, nullptr, nullptr, 10, 20, 30, 4, 0}, s, v), CONSORT_OK);
  EXPECT_EQ(scalars(coo), (U{120, 120, 120, 10, 20, 30}));
  EXPECT_EQ(coo.describe(s), "coo of 10 x 20, 30 x 4 B");
}

TEST(SparseParts, CutByRowsOrEntries) {
  std::mt19937_64 random(41);
  LayoutHarness h("csr");
  for (int round = 0; round < 500; ++round) {
    Sparse s = some_sparse("csr", random);
    Pod shape, view;
    ASSERT_EQ(make(h, s, shape, view), CONSORT_OK);
    const uint32_t parts = 1 + uint32_t(random() % 6);
    for (uint32_t how : {uint32_t{CONSORT_CUT_ROWS}, uint32_t{CONSORT_CUT_ENTRIES}}) {
      std::vector<consort_row_end> ends(parts);
      consort_cut_rows(s.ptr(2), s.index, s.rows, parts, how, ends.data());
      if (s.rows == 0)
        for (auto &e : ends) e.start = s.first;
      const auto params = exact(band_params(ends));
      ASSERT_EQ(find(h, "rows")->count(shape, params.get()), parts);
      uint64_t row = 0, start = s.first, longest = 0;
      for (const auto &e : ends) {
        EXPECT_TRUE(how != CONSORT_CUT_ROWS || e.row - row == s.rows / parts || e.row - row == s.rows / parts + 1);
        longest = std::max(longest, e.start - start);
        row = e.row, start = e.start;
      }
      EXPECT_TRUE(how != CONSORT_CUT_ENTRIES || longest <= s.nnz / parts + 1 + 5) << "a share and a row";
    }
  }
}

}  // namespace
}  // namespace consort_test
