// The face's part of formats.h: Data::add_format, typed by what units of the class see (IFC-10, IFC-11).
#include <consort/consort.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Pair {
  double x, y;
};
using Pairs = std::span<Pair>;
using Lines = consort::Matrix<double>;

// A unit of class "gpu" beside the cores, with memory of its own.
struct FaceFormats : ::testing::Test {
  std::string machine = "/tmp/consort-face-formats-" + std::to_string(getpid()) + ".toml";
  std::atomic<int> to_lines{0}, to_pairs{0};
  std::vector<Pair> home = std::vector<Pair>(100, Pair{1, 2});
  const consort::Codelet<void(std::span<const Pair>, Lines)> apart{
      "apart", consort::impl("gpu", [this](std::span<const Pair> from, Lines to) {
        ++to_lines;
        for (std::size_t i = 0; i < from.size(); ++i) to(i, 0) = from[i].x, to(i, 1) = from[i].y;
      })};
  const consort::Codelet<void(consort::Matrix<const double>, Pairs)> together{
      "together", consort::cpu([this](consort::Matrix<const double> from, Pairs to) {
        ++to_pairs;
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = {from(i, 0), from(i, 1)};
      })};
  // The form of the codelet for a core and for other units. The first function takes the arguments of the submission,
  // the other reads its view from the call.
  const consort::Codelet<void(Pairs)> twice{
      "twice", consort::cpu([](Pairs p) { for (Pair &e : p) e.x *= 2; }),
      consort::impl("gpu", [](const consort_call &c) {
        const Lines lines = consort::detail::Layout<Lines>::view(c.views[0]);
        for (double &x : lines.line(0)) x *= 2;
      })};
  FaceFormats() { std::ofstream(machine) << "[[device]]\nclass = \"gpu\"\nunits = 1\n"; }
  ~FaceFormats() { unlink(machine.c_str()); }
  consort::Settings settings() const {
    return consort::Settings{}.set("drivers", "cpu,sim").set("cpu.topology", "pack:1 core:4 pu:1").set("workers", 2)
        .set("sim.machine", machine).set("sim.runs", "");
  }
};

TEST_F(FaceFormats, EachClassGetsItsOwnFormat) {
  consort::Runtime rt{settings()};
  const uint32_t core = 0, gpu = rt.info().nworkers - 1;
  auto x = rt.vector(home, "x");
  x.add_format<Lines>("gpu", {home.size(), 2}, apart, together);
  for (const uint32_t worker : {gpu, gpu, core, gpu}) rt.submit({.worker = worker}, twice, consort::rw(x));
  {
    auto held = x.read();
    EXPECT_EQ(held[99].x, 16);
    EXPECT_EQ(held[99].y, 2);
  }
  EXPECT_EQ(to_lines, 2);
  EXPECT_EQ(to_pairs, 2);
  x.unregister();
  for (const Pair &p : home) ASSERT_TRUE(p.x == 16 && p.y == 2);
}

TEST_F(FaceFormats, RefusalsThrow) {
  consort::Runtime rt{settings()};
  auto x = rt.vector(home, "mine");
  EXPECT_THROW(x.add_format<Lines>("gpu", {home.size()}, apart, together), consort::Error) << "a matrix has two sizes";
  EXPECT_THROW(x.add_format<Lines>(nullptr, {home.size(), 2}, apart, together), consort::Error);
  x.add_format<Lines>("gpu", {home.size(), 2}, apart, together);
  try {
    x.add_format<Lines>("gpu", {home.size(), 2}, apart, together);
    FAIL() << "two formats for one class";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("mine"), std::string::npos) << e.what();
  }
}

// Each layout as a format: the sizes are the ones that a unit of the class finds.
TEST_F(FaceFormats, WorksForEveryLayout) {
  consort::Runtime rt{settings()};
  std::atomic<int> wrong{0};
  const uint32_t gpu = rt.info().nworkers - 1;
  const consort::Codelet back{"back", consort::cpu([](const consort_call &) {})};
  const auto there = [&](auto check) {
    return consort::Codelet{"make", consort::impl("gpu", [&wrong, check](const consort_call &c) { wrong += !check(c.views[1]); })};
  };
  const consort::Codelet<consort::Untyped> use{"use", consort::impl("gpu", [](const consort_call &) {})};
  using consort::detail::Layout;
  const auto vector = there([](const void *v) { return Layout<std::span<int>>::view(v).size() == 30; });
  const auto matrix = there([](const void *v) { auto m = Layout<consort::Matrix<int>>::view(v); return m.nx() == 5 && m.ny() == 6 && m.ld() == 5; });
  const auto block = there([](const void *v) { auto b = Layout<consort::Block<int>>::view(v); return b.nx() == 2 && b.nz() == 5 && b.ldz() == 6; });
  const auto tensor = there([](const void *v) { auto t = Layout<consort::Tensor<int>>::view(v); return t.nx() == 2 && t.nt() == 7 && t.ldt() == 12; });
  const auto ndim = there([](const void *v) { auto n = Layout<consort::Ndim<int>>::view(v); return n.dims() == 2 && n.n(1) == 15 && n.step(1) == 2; });
  const auto variable = there([](const void *v) { return Layout<long &>::element(v) == sizeof(long); });
  const auto with = [&](auto add) {
    auto x = rt.vector(home);
    add(x);
    rt.submit({.worker = gpu}, use, consort::r(x)).wait();
  };
  with([&](auto &x) { x.template add_format<std::span<int>>("gpu", {30}, vector, back); });
  with([&](auto &x) { x.template add_format<consort::Matrix<int>>("gpu", {5, 6}, matrix, back); });
  with([&](auto &x) { x.template add_format<consort::Block<int>>("gpu", {2, 3, 5}, block, back); });
  with([&](auto &x) { x.template add_format<consort::Tensor<int>>("gpu", {2, 3, 2, 7}, tensor, back); });
  with([&](auto &x) { x.template add_format<consort::Ndim<int>>("gpu", {2, 15}, ndim, back); });
  with([&](auto &x) { x.template add_format<long &>("gpu", {}, variable, back); });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
