// Dense algebra on GPUs, as the examples call it: the worker's handle of cuBLAS or rocBLAS, and the library's functions, which
// are looked up when a task runs. So these programs build where neither library is, and run wherever a driver finds one.
// A program that is linked with cuBLAS anyway includes <consort/cuda.h>, asks consort_cublas() for the handle and calls
// cublasSgemm() itself (docs/gpu-libraries.md).
//
// For functions of codelets that are consort::async: they only enqueue. Matrices are column-major, as BLAS' are.
#pragma once
#include <consort/consort.hpp>
#include <consort/libraries.h>

#include <cstring>

namespace example {

// What differs between the two: names and numbers. Both take the same arguments in the same order.
struct Cuda {
  static constexpr const char *klass = "cuda", *library = "cublas";
  static constexpr int none = 0, transposed = 1, lower = 0, right = 1, non_unit = 0;
  static constexpr const char *sgemm = "cublasSgemm_v2", *dgemm = "cublasDgemm_v2", *ssyrk = "cublasSsyrk_v2",
                              *strsm = "cublasStrsm_v2";
};
struct Hip {
  static constexpr const char *klass = "hip", *library = "rocblas";
  static constexpr int none = 111, transposed = 112, lower = 122, right = 142, non_unit = 131;
  static constexpr const char *sgemm = "rocblas_sgemm", *dgemm = "rocblas_dgemm", *ssyrk = "rocblas_ssyrk",
                              *strsm = "rocblas_strsm";
};

// Enqueues one call of a library, with this worker's handle in front of the arguments: the types are the ones that the
// library declares, its enumerations as int.
template <class Vendor, class... A>
consort_status enqueue(const consort_call &call, const char *name, A... a) {
  void *handle = nullptr, *function = nullptr;
  consort_status s = consort_library_handle(&call, Vendor::library, &handle);
  if (s >= 0) s = consort_library_symbol(&call, Vendor::library, name, &function);
  if (s < 0) return s;
  const int status = reinterpret_cast<int (*)(void *, A...)>(function)(handle, a...);
  return consort_library_check(&call, Vendor::library, name, status);
}

// Making a handle takes long: on all GPUs at once, before anything is measured.
inline void start_gpu_blas(consort::Runtime &rt) {
  const auto start = [&](const char *klass, const char *library) {
    for (uint32_t w = 0; w < rt.info().nworkers; ++w)
      if (!std::strcmp(rt.worker(w).klass, klass))
        return rt.run_on_each([&](const consort_call &call) {
          void *handle;
          return consort_library_handle(&call, library, &handle);
        }, klass);
  };
  start(Cuda::klass, Cuda::library);
  start(Hip::klass, Hip::library);
}

}  // namespace example
