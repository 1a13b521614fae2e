// NVIDIA's cuBLAS and cuSOLVER, with the functions that the examples and tests call. They lie in the double of the
// driver's library, and use its machine.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include "blas_loops.hpp"
#include "cuda_front.hpp"

using namespace gpu;

namespace {

constexpr const char *blas_name = "cuBLAS", *solver_name = "cuSOLVER";

// The core's statuses, in the library's numbers; injected numbers stay.
template <class F>
cublasStatus_t blas(const char *name, Need what, F &&body) noexcept {
  switch (int code = call(name, what, std::forward<F>(body))) {
    case invalid_value: return CUBLAS_STATUS_INVALID_VALUE;
    case out_of_memory: return CUBLAS_STATUS_ALLOC_FAILED;
    case not_initialized:
    case invalid_context:
    case invalid_handle: return CUBLAS_STATUS_NOT_INITIALIZED;
    default: return code < 100 ? static_cast<cublasStatus_t>(code) : CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

template <class F>
cusolverStatus_t solver(const char *name, Need what, F &&body) noexcept {
  switch (int code = call(name, what, std::forward<F>(body))) {
    case invalid_value: return CUSOLVER_STATUS_INVALID_VALUE;
    case out_of_memory: return CUSOLVER_STATUS_ALLOC_FAILED;
    case not_initialized:
    case invalid_context:
    case invalid_handle: return CUSOLVER_STATUS_NOT_INITIALIZED;
    default: return code < 100 ? static_cast<cusolverStatus_t>(code) : CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}

bool transposed(cublasOperation_t op) { return op != CUBLAS_OP_N; }
Triangle triangle(cublasFillMode_t mode) {
  return mode == CUBLAS_FILL_MODE_LOWER ? Triangle::lower : mode == CUBLAS_FILL_MODE_UPPER ? Triangle::upper : (fail(invalid_value), Triangle::lower);
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t *out) {
  return blas("cublasCreate", Need::context,
              [&](Call &c) { *need(out) = handle_of<cublasHandle_t>(*make_handle(c, blas_name)); });
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return blas("cublasDestroy", Need::cleanup, [&](Call &c) { destroy_handle(c, handle, blas_name); });
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return blas("cublasSetStream", Need::context, [&](Call &c) { bind(c, *handle_at(c, handle, blas_name), stream); });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) {
  return blas("cublasGetStream", Need::context, [&](Call &c) {
    *need(stream) = static_cast<cudaStream_t>(const_cast<void *>(handle_at(c, handle, blas_name)->stream));
  });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
  return blas("cublasSetMathMode", Need::context, [&](Call &c) { handle_at(c, handle, blas_name); });
}

const char *cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the function failed to launch on the GPU";
    default: return "an internal operation failed";
  }
}

#define BLAS(X, T)                                                                                                     \
  cublasStatus_t cublas##X##gemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,    \
                                    int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta,     \
                                    T *c, int ldc) {                                                                   \
    return blas("cublas" #X "gemm", Need::context, [&](Call &call) {                                                   \
      gemm<T>(call, *handle_at(call, handle, blas_name), "cublas" #X "gemm", transposed(ta), transposed(tb), m, n, k,   \
              alpha, a, lda, b, ldb, beta, c, ldc);                                                                    \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syrk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t t, int n, int k,    \
                                    const T *alpha, const T *a, int lda, const T *beta, T *c, int ldc) {               \
    return blas("cublas" #X "syrk", Need::context, [&](Call &call) {                                                   \
      syrk<T>(call, *handle_at(call, handle, blas_name), "cublas" #X "syrk", triangle(fill), transposed(t), n, k,       \
              alpha, a, lda, beta, c, ldc);                                                                            \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##trsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
                                    cublasOperation_t t, cublasDiagType_t diag, int m, int n, const T *alpha,          \
                                    const T *a, int lda, T *b, int ldb) {                                              \
    return blas("cublas" #X "trsm", Need::context, [&](Call &call) {                                                   \
      trsm<T>(call, *handle_at(call, handle, blas_name), "cublas" #X "trsm", side == CUBLAS_SIDE_RIGHT,                 \
              triangle(fill), transposed(t), diag == CUBLAS_DIAG_UNIT, m, n, alpha, a, lda, b, ldb);                    \
    });                                                                                                                \
  }
BLAS(S, float)
BLAS(D, double)
#undef BLAS

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *out) {
  return solver("cusolverDnCreate", Need::context,
                [&](Call &c) { *need(out) = handle_of<cusolverDnHandle_t>(*make_handle(c, solver_name)); });
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return solver("cusolverDnDestroy", Need::cleanup, [&](Call &c) { destroy_handle(c, handle, solver_name); });
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return solver("cusolverDnSetStream", Need::context,
                [&](Call &c) { bind(c, *handle_at(c, handle, solver_name), stream); });
}

#define SOLVER(X, T)                                                                                                   \
  cusolverStatus_t cusolverDn##X##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int n, T *, int lda,    \
                                                   int *room) {                                                        \
    return solver("cusolverDn" #X "potrf_bufferSize", Need::context, [&](Call &call) {                                 \
      handle_at(call, handle, solver_name);                                                                            \
      check_matrix({nullptr, n, n, lda, sizeof(T), false});                                                            \
      *need(room) = n + 32;                                                                                            \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##X##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T *a, int lda,        \
                                        T *work, int room, int *info) {                                                \
    return solver("cusolverDn" #X "potrf", Need::context, [&](Call &call) {                                            \
      if (room < n + 32) fail(invalid_value);                                                                          \
      potrf<T>(call, *handle_at(call, handle, solver_name), "cusolverDn" #X "potrf", triangle(fill), n, a, lda, work,   \
               room, info);                                                                                            \
    });                                                                                                                \
  }
SOLVER(S, float)
SOLVER(D, double)
#undef SOLVER
