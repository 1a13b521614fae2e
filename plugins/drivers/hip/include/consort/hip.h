/* consort/hip.h — AMD's libraries in functions of codelets for class "hip": a handle for each worker, kept by the driver.
 * Installed with the driver `hip` (plugins/drivers/hip); includes only libraries.h. AMD's headers are not needed; if rocblas.h or
 * hipblas.h are included, the handle types are theirs.
 *
 *   rocblas_handle blas;
 *   consort_status s = consort_rocblas(call, &blas);
 *   if (s >= 0) s = consort_rocblas_check(call, "rocblas_sgemm", rocblas_sgemm(blas, ...));
 *   return s;
 *
 * The handle is bound to call->native_queue. A codelet whose function only enqueues this way has CONSORT_CL_ASYNC. */
#ifndef CONSORT_HIP_H
#define CONSORT_HIP_H
#include <consort/libraries.h>
#ifdef __cplusplus
extern "C" {
#endif

struct _rocblas_handle; /* rocblas_handle; hipblasHandle_t is a void * */

/* Returns this worker's handle, created at its first call; see consort_library_handle(). */
static inline consort_status consort_rocblas(const consort_call *call, struct _rocblas_handle **out) {
  void *handle = NULL;
  const consort_status s = consort_library_handle(call, "rocblas", &handle);
  *out = (struct _rocblas_handle *)handle;
  return s;
}
static inline consort_status consort_hipblas(const consort_call *call, void **out) {
  return consort_library_handle(call, "hipblas", out);
}

/* Converts the library's return code (rocblas_status, ...) to a status with a text: 0 is OK. */
static inline consort_status consort_rocblas_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "rocblas", function, status);
}
static inline consort_status consort_hipblas_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "hipblas", function, status);
}

/* Creates handles on all workers of class "hip" now, so that no task pays for it. Waits. */
static inline consort_status consort_rocblas_start(consort_runtime *rt) { return consort_library_start(rt, "hip", "rocblas"); }
static inline consort_status consort_hipblas_start(consort_runtime *rt) { return consort_library_start(rt, "hip", "hipblas"); }

#ifdef __cplusplus
}
#endif
#endif
