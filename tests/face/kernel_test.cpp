// The C++ face's kernels: arguments named by their place in a submission, and what is wrong with one said by name.
#include <consort/consort.hpp>

#include <filesystem>
#include <numeric>

#include "api/harness.hpp"

using consort::Arg, consort::arg, consort::Launch, consort::Matrix, consort::over, consort::r, consort::rw;

namespace {

using Passes = std::vector<std::pair<uint32_t, uint32_t>>;  // datum, part

// What a kernel is given in a codelet of these parameters; "" instead where nothing is listed.
template <class Signature>
Passes passes(Launch how) {
  consort::KernelLaunch k;
  k.launch = std::move(how);
  using Given = consort::detail::ParametersOf<Signature>;
  EXPECT_EQ(k.fit(Given::all, Given::n), "");
  Passes out;
  for (uint32_t i = 0; i < k.how.nargs; ++i) out.push_back({k.how.args[i].datum, k.how.args[i].part});
  return out;
}
template <class Signature>
std::string wrong(Launch how) {
  consort::KernelLaunch k;
  k.launch = std::move(how);
  using Given = consort::detail::ParametersOf<Signature>;
  return k.fit(Given::all, Given::n);
}
constexpr uint32_t kAll = CONSORT_NONE, kValue = CONSORT_NONE;

TEST(FaceKernel, ArgumentsComeInTheOrderOfTheSubmission) {
  EXPECT_EQ((passes<void(float, std::span<const float>, int, std::span<float>)>({})), (Passes{{kValue, 0}, {0, kAll}, {kValue, 1}, {1, kAll}}));
  EXPECT_EQ((passes<void(float, const consort_call &, std::span<float>)>({})), (Passes{{kValue, 0}, {0, kAll}})) << "the call is no argument";
  EXPECT_EQ((passes<void(std::span<float>, float)>({})), Passes{}) << "data, then values: that is so without a list";
}

TEST(FaceKernel, ArgumentsByTheirNames) {
  using Three = void(float, Matrix<const float>, std::span<float>);
  EXPECT_EQ(passes<Three>({.args = {arg(1).ptr(), arg(1).size(0), arg(1).size(1), arg(1).step(1), arg(2), arg(0)}}),
            (Passes{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, kAll}, {kValue, 0}}));
  using Large = void(consort::Block<float>, consort::Tensor<float>, consort::Ndim<float>, double &);
  EXPECT_EQ(passes<Large>({.args = {arg(0).size(2), arg(0).step(1), arg(0).step(2), arg(1).size(3), arg(1).step(1), arg(1).step(3),
                                    arg(2).size(0), arg(2).size(1), arg(3).ptr()}}),
            (Passes{{0, 3}, {0, 4}, {0, 5}, {1, 4}, {1, 5}, {1, 7}, {2, 2}, {2, 3}, {3, 0}}));
}

TEST(FaceKernel, OverWhatItRuns) {
  consort::KernelLaunch k;
  using Given = consort::detail::ParametersOf<void(float, std::span<float>, std::span<float>)>;
  k.launch = {.grid = over(arg(2)), .block = {64}, .shared_bytes = 256};
  EXPECT_EQ(k.fit(Given::all, Given::n), "");
  EXPECT_EQ(k.how.over, 1u) << "the second datum";
  EXPECT_EQ(k.how.block[0], 64u);
  EXPECT_EQ(k.how.block[1], 1u);
  EXPECT_EQ(k.how.shared_bytes, 256u);
  EXPECT_EQ(k.how.range, nullptr);
  consort::KernelLaunch fixed;
  fixed.launch = {.grid = {7, 2}};
  EXPECT_EQ(fixed.fit(Given::all, Given::n), "");
  consort_range range{{9, 9, 9}, {1, 1, 1}, 0};
  ASSERT_NE(fixed.how.range, nullptr);
  EXPECT_EQ(fixed.how.range(fixed.how.user, nullptr, &range), CONSORT_OK);
  EXPECT_EQ(range.grid[0] * 100 + range.grid[1] * 10 + range.grid[2], 721u);
  consort::KernelLaunch asked;
  asked.launch = {.grid = [](void *, const consort_call *, consort_range *io) -> consort_status { return io->grid[0] = 5, CONSORT_OK; }};
  EXPECT_EQ(asked.fit(Given::all, Given::n), "");
  EXPECT_EQ(asked.how.range(asked.how.user, nullptr, &range), CONSORT_OK);
  EXPECT_EQ(range.grid[0], 5u);
}

TEST(FaceKernel, WhatDoesNotFitIsSaidByName) {
  using Two = void(float, std::span<float>);
  EXPECT_EQ(wrong<Two>({.args = {arg(2)}}), "arg(2): a submission gives 2 data and values, numbered from 0");
  EXPECT_EQ(wrong<Two>({.args = {arg(-1)}}), "arg(-1): a submission gives 2 data and values, numbered from 0");
  EXPECT_EQ(wrong<Two>({.args = {arg(0).ptr()}}), "arg(0).ptr(): that is a value, not a datum");
  EXPECT_EQ(wrong<Two>({.args = {arg(1).size(1)}}), "arg(1).size(1): the datum has 1 dimensions, numbered from 0");
  EXPECT_EQ(wrong<Two>({.args = {arg(1).step(0)}}), "arg(1).step(0): the elements of a line are side by side, and no step is given");
  EXPECT_EQ(wrong<void(consort::Ndim<int>)>({.args = {arg(0).step(1)}}),
            "arg(0).step(1): where the steps of an ndim begin shows when it runs; take all of it, arg(0)");
  EXPECT_EQ(wrong<Two>({.grid = over(arg(0))}), "grid = over(arg(0)): that is a value, not a datum");
  EXPECT_EQ(wrong<Two>({.grid = over(arg(5))}), "grid = over(arg(5)): a submission gives 2 data and values, numbered from 0");
}

// Said where the codelet is first used: a codelet may be made before main().
template <class C>
std::string refused(consort::Runtime &rt, const C &codelet) {
  std::vector<float> v(4);
  auto x = rt.vector(v);
  try {
    rt.submit(codelet, rw(x));
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    return e.what();
  }
  return "nothing was thrown";
}
TEST(FaceKernel, ACodeletThatIsWrongIsRefusedWhenItIsUsed) {
  consort::Runtime rt{{"workers", "1"}, {"drivers", "cpu"}};
  const auto with = [](auto kernel) {
    return consort::Codelet<void(std::span<float>)>("mine", consort::cpu([](std::span<float>) {}), std::move(kernel));
  };
  EXPECT_EQ(refused(rt, with(consort::cuda_source("scale.cu", "scale"))),
            "codelet 'mine': cuda_source() takes the text of a kernel, and this has no body: \"scale.cu\"; the path of a file goes to cuda_file()");
  EXPECT_EQ(refused(rt, with(consort::opencl_file("__kernel void f() {\n}", "f"))),
            "codelet 'mine': opencl_file() takes the path of a file; the text of a kernel goes to opencl_source()");
  EXPECT_EQ(refused(rt, with(consort::level_zero_spirv("__kernel void f() {}", "f"))),
            "codelet 'mine': level_zero_spirv() takes the bytes of a SPIR-V module; the path of a file goes to level_zero_file()");
  EXPECT_EQ(refused(rt, with(consort::hip_source("void f() {}", "f", {.args = {arg(1)}}))),
            "codelet 'mine': arg(1): a submission gives 1 data and values, numbered from 0");
  EXPECT_EQ(refused(rt, consort::Codelet("untyped", consort::opencl_source("kernel void f() {}", "f", {.args = {arg(0)}}))),
            "codelet 'untyped': its kernel names arguments, and no implementation says what its parameters are: give its signature, as in "
            "consort::Codelet<void(float, std::span<float>)>");
  const auto all = with(consort::hip_file("f.hip", "f"));
  std::vector<float> v(4);
  auto x = rt.vector(v);
  rt.submit(all, rw(x)).wait();
}

// On OpenCL devices, where there are any: y := a x + y with the value first, and a product of named sizes.
TEST(FaceKernel, RunsOnOpenCl) {
  if (!std::filesystem::exists(CONSORT_PLUGIN_DIR "/opencl.so")) GTEST_SKIP() << "the driver opencl is not built here";
  consort::Runtime rt{{"workers", "1"}, {"drivers", "cpu, opencl"}, {"opencl.types", "all"}};
  uint32_t device = CONSORT_NONE;
  for (uint32_t i = 0; i < rt.info().nworkers; ++i)
    if (rt.worker(i).klass == std::string_view("opencl")) device = i;
  if (device == CONSORT_NONE) GTEST_SKIP() << "no OpenCL device";
  const consort::Codelet axpy{"axpy", consort::cpu([](float, std::span<const float>, std::span<float>) {}), consort::opencl_source(R"(
    __kernel void axpy(float a, __global const float *x, ulong nx, __global float *y, ulong ny) {
      y[get_global_id(0)] += a * x[get_global_id(0)];
    })", "axpy", {.grid = over(arg(2))})};
  const consort::Codelet<void(float, Matrix<const float>, std::span<float>)> lines{"lines", consort::opencl_source(R"(
    __kernel void lines(__global float *sum, __global const float *m, ulong nx, ulong ld, float by) {
      size_t y = get_global_id(0);
      for (ulong x = 0; x < nx; ++x) sum[y] += by * m[y * ld + x];
    })", "lines", {.grid = over(arg(2)), .args = {arg(2).ptr(), arg(1).ptr(), arg(1).size(0), arg(1).step(1), arg(0)}})};
  std::vector<float> v(100, 1), u(100, 2), m(5 * 3), sums(3, 0);
  std::iota(m.begin(), m.end(), 0.f);
  auto x = rt.vector(v), y = rt.vector(u), s = rt.vector(sums);
  auto a = rt.matrix(m.data(), 4, 3, 5);
  rt.submit({.worker = device}, axpy, 3.f, r(x), rw(y));
  rt.submit({.worker = device}, lines, 2.f, r(a), rw(s));
  EXPECT_EQ(y.read()[99], 5);
  EXPECT_EQ(s.read()[0], 2 * (0 + 1 + 2 + 3));
  EXPECT_EQ(s.read()[2], 2 * (10 + 11 + 12 + 13));
}

}  // namespace
