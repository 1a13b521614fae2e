// The four kernels of the tiled Cholesky, single precision, on OpenBLAS; tiles are column-major, lower.
// Pure functions of their arguments, any thread; use_one_thread() must come first, so that the parallelism is the
// runtime's alone.
#pragma once
#include <cblas.h>

extern "C" void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
extern "C" void openblas_set_num_threads(int n);

namespace cholesky {

inline void use_threads(int n) { openblas_set_num_threads(n); }
inline void use_one_thread() { use_threads(1); }

// A := L with L Lᵀ = A. False where A is not positive definite.
inline bool potrf(float *a, int n, int ld) {
  int info = 0;
  spotrf_("L", &n, a, &ld, &info);
  return info == 0;
}

// B := B L⁻ᵀ, with m rows. Each tile has a leading dimension of its own: a copy on a device may be packed.
inline void trsm(const float *l, int ldl, float *b, int ldb, int m, int n) {
  cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0f, l, ldl, b, ldb);
}

// C := C - A Aᵀ, the lower half.
inline void syrk(const float *a, int lda, float *c, int ldc, int n, int k) {
  cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1.0f, a, lda, 1.0f, c, ldc);
}

// C := C - A Bᵀ.
inline void gemm(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int m, int n, int k) {
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n, k, -1.0f, a, lda, b, ldb, 1.0f, c, ldc);
}

// The same for tiles of one leading dimension.
inline void trsm(const float *l, float *b, int m, int n, int ld) { trsm(l, ld, b, ld, m, n); }
inline void syrk(const float *a, float *c, int n, int k, int ld) { syrk(a, ld, c, ld, n, k); }
inline void gemm(const float *a, const float *b, float *c, int m, int n, int k, int ld) {
  gemm(a, ld, b, ld, c, ld, m, n, k);
}

} // namespace cholesky
