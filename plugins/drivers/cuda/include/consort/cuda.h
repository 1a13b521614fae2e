/* consort/cuda.h — NVIDIA's libraries in functions of codelets for class "cuda": a handle for each worker, kept by the driver.
 * Installed with the driver `cuda` (plugins/drivers/cuda); includes only libraries.h. NVIDIA's headers are not needed; if
 * cublas_v2.h, cusolverDn.h or cusparse.h are included, the handle types are theirs.
 *
 *   cublasHandle_t blas;
 *   consort_status s = consort_cublas(call, &blas);
 *   if (s >= 0) s = consort_cublas_check(call, "cublasSgemm", cublasSgemm(blas, ...));
 *   return s;
 *
 * The handle is bound to call->native_queue. A codelet whose function only enqueues this way has CONSORT_CL_ASYNC. */
#ifndef CONSORT_CUDA_H
#define CONSORT_CUDA_H
#include <consort/libraries.h>
#ifdef __cplusplus
extern "C" {
#endif

struct cublasContext;     /* cublasHandle_t */
struct cusolverDnContext; /* cusolverDnHandle_t */
struct cusparseContext;   /* cusparseHandle_t */

/* Returns this worker's handle, created at its first call; see consort_library_handle(). */
static inline consort_status consort_cublas(const consort_call *call, struct cublasContext **out) {
  void *handle = NULL;
  const consort_status s = consort_library_handle(call, "cublas", &handle);
  *out = (struct cublasContext *)handle;
  return s;
}
static inline consort_status consort_cusolver(const consort_call *call, struct cusolverDnContext **out) {
  void *handle = NULL;
  const consort_status s = consort_library_handle(call, "cusolver", &handle);
  *out = (struct cusolverDnContext *)handle;
  return s;
}
static inline consort_status consort_cusparse(const consort_call *call, struct cusparseContext **out) {
  void *handle = NULL;
  const consort_status s = consort_library_handle(call, "cusparse", &handle);
  *out = (struct cusparseContext *)handle;
  return s;
}

/* Converts the library's return code (cublasStatus_t, ...) to a status with a text: 0 is OK. */
static inline consort_status consort_cublas_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "cublas", function, status);
}
static inline consort_status consort_cusolver_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "cusolver", function, status);
}
static inline consort_status consort_cusparse_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "cusparse", function, status);
}

/* Creates handles on all workers of class "cuda" now, so that no task pays for it. Waits. */
static inline consort_status consort_cublas_start(consort_runtime *rt) { return consort_library_start(rt, "cuda", "cublas"); }
static inline consort_status consort_cusolver_start(consort_runtime *rt) { return consort_library_start(rt, "cuda", "cusolver"); }
static inline consort_status consort_cusparse_start(consort_runtime *rt) { return consort_library_start(rt, "cuda", "cusparse"); }

#ifdef __cplusplus
}
#endif
#endif
