// All dense layouts against the model of dense_model.hpp, on random sizes, gaps and steps: views, runs, extents,
// packing and launch arguments; refused arguments; the wire.
#include <algorithm>

#include "interfaces/dense_model.hpp"

namespace consort_test {
namespace {

class Dense : public testing::TestWithParam<const char *> {
 protected:
  LayoutHarness h{GetParam()};
  std::mt19937_64 random{17};
};
INSTANTIATE_TEST_SUITE_P(All, Dense, testing::ValuesIn(kDense), [](const auto &i) { return std::string(i.param); });

std::vector<unsigned char> noise(uint64_t bytes, std::mt19937_64 &random) {
  std::vector<unsigned char> m(bytes);
  for (auto &b : m) b = static_cast<unsigned char>(random());
  return m;
}
std::vector<int> bytes_of(const Grid &g, size_t all) {  // how often the datum has each byte
  std::vector<int> map(all);
  for (uint64_t p : g.places())
    for (uint64_t i = 0; i < g.elem; ++i) ++map.at(p + i);
  return map;
}

// IFC-02 variable, IFC-03 vector, IFC-04 matrix, IFC-05 block, IFC-09 tensors of any dimension.
TEST_P(Dense, AgreesWithTheModel) {
  for (int round = 0; round < 400; ++round) {
    const Grid g = some_grid(GetParam(), random);
    auto home = noise(g.reach() + 8, random);
    Pod shape, view;
    ASSERT_EQ(make(h, g, home.data(), shape, view), CONSORT_OK) << h.describe(shape);
    const Grid seen = read_view(GetParam(), shape, view, home.data());
    EXPECT_EQ(seen.n, g.n);
    EXPECT_EQ(seen.elem, g.elem);
    EXPECT_EQ(seen.places(), g.places());
    EXPECT_EQ(h.ops->bytes(shape), g.elements() * g.elem);
    consort_extent e{};
    ASSERT_EQ(h.ops->extents(shape, view, &e, 1), g.elements() ? 1u : 0u);
    EXPECT_EQ(e.bytes, g.reach());

    std::vector<unsigned char> memory;
    const Pod replica = h.replica(shape, memory);
    h.copy(shape, view, replica);
    std::vector<unsigned char> expected;
    for (uint64_t p : g.places()) expected.insert(expected.end(), home.begin() + long(p), home.begin() + long(p + g.elem));
    EXPECT_EQ(memory, expected) << "a replica is packed, the fastest dimension first";
    EXPECT_EQ(h.touched(shape, view, replica, true, home), bytes_of(g, home.size()));
    EXPECT_EQ(h.touched(shape, view, replica, false, memory), std::vector<int>(memory.size(), 1));

    std::vector<unsigned char> packed(h.ops->packed_bytes(shape, view));
    ASSERT_EQ(h.ops->pack(shape, view, packed.data(), packed.size()), CONSORT_OK);
    EXPECT_EQ(packed, expected);
    const auto before = home;
    std::fill(home.begin(), home.end(), 0xcc);
    ASSERT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size()), CONSORT_OK);
    const auto mine = bytes_of(g, home.size());
    for (size_t i = 0; i < home.size(); ++i) ASSERT_EQ(home[i], mine[i] ? before[i] : 0xcc) << "the gaps are not ours";
    if (!packed.empty()) {
      EXPECT_EQ(h.ops->pack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
      EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() - 1), CONSORT_E_TRUNCATED);
    }
    EXPECT_EQ(h.ops->unpack(shape, view, packed.data(), packed.size() + 1), CONSORT_E_INVAL);
  }
}

TEST_P(Dense, RunsBetweenTwoPaddedViews) {
  for (int round = 0; round < 200; ++round) {
    const Grid a = some_grid(GetParam(), random);
    Grid b = a;  // the same sizes, other steps
    uint64_t step = 1;
    for (size_t d = 0; d < b.n.size(); ++d) {
      b.step[d] = d == 0 && std::string(GetParam()) != "ndim" ? 1 : step;
      step = std::max<uint64_t>(b.step[d] * b.n[d], 1) + random() % 2;
    }
    auto from = noise(a.reach() + 8, random), to = noise(b.reach() + 8, random), expected = to;
    Pod sa, va, sb, vb;
    ASSERT_EQ(make(h, a, from.data(), sa, va), CONSORT_OK);
    ASSERT_EQ(make(h, b, to.data(), sb, vb), CONSORT_OK);
    const auto pa = a.places(), pb = b.places();
    for (size_t k = 0; k < pa.size(); ++k) std::copy_n(from.begin() + long(pa[k]), a.elem, expected.begin() + long(pb[k]));
    h.copy(sa, va, vb);
    EXPECT_EQ(to, expected);
    for (const consort_run &r : h.runs(sa, va, vb)) EXPECT_TRUE(r.n[0] >= 1 && r.n[1] >= 1);
  }
}

TEST(DenseRuns, AreMinimal) {
  const auto runs = [](const char *layout, Grid g) {
    LayoutHarness h(layout);
    std::vector<unsigned char> home(g.reach()), memory;
    Pod shape, view;
    g.layout = layout;
    EXPECT_EQ(make(h, g, home.data(), shape, view), CONSORT_OK);
    return h.runs(shape, view, h.replica(shape, memory));
  };
  for (const auto &[layout, g, run, n0, n1, count] :
       {std::tuple{"block", Grid{"", {4, 5, 6}, {1, 4, 20}, 8}, 960u, 1u, 1u, 1u},
        {"block", Grid{"", {4, 5, 6}, {1, 7, 35}, 8}, 32u, 30u, 1u, 1u},   // gaps between lines only: planes are lines
        {"block", Grid{"", {4, 5, 6}, {1, 4, 21}, 8}, 160u, 6u, 1u, 1u},   // between planes only
        {"block", Grid{"", {4, 5, 6}, {1, 7, 36}, 8}, 32u, 5u, 6u, 1u},
        {"tensor", Grid{"", {4, 5, 6, 7}, {1, 4, 20, 120}, 2}, 1680u, 1u, 1u, 1u},
        {"tensor", Grid{"", {4, 5, 6, 2}, {1, 7, 36, 220}, 2}, 8u, 5u, 6u, 2u},
        {"ndim", Grid{"", {4, 5}, {1, 4}, 2}, 40u, 1u, 1u, 1u},
        {"ndim", Grid{"", {4, 5}, {5, 1}, 2}, 2u, 4u, 5u, 1u},             // transposed on its way
        {"ndim", Grid{"", {4, 1, 5, 1}, {1, 9, 4, 3}, 2}, 40u, 1u, 1u, 1u}, // a dimension of one is none
        {"ndim", Grid{"", {2, 3, 4, 5, 6}, {1, 3, 10, 50, 300}, 1}, 2u, 5u, 6u, 12u}}) {
    const auto r = runs(layout, g);
    ASSERT_EQ(r.size(), count) << layout;
    EXPECT_EQ(r[0].run, run) << layout;
    EXPECT_EQ(r[0].n[0], n0) << layout;
    EXPECT_EQ(r[0].n[1], n1) << layout;
  }
}

TEST(DenseArgs, HoldAddressSizesAndSteps) {
  alignas(8) static unsigned char memory[4096];
  const auto scalars = [](const char *layout, const Grid &g) {
    LayoutHarness h(layout);
    Pod shape, view;
    EXPECT_EQ(make(h, g, memory, shape, view), CONSORT_OK);
    std::vector<consort_arg> args(h.ops->args(shape, view, nullptr, 0));
    EXPECT_EQ(h.ops->args(shape, view, args.data(), uint32_t(args.size())), args.size());
    EXPECT_EQ(args.at(0).kind, uint32_t{CONSORT_ARG_ADDR});
    EXPECT_EQ(args[0].addr.base + args[0].addr.off, reinterpret_cast<uint64_t>(memory));
    EXPECT_EQ(args[0].extent, g.reach());
    std::vector<uint64_t> out;
    for (size_t i = 1; i < args.size(); ++i) {
      EXPECT_EQ(args[i].kind, uint32_t{CONSORT_ARG_SCALAR});
      EXPECT_EQ(args[i].bytes, 8u);
      out.push_back(args[i].scalar);
    }
    return out;
  };
  using V = std::vector<uint64_t>;
  EXPECT_EQ(scalars("variable", {"variable", {}, {}, 8}), V{});
  EXPECT_EQ(scalars("vector", {"vector", {9}, {1}, 8}), V{9});
  EXPECT_EQ(scalars("matrix", {"matrix", {3, 4}, {1, 5}, 8}), (V{3, 4, 5}));
  EXPECT_EQ(scalars("block", {"block", {3, 4, 2}, {1, 5, 24}, 8}), (V{3, 4, 2, 5, 24}));
  EXPECT_EQ(scalars("tensor", {"tensor", {3, 4, 2, 2}, {1, 5, 24, 50}, 8}), (V{3, 4, 2, 2, 5, 24, 50}));
  EXPECT_EQ(scalars("ndim", {"ndim", {3, 4}, {4, 1}, 8}), (V{2, 3, 4, 4, 1}));
}

TEST(DenseDescribe, NamesTheSizes) {
  LayoutHarness block("block"), tensor("tensor"), ndim("ndim");
  Pod s, v;
  ASSERT_EQ(make(block, {"block", {3, 4, 5}, {1, 3, 12}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(block.describe(s), "block of 3 x 4 x 5 x 8 B");
  ASSERT_EQ(make(tensor, {"tensor", {3, 4, 5, 0}, {1, 3, 12, 60}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(tensor.describe(s), "tensor of 3 x 4 x 5 x 0 x 8 B");
  ASSERT_EQ(make(ndim, {"ndim", {3, 4, 5, 6, 7}, {0, 0, 0, 0, 0}, 1}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(ndim.describe(s), "ndim of 3 x 4 x 5 x 6 x 7 x 1 B");
}

TEST(DenseSteps, ZeroMeansPacked) {
  LayoutHarness block("block"), tensor("tensor"), ndim("ndim");
  Pod s, v;
  ASSERT_EQ(make(block, {"block", {3, 4, 5}, {1, 0, 0}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(read_view("block", s, v, nullptr).step, (std::vector<uint64_t>{1, 3, 12}));
  ASSERT_EQ(make(block, {"block", {3, 4, 5}, {1, 7, 0}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(read_view("block", s, v, nullptr).step, (std::vector<uint64_t>{1, 7, 28}));
  ASSERT_EQ(make(tensor, {"tensor", {3, 4, 5, 6}, {1, 0, 0, 0}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(read_view("tensor", s, v, nullptr).step, (std::vector<uint64_t>{1, 3, 12, 60}));
  ASSERT_EQ(make(ndim, {"ndim", {3, 4, 5, 6, 7}, {0, 0, 0, 0, 0}, 8}, nullptr, s, v), CONSORT_OK);
  EXPECT_EQ(read_view("ndim", s, v, nullptr).step, (std::vector<uint64_t>{1, 3, 12, 60, 360}));
}

TEST(DenseSteps, RefusesOverlapAndOverflow) {
  constexpr uint64_t big = uint64_t{1} << 62, max = UINT64_MAX, half = uint64_t{1} << 32;
  Pod s, v;
  LayoutHarness block("block"), tensor("tensor"), ndim("ndim");
  const auto refuse = [&](const LayoutHarness &h, Grid g, void *home = nullptr) {
    g.layout = h.plugin.plugin()->name;
    EXPECT_EQ(make(h, g, home, s, v), CONSORT_E_INVAL);
  };
  const auto take = [&](const LayoutHarness &h, Grid g) {
    g.layout = h.plugin.plugin()->name;
    EXPECT_EQ(make(h, g, nullptr, s, v), CONSORT_OK);
  };
  refuse(block, {"", {4, 4, 4}, {1, 3, 16}, 1});
  refuse(block, {"", {4, 4, 4}, {1, 4, 15}, 1});
  take(block, {"", {4, 4, 4}, {1, 5, 19}, 1});  // the last line needs no gap
  refuse(block, {"", {4, 4, 4}, {1, 4, 16}, 0});
  refuse(block, {"", {max, max, max}, {1, max, max}, max});
  refuse(block, {"", {max, 0, 0}, {1, 0, 0}, 2});
  refuse(block, {"", {1, 1, half}, {1, 1, half}, 1});
  refuse(block, {"", {half, half, half}, {1, 0, 0}, 1});
  refuse(block, {"", {0, big, 4}, {1, 0, 0}, 1});
  refuse(block, {"", {4, 4, 4}, {1, 4, 16}, 1}, reinterpret_cast<void *>(max - 15));
  refuse(tensor, {"", {2, 2, 2, 2}, {1, 2, 4, 7}, 1});
  take(tensor, {"", {2, 2, 2, 2}, {1, 2, 4, 8}, 1});
  refuse(tensor, {"", {2, 2, 2, 2}, {1, 2, 4, big}, 1});
  refuse(tensor, {"", {2, 2, 2, 2}, {1, 2, 4, 8}, big});
  refuse(ndim, {"", {}, {}, 1});
  refuse(ndim, {"", {4, 4}, {1, 3}, 1});
  refuse(ndim, {"", {4, 4}, {3, 1}, 1});
  refuse(ndim, {"", {4, 4}, {2, 2}, 1});
  take(ndim, {"", {4, 4}, {4, 1}, 1});
  take(ndim, {"", {4, 4}, {2, 8}, 1});
  take(ndim, {"", {1, 4}, {1, 1}, 1});  // the step of a dimension of size one is unused
  refuse(ndim, {"", {2, 2}, {1, big}, 2});
  refuse(ndim, {"", {big, big}, {1, 1}, 1});
  refuse(ndim, {"", {max}, {max}, 1});
  consort_ndim_args nine{nullptr, 9, {1, 1, 1, 1, 1, 1, 1, 1}, {}, 1};
  EXPECT_EQ(ndim.make(nine, s, v), CONSORT_E_INVAL);
  nine.dims = max;
  EXPECT_EQ(ndim.make(nine, s, v), CONSORT_E_INVAL);
  nine.dims = 8;
  EXPECT_EQ(ndim.make(nine, s, v), CONSORT_OK);
  for (const LayoutHarness *h : {&block, &tensor, &ndim}) {
    EXPECT_EQ(h->ops->shape(nullptr, 0, s, v), CONSORT_E_INVAL);
    EXPECT_EQ(h->ops->shape(&nine, 8, s, v), CONSORT_E_INVAL);
    EXPECT_EQ(h->ops->shape(&nine, sizeof nine + 8, s, v), CONSORT_E_INVAL);
  }
}

// For arbitrary numbers the answer is a status, and an accepted datum stays within its bounds.
TEST_P(Dense, ArbitraryNumbersStayWithinBounds) {
  const std::string name = GetParam();
  for (int round = 0; round < 20000; ++round) {
    Grid g = some_grid(name, random);
    const auto wild = [&]() -> uint64_t {
      switch (random() % 5) {
        case 0: return random();
        case 1: return uint64_t{1} << random() % 64;
        case 2: return (uint64_t{1} << random() % 64) - 1;
        default: return random() % 9;
      }
    };
    for (auto &n : g.n) n = random() % 3 ? wild() : n;
    for (auto &t : g.step) t = random() % 3 ? wild() : t;
    if (random() % 4 == 0) g.elem = wild();
    if (name != "ndim" && !g.step.empty()) g.step[0] = 1;
    Pod shape, view;
    if (make(h, g, nullptr, shape, view) != CONSORT_OK) continue;
    consort_extent e{};
    h.ops->extents(shape, view, &e, 1);
    EXPECT_LE(e.bytes, uint64_t{INT64_MAX});
    EXPECT_LE(h.ops->bytes(shape), std::max<uint64_t>(e.bytes, 1));
    Pod back;
    const auto wire = h.wire(shape);
    ASSERT_EQ(h.ops->decode(wire.data(), uint32_t(wire.size()), back), CONSORT_OK) << h.describe(shape);
    consort_run runs[3];
    h.ops->runs(shape, view, view, runs, 3);
  }
}

}  // namespace
}  // namespace consort_test
