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

inline auto kernel(const char *entry, consort::Launch how) {
  return consort::opencl_source(text, entry, std::move(how));
}

using consort::arg, consort::over;
inline auto potrf() {
  return kernel("potrf",
                {.grid = 1, .block = {64}, .args = {arg(0).ptr(), arg(0).size(0), arg(0).step(1)}});  // one group
}
inline auto trsm() {
  const auto rows = [](void *, const consort_call *, consort_range *io) -> consort_status {
    io->grid[1] = 1;  // of B's two dimensions its rows alone
    return CONSORT_OK;
  };
  return kernel("trsm",
                {.grid = over(arg(1), rows),
                 .block = {16},
                 .args = {arg(0).ptr(), arg(0).step(1), arg(1).ptr(), arg(1).size(0), arg(1).size(1), arg(1).step(1)}});
}
inline auto syrk() {
  return kernel("syrk",
                {.grid = over(arg(1)),
                 .block = {16, 16},
                 .args = {arg(0).ptr(), arg(0).size(1), arg(0).step(1), arg(1).ptr(), arg(1).size(0), arg(1).step(1)}});
}
inline auto gemm() {
  return kernel("gemm", {.grid = over(arg(2)),
                         .block = {16, 16},
                         .args = {arg(0).ptr(), arg(0).size(1), arg(0).step(1), arg(1).ptr(), arg(1).step(1),
                                  arg(2).ptr(), arg(2).size(0), arg(2).size(1), arg(2).step(1)}});
}
inline auto fill() { return kernel("fill", {.args = {arg(0).ptr(), arg(0).step(1), arg(1), arg(2), arg(3)}}); }

}  // namespace cholesky::cl
