// lu — a tiled LU factorisation without pivoting, A = L U in place, of a matrix whose diagonal outweighs its rows. The
// graph is in factorise(), the three loops of the textbook; kernels are plain loops, so that the example needs no
// library. Prints the size, the tasks, and how far L U is from A.
#include "../example.hpp"

#include <algorithm>

namespace {

using consort::Matrix, consort::read, consort::readwrite;

// m(x, y) is column x of row y: rows lie one after the other, and the inner loops run along them.
void getrf_cpu(Matrix<double> a) {
  for (size_t k = 0; k < a.ny(); ++k)
    for (size_t i = k + 1; i < a.ny(); ++i) {
      const double l = a(k, i) /= a(k, k);
      for (size_t j = k + 1; j < a.nx(); ++j) a(j, i) -= l * a(j, k);
    }
}
void trsm_right_cpu(Matrix<const double> u, Matrix<double> b) {
  for (size_t i = 0; i < b.ny(); ++i)
    for (size_t k = 0; k < b.nx(); ++k) {
      const double l = b(k, i) /= u(k, k);
      for (size_t j = k + 1; j < b.nx(); ++j) b(j, i) -= l * u(j, k);
    }
}
void trsm_left_cpu(Matrix<const double> l, Matrix<double> b) {
  for (size_t k = 0; k < b.ny(); ++k)
    for (size_t i = k + 1; i < b.ny(); ++i)
      for (size_t j = 0; j < b.nx(); ++j) b(j, i) -= l(k, i) * b(j, k);
}
void gemm_cpu(Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t k = 0; k < a.nx(); ++k)
      for (size_t j = 0; j < c.nx(); ++j) c(j, i) -= a(k, i) * b(j, k);
}

// The same for OpenCL devices: getrf in one group of work items, which meet twice for each column; one item for each
// row, or column, of B; gemm an item for each element, by blocks of 16 x 16 in the group's own memory.
constexpr const char *kernels = R"(
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  __kernel void getrf(__global double *a, ulong n, ulong ld) {
    size_t me = get_local_id(0), all = get_local_size(0);
    for (ulong k = 0; k < n; ++k) {
      for (ulong i = k + 1 + me; i < n; i += all) a[i * ld + k] /= a[k * ld + k];
      barrier(CLK_GLOBAL_MEM_FENCE);
      for (ulong i = k + 1; i < n; ++i)
        for (ulong j = k + 1 + me; j < n; j += all) a[i * ld + j] -= a[i * ld + k] * a[k * ld + j];
      barrier(CLK_GLOBAL_MEM_FENCE);
    }
  }
  __kernel void trsm_right(__global const double *u, ulong ldu, __global double *b, ulong nx, ulong ny, ulong ldb) {
    if (get_global_id(1) >= ny) return;
    __global double *row = b + get_global_id(1) * ldb;
    for (ulong k = 0; k < nx; ++k) {
      double l = row[k] /= u[k * ldu + k];
      for (ulong j = k + 1; j < nx; ++j) row[j] -= l * u[k * ldu + j];
    }
  }
  __kernel void trsm_left(__global const double *l, ulong ldl, __global double *b, ulong nx, ulong ny, ulong ldb) {
    size_t j = get_global_id(0);
    if (j >= nx) return;
    for (ulong k = 0; k < ny; ++k)
      for (ulong i = k + 1; i < ny; ++i) b[i * ldb + j] -= l[i * ldl + k] * b[k * ldb + j];
  }
  __kernel void gemm(__global const double *a, ulong n, ulong lda, __global const double *b, ulong ldb,
                     __global double *c, ulong nx, ulong ny, ulong ldc) {
    __local double of_a[16][16], of_b[16][16];
    size_t j = get_global_id(0), i = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    double sum = 0;
    for (ulong k = 0; k < n; k += 16) {
      of_a[y][x] = i < ny && k + x < n ? a[i * lda + k + x] : 0;
      of_b[y][x] = j < nx && k + y < n ? b[(k + y) * ldb + j] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int l = 0; l < 16; ++l) sum += of_a[y][l] * of_b[l][x];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < ny && j < nx) c[i * ldc + j] -= sum;
  })";

using consort::arg, consort::over;
const consort::Codelet getrf{"getrf", consort::cpu(getrf_cpu),  // A := L\U
                             consort::opencl_source(kernels, "getrf",
                                                    {.grid = 1,  // one group
                                                     .block = {64},
                                                     .args = {arg(0).ptr(), arg(0).size(1), arg(0).step(1)}})};
// Over the elements of B, of which a function keeps one dimension.
auto over_b(const char *entry, uint32_t block_x, uint32_t block_y, consort::Grid::Range *range) {
  return consort::opencl_source(
      kernels, entry,
      {.grid = over(arg(1), range),
       .block = {block_x, block_y},
       .args = {arg(0).ptr(), arg(0).step(1), arg(1).ptr(), arg(1).size(0), arg(1).size(1), arg(1).step(1)}});
}
consort_status rows(void *, const consort_call *, consort_range *io) { return io->grid[0] = 1, CONSORT_OK; }
consort_status columns(void *, const consort_call *, consort_range *io) { return io->grid[1] = 1, CONSORT_OK; }
const consort::Codelet trsm_right{"trsm right", consort::cpu(trsm_right_cpu),  // B := B U^-1
                                  over_b("trsm_right", 1, 16, rows)};
const consort::Codelet trsm_left{"trsm left", consort::cpu(trsm_left_cpu),  // B := L^-1 B
                                 over_b("trsm_left", 16, 1, columns)};
const consort::Codelet gemm{
    "gemm", consort::cpu(gemm_cpu),  // C := C - A B
    consort::opencl_source(kernels, "gemm",
                           {.grid = over(arg(2)),
                            .block = {16, 16},
                            .args = {arg(0).ptr(), arg(0).size(0), arg(0).step(1), arg(1).ptr(), arg(1).step(1),
                                     arg(2).ptr(), arg(2).size(0), arg(2).size(1), arg(2).step(1)}})};

class Tiles {
 public:
  Tiles(consort::Runtime &rt, std::vector<double> &a, size_t n, size_t tile) : count_((n + tile - 1) / tile) {
    for (size_t i = 0; i < n; i += tile)
      for (size_t j = 0; j < n; j += tile)
        tiles_.push_back(rt.matrix(&a[i * n + j], std::min(tile, n - j), std::min(tile, n - i), n, "A"));
  }
  size_t count() const { return count_; }
  const consort::Data<Matrix<double>> &operator()(size_t i, size_t j) const { return tiles_[i * count_ + j]; }

 private:
  size_t count_;
  std::vector<consort::Data<Matrix<double>>> tiles_;
};

// What stands nearer to the diagonal is more urgent: more hangs on it.
void factorise(consort::Runtime &rt, const Tiles &A) {
  const size_t n = A.count();
  const auto urgent = [&](size_t i, size_t j) { return static_cast<int32_t>(2 * n - i - j); };
  for (size_t k = 0; k < n; ++k) {
    rt.submit({.priority = urgent(k, k)}, getrf, readwrite(A(k, k)));
    for (size_t i = k + 1; i < n; ++i) {
      rt.submit({.priority = urgent(i, k)}, trsm_right, read(A(k, k)), readwrite(A(i, k)));
      rt.submit({.priority = urgent(k, i)}, trsm_left, read(A(k, k)), readwrite(A(k, i)));
    }
    for (size_t i = k + 1; i < n; ++i)
      for (size_t j = k + 1; j < n; ++j)
        rt.submit({.priority = urgent(i, j)}, gemm, read(A(i, k)), read(A(k, j)), readwrite(A(i, j)));
  }
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 384, "rows and columns"}, {"tile", 64, "rows and columns of a tile"}});
  const size_t n = size["n"];
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(i * 7919 % 1009) / 1009 - 0.5;
  for (size_t i = 0; i < n; ++i) a[i * n + i] += static_cast<double>(n);
  const std::vector<double> original = a;

  unsigned long long tasks = 0;
  {
    consort::Runtime rt(size.settings());
    const Tiles A(rt, a, n, size["tile"]);
    factorise(rt, A);
    rt.wait();
    tasks = rt.info().finished;
  }

  std::vector<double> product(n * n, 0);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k <= i; ++k)
      for (size_t j = k; j < n; ++j) product[i * n + j] += (k < i ? a[i * n + k] : 1) * a[k * n + j];
  const double error = example::difference(product, original) / static_cast<double>(n);
  return example::end(error < 1e-12, "lu: %zu x %zu by %llu tasks, |A - L U| / |A| = %.1g", n, n, tasks, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
