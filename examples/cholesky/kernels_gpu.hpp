// Three of the four kernels of the tiled Cholesky for GPUs, on cuBLAS or rocBLAS: what kernels.hpp does, enqueued on the
// worker's stream. potrf is left to the cores: it is a small part of the work, and waits at each column.
#pragma once
#include "../gpu_blas.hpp"

namespace cholesky::gpu {

using consort::Matrix;
constexpr float one = 1, minus_one = -1;

inline int rows(const auto &m) { return static_cast<int>(m.nx()); }
inline int cols(const auto &m) { return static_cast<int>(m.ny()); }
inline int ld(const auto &m) { return static_cast<int>(m.ld()); }

// B := B L⁻ᵀ
template <class V>
consort_status trsm(const consort_call &call, Matrix<const float> l, Matrix<float> b) {
  return example::enqueue<V>(call, V::strsm, V::right, V::lower, V::transposed, V::non_unit, rows(b), cols(b), &one,
                             l.data(), ld(l), b.data(), ld(b));
}

// C := C - A Aᵀ, the lower half
template <class V>
consort_status syrk(const consort_call &call, Matrix<const float> a, Matrix<float> c) {
  return example::enqueue<V>(call, V::ssyrk, V::lower, V::none, rows(c), cols(a), &minus_one, a.data(), ld(a), &one,
                             c.data(), ld(c));
}

// C := C - A Bᵀ
template <class V>
consort_status gemm(const consort_call &call, Matrix<const float> a, Matrix<const float> b, Matrix<float> c) {
  return example::enqueue<V>(call, V::sgemm, V::none, V::transposed, rows(c), cols(c), cols(a), &minus_one, a.data(),
                             ld(a), b.data(), ld(b), &one, c.data(), ld(c));
}

}  // namespace cholesky::gpu
