// The kernels of the tiled Cholesky for GPUs, on cuBLAS or rocBLAS and cuSOLVER: what kernels.hpp does, enqueued on the
// worker's stream. Where there is no cuSOLVER potrf is left to the cores: it is a small part of the work.
#pragma once
#include "../gpu_blas.hpp"

#include <cstdio>
#include <cstring>
#include <span>

namespace cholesky::gpu {

using consort::Matrix;
constexpr float one = 1, minus_one = -1;

inline int rows(const auto &m) { return static_cast<int>(m.nx()); }
inline int cols(const auto &m) { return static_cast<int>(m.ny()); }
inline int ld(const auto &m) { return static_cast<int>(m.ld()); }

struct Solver : example::Cuda {
  static constexpr const char *library = "cusolver";
};

// How many numbers cuSOLVER works in for a tile of n x n, on any GPU; 0: no GPU here has it.
inline int room_for_potrf(consort::Runtime &rt, int n) {
  for (uint32_t w = 0; w < rt.info().nworkers; ++w) {
    if (std::strcmp(rt.worker(w).klass, Solver::klass)) continue;
    int room = 0;
    try {
      rt.run_on_each([&](const consort_call &call) {
        return example::enqueue<Solver>(call, "cusolverDnSpotrf_bufferSize", Solver::lower, n, static_cast<float *>(nullptr), n, &room);
      }, Solver::klass);
    } catch (const consort::Error &e) {
      std::fprintf(stderr, "cholesky: potrf is left to the cores: %s\n", e.what());
      return 0;
    }
    return room;
  }
  return 0;
}

// L of A = L Lᵀ. Behind what it works in is where cuSOLVER says whether there is one; the residual tells, too.
inline consort_status potrf(const consort_call &call, Matrix<float> a, std::span<float> work) {
  const int room = static_cast<int>(work.size()) - 1;
  return example::enqueue<Solver>(call, "cusolverDnSpotrf", Solver::lower, rows(a), a.data(), ld(a), work.data(), room,
                                  reinterpret_cast<int *>(work.data() + room));
}

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
