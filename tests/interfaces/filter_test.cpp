// Every partition of every dense layout: which elements each child has, against a rule written down here once more.
// Children are views into the parent's memory. Together they have each element of it once, and no other. With a border
// they have each element at least once. FLT-08 to FLT-14, FLT-17, FLT-18.
#include <functional>
#include <map>
#include <memory>

#include "interfaces/dense_model.hpp"

namespace consort_test {
namespace {

using Params = std::vector<uint32_t>;
void put64(Params &p, uint64_t v) {
  p.push_back(uint32_t(v));
  p.push_back(uint32_t(v >> 32));
}
const consort_filter *find(const LayoutHarness &h, const std::string &name) {
  for (uint32_t i = 0; i < h.ops->nfilters; ++i)
    if (h.ops->filters[i].name == name) return &h.ops->filters[i];
  return nullptr;
}
// Part i of `parts`: the first n % parts have one more.
std::pair<uint64_t, uint64_t> chunk(uint64_t n, uint64_t parts, uint64_t i) {
  uint64_t begin = 0;
  for (uint64_t k = 0; k < i; ++k) begin += n / parts + (k < n % parts);
  return {begin, begin + n / parts + (i < n % parts)};
}

struct Expected {
  Params params;
  uint64_t children;
  std::function<bool(const std::vector<uint64_t> &index, uint64_t child)> has;
};

// A partition of this name that can be, with parameters by chance.
Expected expect(const std::string &name, const Grid &g, std::mt19937_64 &random) {
  const uint32_t dims = uint32_t(g.n.size());
  const bool fastest = g.layout == "ndim" || name.starts_with("ndim_") || dims == 1;  // may be cut into single elements
  const bool single = name.ends_with("cyclic") || name.ends_with("slices");
  uint32_t axis = uint32_t(random() % dims);
  if (single && !fastest && axis == 0) axis = 1;
  const uint32_t parts = 1 + uint32_t(random() % 9);
  const uint64_t n = g.n[axis];
  if (name == "rows" || name == "cols") {
    axis = name == "rows";
    return {{parts, 7}, parts, [=, n = g.n[axis]](const auto &x, uint64_t i) {
              const auto [begin, end] = chunk(n, parts, i);
              return x[axis] >= begin && x[axis] < end;
            }};
  }
  if (name == "blocks")
    return {{parts, axis}, parts, [=](const auto &x, uint64_t i) {
              const auto [begin, end] = chunk(n, parts, i);
              return x[axis] >= begin && x[axis] < end;
            }};
  if (name == "halves")
    return {{}, 2, [n = g.n, axis = dims - 1](const auto &x, uint64_t i) {
              const auto [begin, end] = chunk(n[axis], 2, i);
              return x[axis] >= begin && x[axis] < end;
            }};
  if (name == "list") {
    Params p{parts, axis};
    std::vector<uint64_t> ends;
    uint64_t left = n;
    for (uint32_t i = 0; i < parts; ++i) {
      const uint64_t size = i + 1 == parts ? left : random() % (left + 1);
      put64(p, size);
      left -= size;
      ends.push_back(n - left);
    }
    return {p, parts, [=](const auto &x, uint64_t i) { return x[axis] < ends[i] && (i == 0 || x[axis] >= ends[i - 1]); }};
  }
  if (name == "tiles") {
    Params p(g.layout == "matrix" ? 2 : CONSORT_NDIM_MAX, 0);
    uint64_t all = 1;
    for (uint32_t d = 0; d < dims; ++d) all *= p[d] = 1 + uint32_t(random() % 3);
    return {p, all, [=, n = g.n](const auto &x, uint64_t i) {
              for (uint32_t d = 0; d < dims; ++d) {
                const auto [begin, end] = chunk(n[d], p[d], i % p[d]);
                i /= p[d];
                if (x[d] < begin || x[d] >= end) return false;
              }
              return true;
            }};
  }
  if (name == "overlap") {
    const uint32_t width = uint32_t(random() % 4), rim = random() % 2 && 2 * width <= n ? CONSORT_HALO_RIM : 0;
    return {{parts, axis, width, rim}, parts, [=](const auto &x, uint64_t i) {
              const uint64_t edge = rim ? width : 0;
              const auto [begin, end] = chunk(n - 2 * edge, parts, i);
              return x[axis] + width >= begin + edge && x[axis] < end + edge + width;
            }};
  }
  if (name.ends_with("cyclic")) return {{parts, axis}, parts, [=](const auto &x, uint64_t i) { return x[axis] % parts == i; }};
  return {{axis, 0}, n, [=](const auto &x, uint64_t i) { return x[axis] == i; }};
}

struct Filters : testing::TestWithParam<const char *> {
  const LayoutHarness &child(const std::string &name) {
    auto &p = children[name];
    if (!p) p = std::make_unique<LayoutHarness>(name);
    return *p;
  }
  LayoutHarness h{GetParam()};
  std::map<std::string, std::unique_ptr<LayoutHarness>> children;
  std::mt19937_64 random{23};
};
INSTANTIATE_TEST_SUITE_P(All, Filters, testing::Values("vector", "matrix", "block", "tensor", "ndim"),
                         [](const auto &i) { return std::string(i.param); });

TEST_P(Filters, ChildrenHaveTheExpectedElements) {
  ASSERT_GE(h.ops->nfilters, 6u);
  for (uint32_t f = 0; f < h.ops->nfilters; ++f) {
    const consort_filter &filter = h.ops->filters[f];
    const bool overlap = filter.flags & CONSORT_FI_OVERLAP;
    EXPECT_TRUE(filter.flags & CONSORT_FI_COVER);
    EXPECT_EQ(bool(filter.flags & CONSORT_FI_RETYPE), filter.child != nullptr);
    const std::string type = filter.child ? filter.child : GetParam();
    const LayoutHarness &c = child(type);
    for (int round = 0; round < 60; ++round) {
      const Grid g = some_grid(GetParam(), random);
      SCOPED_TRACE(std::string(filter.name) + " round " + std::to_string(round));
      std::vector<unsigned char> home(g.reach() + 8), memory;
      Pod shape, view;
      ASSERT_EQ(make(h, g, home.data(), shape, view), CONSORT_OK);
      Expected want = expect(filter.name, g, random);
      const uint64_t list = filter.flags & CONSORT_FI_LIST ? 8 * want.params[0] : 0;
      ASSERT_EQ(want.params.size() * 4, filter.params_size + list);
      const auto params = std::make_unique<uint32_t[]>(want.params.size());  // its end is the end, for a sanitizer
      std::copy(want.params.begin(), want.params.end(), params.get());
      ASSERT_EQ(filter.count(shape, params.get()), want.children);
      uint64_t total = 0;
      for (uint32_t i = 0; i < want.children; ++i) {
        Pod child_shape, child_view;
        ASSERT_EQ(filter.shape(shape, params.get(), i, child_shape), CONSORT_OK);
        ASSERT_EQ(filter.alias(shape, view, params.get(), i, child_view), CONSORT_OK);
        for (size_t k = c.ops->shape_size; k < 256; ++k) ASSERT_EQ(child_shape.bytes[k], 0xee) << "wrote past the shape";
        for (size_t k = c.ops->view_size; k < 256; ++k) ASSERT_EQ(child_view.bytes[k], 0xee) << "wrote past the view";
        const Grid part = read_view(type, child_shape, child_view, home.data());
        EXPECT_EQ(part.elem, g.elem);
        std::vector<uint64_t> places;
        for (uint64_t k = 0; k < g.elements(); ++k)
          if (const auto x = g.index(k); want.has(x, i)) places.push_back(g.place(x));
        EXPECT_EQ(part.places(), places) << "child " << i;
        total += part.elements();
        EXPECT_EQ(c.ops->bytes(child_shape), part.elements() * g.elem);
        // The child is a datum like any other: it travels, and it has a replica.
        Pod back;
        const auto wire = c.wire(child_shape);
        EXPECT_EQ(c.ops->decode(wire.data(), uint32_t(wire.size()), back), CONSORT_OK);
        const Pod replica = c.replica(child_shape, memory);
        EXPECT_EQ(c.touched(child_shape, child_view, replica, false, memory), std::vector<int>(memory.size(), 1));
      }
      EXPECT_TRUE(overlap ? total >= g.elements() : total == g.elements());
      Pod nothing;
      EXPECT_EQ(filter.shape(shape, params.get(), uint32_t(want.children), nothing), CONSORT_E_INVAL);
      EXPECT_EQ(filter.alias(shape, view, params.get(), uint32_t(want.children), nothing), CONSORT_E_INVAL);
    }
  }
}

// With any parameters: no crash, and either no children or good ones. A list is as long as it says.
TEST_P(Filters, ArbitraryParametersAreSafe) {
  for (uint32_t f = 0; f < h.ops->nfilters; ++f) {
    const consort_filter &filter = h.ops->filters[f];
    const LayoutHarness &c = child(filter.child ? filter.child : GetParam());
    if (filter.params_size) {
      Pod shape, view;
      const Grid g = some_grid(GetParam(), random);
      ASSERT_EQ(make(h, g, nullptr, shape, view), CONSORT_OK);
      EXPECT_EQ(filter.count(shape, nullptr), 0u);
      EXPECT_EQ(filter.shape(shape, nullptr, 0, view), CONSORT_E_INVAL);
      EXPECT_EQ(filter.alias(shape, view, nullptr, 0, shape), CONSORT_E_INVAL);
    }
    for (int round = 0; round < 2000; ++round) {
      const Grid g = some_grid(GetParam(), random);
      std::vector<unsigned char> home(g.reach() + 8);
      Pod shape, view;
      ASSERT_EQ(make(h, g, home.data(), shape, view), CONSORT_OK);
      Expected start = expect(filter.name, g, random);
      for (auto &w : start.params)
        if (random() % 2) w = random() % 3 ? uint32_t(random() % 6) : random() % 2 ? uint32_t(random()) : ~0u;
      if (filter.flags & CONSORT_FI_LIST) start.params.resize(2 + 2 * (start.params[0] %= 12), 1);
      const auto params = std::make_unique<uint32_t[]>(start.params.size());
      std::copy(start.params.begin(), start.params.end(), params.get());
      const uint32_t n = filter.count(shape, params.get());
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t i = k < 4 ? k : k == 4 ? n : k == 5 ? n - 1 : uint32_t(random());
        Pod cs, cv;
        const bool shaped = filter.shape(shape, params.get(), i, cs) == CONSORT_OK;
        EXPECT_EQ(filter.alias(shape, view, params.get(), i, cv) == CONSORT_OK, shaped);
        EXPECT_TRUE(n == 0 || shaped == (i < n));
        if (!shaped) continue;
        const auto wire = c.wire(cs);
        Pod back;
        ASSERT_EQ(c.ops->decode(wire.data(), uint32_t(wire.size()), back), CONSORT_OK);
        consort_extent e{};
        if (c.ops->extents(cs, cv, &e, 1) == 0) continue;
        const uint64_t at = e.addr.base + e.addr.off, from = reinterpret_cast<uint64_t>(home.data());
        EXPECT_TRUE(at >= from && at + e.bytes <= from + g.reach()) << "outside of its parent";
      }
    }
  }
}

TEST(FilterParams, RefusesParametersThatMakeNoPartition) {
  LayoutHarness vector("vector"), matrix("matrix"), block("block"), ndim("ndim");
  Pod v, m, b, n, view;
  ASSERT_EQ(make(vector, {"vector", {50}, {1}, 2}, nullptr, v, view), CONSORT_OK);
  ASSERT_EQ(make(matrix, {"matrix", {11, 7}, {1, 13}, 2}, nullptr, m, view), CONSORT_OK);
  ASSERT_EQ(make(block, {"block", {4, 5, 6}, {1, 4, 20}, 2}, nullptr, b, view), CONSORT_OK);
  ASSERT_EQ(make(ndim, {"ndim", {4, 5}, {5, 1}, 2}, nullptr, n, view), CONSORT_OK);
  const auto count = [](const LayoutHarness &h, const Pod &shape, const char *name, const auto &params) {
    return find(h, name)->count(shape, &params);
  };
  const uint32_t huge = 1u << 31;
  EXPECT_EQ(count(vector, v, "blocks", consort_split{0, 0}), 0u);
  EXPECT_EQ(count(vector, v, "blocks", consort_split{3, 1}), 0u) << "a vector has no second axis";
  EXPECT_EQ(count(vector, v, "blocks", consort_split{90, 0}), 90u) << "some are empty";
  EXPECT_EQ(count(matrix, m, "tiles", consort_tiles{huge, huge}), 0u) << "more than can be counted";
  EXPECT_EQ(count(matrix, m, "tiles", consort_tiles{0, 3}), 0u);
  EXPECT_EQ(count(block, b, "tiles", consort_grid{{huge, 2, 2}}), 0u);
  EXPECT_EQ(count(block, b, "tiles", consort_grid{{1, 2, 3, 99}}), 6u) << "a fourth axis is not read";
  EXPECT_EQ(count(matrix, m, "cyclic", consort_split{3, 0}), 0u) << "columns with a step are no matrix";
  EXPECT_EQ(count(matrix, m, "ndim_cyclic", consort_split{3, 0}), 3u);
  EXPECT_EQ(count(matrix, m, "slices", consort_slices{0, 0}), 0u) << "a column is no vector";
  EXPECT_EQ(count(matrix, m, "slices", consort_slices{1, 0}), 7u);
  EXPECT_EQ(count(matrix, m, "ndim_slices", consort_slices{0, 0}), 11u);
  EXPECT_EQ(count(block, b, "slices", consort_slices{3, 0}), 0u);
  EXPECT_EQ(count(vector, v, "overlap", consort_halo{3, 0, 2, 2}), 0u) << "no such flag";
  EXPECT_EQ(count(vector, v, "overlap", consort_halo{3, 0, 26, CONSORT_HALO_RIM}), 0u) << "nothing but rim";
  EXPECT_EQ(count(vector, v, "overlap", consort_halo{3, 0, ~0u, 0}), 3u) << "each has all";
  const CONSORT_LIST(3) good = {3, 0, {20, 0, 30}}, less = {3, 0, {20, 1, 28}}, more = {3, 0, {20, 1, 30}},
                        around = {3, 0, {UINT64_MAX, 31, 20}}, none = {0, 0, {20, 0, 30}}, other = {3, 1, {20, 0, 30}};
  EXPECT_EQ(count(vector, v, "list", good), 3u);
  EXPECT_EQ(count(vector, v, "list", less), 0u);
  EXPECT_EQ(count(vector, v, "list", more), 0u);
  EXPECT_EQ(count(vector, v, "list", around), 0u);
  EXPECT_EQ(count(vector, v, "list", none), 0u);
  EXPECT_EQ(count(vector, v, "list", other), 0u);
  EXPECT_EQ(find(vector, "halves")->count(v, nullptr), 2u);
}

// FLT-08, FLT-12, FLT-13, FLT-14: the larger first, and they differ by one at most.
TEST(FilterParams, ChunksDifferByOneAtMost) {
  LayoutHarness vector("vector"), matrix("matrix"), block("block");
  Pod shape, view, child;
  ASSERT_EQ(make(vector, {"vector", {11}, {1}, 8}, nullptr, shape, view), CONSORT_OK);
  const consort_split four{4, 0};
  std::vector<uint64_t> sizes;
  for (uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(find(vector, "blocks")->shape(shape, &four, i, child), CONSORT_OK);
    sizes.push_back(vector.ops->bytes(child) / 8);
  }
  EXPECT_EQ(sizes, (std::vector<uint64_t>{3, 3, 3, 2}));
  ASSERT_EQ(make(matrix, {"matrix", {6, 8}, {1, 10}, 8}, nullptr, shape, view), CONSORT_OK);
  ASSERT_EQ(find(matrix, "rows")->shape(shape, &four, 0, child), CONSORT_OK);
  EXPECT_EQ(matrix.describe(child), "matrix of 6 x 2 x 8 B");
  ASSERT_EQ(find(matrix, "cols")->shape(shape, &four, 3, child), CONSORT_OK);
  EXPECT_EQ(matrix.describe(child), "matrix of 1 x 8 x 8 B");
  ASSERT_EQ(make(block, {"block", {6, 8, 3}, {1, 10, 80}, 8}, nullptr, shape, view), CONSORT_OK);
  ASSERT_EQ(find(block, "blocks")->shape(shape, &four, 0, child), CONSORT_OK);
  EXPECT_EQ(block.describe(child), "block of 2 x 8 x 3 x 8 B") << "along X";
}

}  // namespace
}  // namespace consort_test
