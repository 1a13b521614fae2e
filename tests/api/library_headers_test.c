/* The headers of libraries that come with drivers, in a C program. They need no vendor's header and no plugin to link, and their
 * types are the vendors'. Where a worker's driver has no libraries they say so. */
#include <consort/cuda.h>
#include <consort/hip.h>
#if defined(CONSORT_HAS_CUBLAS)
#include <cublas_v2.h>
#endif
#include <stdio.h>
#include <string.h>

#define CHECK(x) \
  if (!(x)) return fprintf(stderr, "line %d: " #x ": %s\n", __LINE__, consort_error()), 1

static consort_status ask(const consort_call *call) {
#if defined(CONSORT_HAS_CUBLAS)
  cublasHandle_t blas;
#else
  struct cublasContext *blas;
#endif
  struct cusolverDnContext *solver;
  struct cusparseContext *sparse;
  struct _rocblas_handle *roc;
  void *hip;
  if (consort_cublas(call, &blas) != CONSORT_E_UNSUPPORTED || blas) return CONSORT_E_INTERNAL;
  if (consort_cusolver(call, &solver) != CONSORT_E_UNSUPPORTED || solver) return CONSORT_E_INTERNAL;
  if (consort_cusparse(call, &sparse) != CONSORT_E_UNSUPPORTED || sparse) return CONSORT_E_INTERNAL;
  if (consort_rocblas(call, &roc) != CONSORT_E_UNSUPPORTED || roc) return CONSORT_E_INTERNAL;
  if (consort_hipblas(call, &hip) != CONSORT_E_UNSUPPORTED || hip) return CONSORT_E_INTERNAL;
  if (consort_cublas_check(call, "cublasSgemm", 0) != CONSORT_OK || consort_cublas_check(call, "cublasSgemm", 7) != CONSORT_E_UNSUPPORTED)
    return CONSORT_E_INTERNAL;
  return consort_cublas(call, &blas);
}

int main(void) {
  consort_runtime *rt = NULL;
  const consort_setting set[] = {{"drivers", "cpu"}, {"workers", "1"}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = 2;
  CHECK(consort_start(&settings, &rt) == CONSORT_OK);
  CHECK(consort_run_on_each(rt, "cpu", ask, NULL) == CONSORT_E_UNSUPPORTED);
  CHECK(strstr(consort_error(), "\"cublas\"") && strstr(consort_error(), "\"cpu\" has no libraries"));
  CHECK(consort_cublas_start(rt) == CONSORT_E_INVAL && strstr(consort_error(), "cuda"));
  CHECK(consort_rocblas_start(rt) == CONSORT_E_INVAL && strstr(consort_error(), "hip"));
  CHECK(consort_stop(rt) == CONSORT_OK);
  return 0;
}
