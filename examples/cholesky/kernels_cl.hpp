// The kernels of the tiled Cholesky for OpenCL devices: text, with what each takes and over what it runs. Tiles are
// column-major: element (r, c) lies at c * ld + r, and a Matrix of one has its rows as nx, its columns as ny. Nothing
// here runs on the host. They must do what kernels.hpp does; but a matrix that is not positive definite gives NaN here.
#pragma once
#include <consort/consort.hpp>

namespace cholesky::cl {

constexpr const char *text = R"(
  // potrf in one group, whose items meet twice for each column.
  __kernel void potrf(__global float *a, ulong n, ulong ld) {
    size_t me = get_local_id(0), all = get_local_size(0);
    for (ulong k = 0; k < n; ++k) {
      float root = sqrt(a[k * ld + k]);
      barrier(CLK_GLOBAL_MEM_FENCE);
      for (ulong r = k + me; r < n; r += all) a[k * ld + r] = r == k ? root : a[k * ld + r] / root;
      barrier(CLK_GLOBAL_MEM_FENCE);
      for (ulong c = k + 1; c < n; ++c)
        for (ulong r = c + me; r < n; r += all) a[c * ld + r] -= a[k * ld + r] * a[k * ld + c];
      barrier(CLK_GLOBAL_MEM_FENCE);
    }
  }
  // An item for each row of B.
  __kernel void trsm(__global const float *l, ulong ldl, __global float *b, ulong m, ulong n, ulong ldb) {
    size_t r = get_global_id(0);
    if (r >= m) return;
    for (ulong c = 0; c < n; ++c) {
      float sum = b[c * ldb + r];
      for (ulong k = 0; k < c; ++k) sum -= b[k * ldb + r] * l[k * ldl + c];
      b[c * ldb + r] = sum / l[c * ldl + c];
    }
  }
  // An item for each element of C, in groups of 16 x 16, which bring blocks of A and B to their own memory.
  typedef float Block[16][16];
  void subtract(__global const float *a, ulong k, ulong lda, __global const float *b, ulong ldb, __global float *c,
                ulong m, ulong n, ulong ldc, int lower, __local Block *of_a, __local Block *of_b) {
    size_t r = get_global_id(0), q = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    size_t row_of_b = get_group_id(1) * 16 + x;
    float sum = 0;
    for (ulong i = 0; i < k; i += 16) {
      (*of_a)[y][x] = r < m && i + y < k ? a[(i + y) * lda + r] : 0;
      (*of_b)[y][x] = row_of_b < n && i + y < k ? b[(i + y) * ldb + row_of_b] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int j = 0; j < 16; ++j) sum += (*of_a)[j][x] * (*of_b)[j][y];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (r < m && q < n && (!lower || r >= q)) c[q * ldc + r] -= sum;
  }
  __kernel void syrk(__global const float *a, ulong k, ulong lda, __global float *c, ulong n, ulong ldc) {
    __local Block of_a, of_b;
    subtract(a, k, lda, a, lda, c, n, n, ldc, 1, &of_a, &of_b);
  }
  __kernel void gemm(__global const float *a, ulong k, ulong lda, __global const float *b, ulong ldb, __global float *c,
                     ulong m, ulong n, ulong ldc) {
    __local Block of_a, of_b;
    subtract(a, k, lda, b, ldb, c, m, n, ldc, 0, &of_a, &of_b);
  }
  // Tiled::element().
  __kernel void fill(__global float *a, ulong ld, long first_row, long first_col, int n) {
    long row = first_row + get_global_id(0), col = first_col + get_global_id(1);
    ulong big = max(row, col), small = min(row, col);
    ulong h = big * 0x9e3779b97f4a7c15UL + small * 0xc2b2ae3d27d4eb4fUL;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9UL;
    a[get_global_id(1) * ld + get_global_id(0)] =
        (float)(h >> 40) / 16777216.0f - 0.5f + (row == col ? (float)n : 0.0f);
  })";

// over: the datum of whose elements each has a work item.
inline auto kernel(const char *entry, uint32_t over, std::vector<consort_pass> args, uint32_t block_x = 1,
                   uint32_t block_y = 1, decltype(consort::Kernel::range) range = nullptr) {
  return consort::opencl(consort::Kernel{.format = "cl",
                                         .text = text,
                                         .entry = entry,
                                         .over = over,
                                         .args = std::move(args),
                                         .block = {block_x, block_y, 1},
                                         .range = range});
}

using consort::pass, consort::pass_value;
inline auto potrf() {
  return kernel("potrf", 0, {pass(0), pass(0, 1), pass(0, 3)}, 64, 1,
                [](void *, const consort_call *, consort_range *io) -> consort_status {
                  io->grid[0] = io->grid[1] = 1;
                  return CONSORT_OK;
                });
}
inline auto trsm() {
  return kernel("trsm", 1, {pass(0), pass(0, 3), pass(1), pass(1, 1), pass(1, 2), pass(1, 3)}, 16, 1,
                [](void *, const consort_call *, consort_range *io) -> consort_status {
                  io->grid[1] = 1;  // of B's two dimensions its rows alone
                  return CONSORT_OK;
                });
}
inline auto syrk() {
  return kernel("syrk", 1, {pass(0), pass(0, 2), pass(0, 3), pass(1), pass(1, 1), pass(1, 3)}, 16, 16);
}
inline auto gemm() {
  return kernel("gemm", 2,
                {pass(0), pass(0, 2), pass(0, 3), pass(1), pass(1, 3), pass(2), pass(2, 1), pass(2, 2), pass(2, 3)}, 16,
                16);
}
inline auto fill() {
  return kernel("fill", 0, {pass(0), pass(0, 3), pass_value(0), pass_value(1), pass_value(2)});
}

}  // namespace cholesky::cl
