// AMD's rocBLAS, with the functions that the examples and tests call. It lies in the double of HIP's library, and uses
// its machine. Debian has no header of it: its declarations are written here, with its numbers.
#include "blas_loops.hpp"
#include "hip_front.hpp"

using namespace gpu;

extern "C" {

using rocblas_handle = struct _rocblas_handle *;
enum rocblas_status : int {
  rocblas_status_invalid_handle = 1,
  rocblas_status_memory_error = 5,
  rocblas_status_internal_error = 6,
  rocblas_status_invalid_value = 11
};
enum rocblas_operation : int { rocblas_operation_none = 111 };
enum rocblas_fill : int { rocblas_fill_upper = 121, rocblas_fill_lower = 122 };
enum rocblas_diagonal : int { rocblas_diagonal_unit = 132 };
enum rocblas_side : int { rocblas_side_right = 142 };

}

namespace {

constexpr const char *library_name = "rocBLAS";

template <class F>
rocblas_status blas(const char *name, Need what, F &&body) noexcept {
  switch (int code = hip(name, what, std::forward<F>(body))) {
    case invalid_value: return rocblas_status_invalid_value;
    case out_of_memory: return rocblas_status_memory_error;
    case invalid_context:
    case invalid_handle: return rocblas_status_invalid_handle;
    default: return code < 100 ? static_cast<rocblas_status>(code) : rocblas_status_internal_error;
  }
}

bool transposed(rocblas_operation op) { return op != rocblas_operation_none; }
Triangle triangle(rocblas_fill fill) {
  return fill == rocblas_fill_lower ? Triangle::lower : fill == rocblas_fill_upper ? Triangle::upper : (fail(invalid_value), Triangle::lower);
}

}  // namespace

extern "C" {

rocblas_status rocblas_create_handle(rocblas_handle *out) {
  return blas("rocblas_create_handle", Need::context,
              [&](Call &c) { *need(out) = handle_of<rocblas_handle>(*make_handle(c, library_name)); });
}

rocblas_status rocblas_destroy_handle(rocblas_handle handle) {
  return blas("rocblas_destroy_handle", Need::cleanup, [&](Call &c) { destroy_handle(c, handle, library_name); });
}

rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream) {
  return blas("rocblas_set_stream", Need::context,
              [&](Call &c) { bind(c, *handle_at(c, handle, library_name), stream); });
}

rocblas_status rocblas_get_stream(rocblas_handle handle, hipStream_t *stream) {
  return blas("rocblas_get_stream", Need::context, [&](Call &c) {
    *need(stream) = static_cast<hipStream_t>(const_cast<void *>(handle_at(c, handle, library_name)->stream));
  });
}

const char *rocblas_status_to_string(rocblas_status status) {
  switch (status) {
    case rocblas_status_invalid_handle: return "rocblas_status_invalid_handle";
    case rocblas_status_memory_error: return "rocblas_status_memory_error";
    case rocblas_status_invalid_value: return "rocblas_status_invalid_value";
    default: return status ? "rocblas_status_internal_error" : "rocblas_status_success";
  }
}

#define BLAS(X, T)                                                                                                      \
  rocblas_status rocblas_##X##gemm(rocblas_handle handle, rocblas_operation ta, rocblas_operation tb, int m,      \
                                          int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb,        \
                                          const T *beta, T *c, int ldc) {                                               \
    return blas("rocblas_" #X "gemm", Need::context, [&](Call &call) {                                                  \
      gemm<T>(call, *handle_at(call, handle, library_name), "rocblas_" #X "gemm", transposed(ta), transposed(tb), m, n,  \
              k, alpha, a, lda, b, ldb, beta, c, ldc);                                                                  \
    });                                                                                                                 \
  }                                                                                                                     \
  rocblas_status rocblas_##X##syrk(rocblas_handle handle, rocblas_fill fill, rocblas_operation t, int n, int k,   \
                                          const T *alpha, const T *a, int lda, const T *beta, T *c, int ldc) {          \
    return blas("rocblas_" #X "syrk", Need::context, [&](Call &call) {                                                  \
      syrk<T>(call, *handle_at(call, handle, library_name), "rocblas_" #X "syrk", triangle(fill), transposed(t), n, k,   \
              alpha, a, lda, beta, c, ldc);                                                                             \
    });                                                                                                                 \
  }                                                                                                                     \
  rocblas_status rocblas_##X##trsm(rocblas_handle handle, rocblas_side side, rocblas_fill fill,                   \
                                          rocblas_operation t, rocblas_diagonal diagonal, int m, int n, const T *alpha,  \
                                          const T *a, int lda, T *b, int ldb) {                                         \
    return blas("rocblas_" #X "trsm", Need::context, [&](Call &call) {                                                  \
      trsm<T>(call, *handle_at(call, handle, library_name), "rocblas_" #X "trsm", side == rocblas_side_right,            \
              triangle(fill), transposed(t), diagonal == rocblas_diagonal_unit, m, n, alpha, a, lda, b, ldb);            \
    });                                                                                                                 \
  }
BLAS(s, float)
BLAS(d, double)
#undef BLAS

}
