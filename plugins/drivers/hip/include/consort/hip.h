/* consort/hip.h — AMD's libraries in functions of codelets for class "hip": a handle for each worker, kept by the driver. Comes
 * with the driver `hip` (plugins/drivers/hip), and stands on libraries.h alone: no header of AMD's is needed, but where rocblas.h or
 * hipblas.h are included the types are theirs.
 *
 *   rocblas_handle blas;
 *   consort_status s = consort_rocblas(call, &blas);
 *   if (s >= 0) s = consort_rocblas_check(call, "rocblas_sgemm", rocblas_sgemm(blas, ...));
 *   return s;
 *
 * The handle is bound to call->native_queue. A function that only enqueues so belongs to a codelet with CONSORT_CL_ASYNC. */
#ifndef CONSORT_HIP_H
#define CONSORT_HIP_H
#include <consort/libraries.h>
#ifdef __cplusplus
extern "C" {
#endif

struct _rocblas_handle; /* rocblas_handle; hipblasHandle_t is a void * */

/* This worker's handle, made when it first asks: consort_library_handle() says more. */
static inline consort_status consort_rocblas(const consort_call *call, struct _rocblas_handle **out) {
  void *handle = NULL;
  const consort_status s = consort_library_handle(call, "rocblas", &handle);
  *out = (struct _rocblas_handle *)handle;
  return s;
}
static inline consort_status consort_hipblas(const consort_call *call, void **out) {
  return consort_library_handle(call, "hipblas", out);
}

/* What a call of the library has answered (rocblas_status, ...), as a status with words: 0 is OK. */
static inline consort_status consort_rocblas_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "rocblas", function, status);
}
static inline consort_status consort_hipblas_check(const consort_call *call, const char *function, int status) {
  return consort_library_check(call, "hipblas", function, status);
}

/* Handles on all workers of class "hip" now, so that no task waits for one. Waits. */
static inline consort_status consort_rocblas_start(consort_runtime *rt) { return consort_library_start(rt, "hip", "rocblas"); }
static inline consort_status consort_hipblas_start(consort_runtime *rt) { return consort_library_start(rt, "hip", "hipblas"); }

#ifdef __cplusplus
}
#endif
#endif
