// matmul — C := A B in tiles of the program's own matrices: a tile is registered with the leading dimension of the
// whole, no element is copied. The products that add to one tile of C are a chain, since each reads and writes it;
// chains of different tiles are independent. On cores the kernel is OpenBLAS' where it was found, else three loops; on GPUs
// their vendor's BLAS. Prints the size, the largest error, and the cores' kernel.
#include "../example.hpp"
#include "../gpu_blas.hpp"

#if defined(EXAMPLE_OPENBLAS)
#include <cblas.h>
#endif

namespace {

using consort::Matrix, consort::read, consort::readwrite;

#if defined(EXAMPLE_OPENBLAS)
constexpr const char *kernel = "OpenBLAS";
void add_product(const consort_call &, Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  const auto number = [](size_t n) { return static_cast<int>(n); };
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, number(c.ny()), number(c.nx()), number(a.nx()), 1, a.data(),
              number(a.ld()), b.data(), number(b.ld()), 1, c.data(), number(c.ld()));
}
#else
constexpr const char *kernel = "plain loops";
void add_product(const consort_call &, Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t k = 0; k < a.nx(); ++k)
      for (size_t j = 0; j < c.nx(); ++j) c(j, i) += a(k, i) * b(j, k);  // c(x, y): column x of row y
}
#endif
// For an OpenCL device: a work item for each element of C, one sum.
constexpr const char *add_product_cl = R"(
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  __kernel void gemm(__global const double *a, ulong n, ulong lda, __global const double *b, ulong ldb,
                     __global double *c, ulong ldc) {
    size_t j = get_global_id(0), i = get_global_id(1);
    double sum = c[i * ldc + j];
    for (ulong k = 0; k < n; ++k) sum += a[i * lda + k] * b[k * ldb + j];
    c[i * ldc + j] = sum;
  })";
// For GPUs: cuBLAS or rocBLAS, whose matrices are column-major. So they are asked for the transposed of C := A B + C.
template <class V>
consort_status add_product_gpu(const consort_call &call, Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  constexpr double one = 1;
  const auto number = [](size_t n) { return static_cast<int>(n); };
  return example::enqueue<V>(call, V::dgemm, V::none, V::none, number(c.nx()), number(c.ny()), number(a.nx()), &one,
                             b.data(), number(b.ld()), a.data(), number(a.ld()), &one, c.data(), number(c.ld()));
}
using consort::arg;
const consort::Codelet gemm{"gemm",
                            consort::cpu(add_product),
                            consort::opencl_source(add_product_cl, "gemm",
                                                   {.grid = over(arg(2)),
                                                    .args = {arg(0).ptr(), arg(0).size(0), arg(0).step(1), arg(1).ptr(),
                                                             arg(1).step(1), arg(2).ptr(), arg(2).step(1)}}),
                            consort::cuda(add_product_gpu<example::Cuda>),
                            consort::impl("hip", add_product_gpu<example::Hip>),
                            consort::async};

// A matrix of n x n elements, row after row, and its tiles as the runtime knows them.
class Tiled {
 public:
  Tiled(consort::Runtime &rt, std::vector<double> &elements, size_t n, size_t tile, const char *name)
      : across_((n + tile - 1) / tile) {
    for (size_t i = 0; i < n; i += tile)
      for (size_t j = 0; j < n; j += tile)
        tiles_.push_back(rt.matrix(&elements[i * n + j], std::min(tile, n - j), std::min(tile, n - i), n, name));
  }
  size_t across() const { return across_; }
  const consort::Data<Matrix<double>> &operator()(size_t i, size_t j) const { return tiles_[i * across_ + j]; }

 private:
  size_t across_;
  std::vector<consort::Data<Matrix<double>>> tiles_;
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 384, "rows and columns"}, {"tile", 96, "rows and columns of a tile"}});
  const size_t n = size["n"];
  std::vector<double> a(n * n), b(n * n), c(n * n, 0), expected = c;
  for (size_t i = 0; i < n * n; ++i)
    a[i] = static_cast<double>(i * 7 % 13) - 6, b[i] = static_cast<double>(i * 5 % 17) - 8;
#if defined(EXAMPLE_OPENBLAS)
  openblas_set_num_threads(1);  // the workers are the threads
#endif

  {
    consort::Runtime rt(size.settings());
    const Tiled A(rt, a, n, size["tile"], "A"), B(rt, b, n, size["tile"], "B"), C(rt, c, n, size["tile"], "C");
    for (size_t i = 0; i < C.across(); ++i)
      for (size_t j = 0; j < C.across(); ++j)
        for (size_t k = 0; k < C.across(); ++k) rt.submit(gemm, read(A(i, k)), read(B(k, j)), readwrite(C(i, j)));
    rt.wait();
  }

  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < n; ++k)
      for (size_t j = 0; j < n; ++j) expected[i * n + j] += a[i * n + k] * b[k * n + j];
  const double error = example::difference(c, expected);
  return example::end(error < 1e-9, "matmul: %zu x %zu, largest error %g, kernel: %s", n, n, error, kernel);
} catch (const std::exception &e) {
  return example::failed(e);
}
