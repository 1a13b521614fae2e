// libraries.cpp — the libraries of NVIDIA that functions of codelets may use.
#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>

#include "api.hpp"

namespace cuda {

const gpu::KnownLibrary Api::kLibraries[3] = {
    {"cublas", "cublasCreate_v2", "cublasSetStream_v2", "cublasDestroy_v2", "cublasGetStatusString",
     {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so", nullptr},
     "install cuBLAS (it comes with the CUDA toolkit)",
     {{3, CONSORT_E_NOMEM}, {7, CONSORT_E_INVAL}, {8, CONSORT_E_UNSUPPORTED}, {15, CONSORT_E_UNSUPPORTED}, {16, CONSORT_E_UNSUPPORTED}}},
    {"cusolver", "cusolverDnCreate", "cusolverDnSetStream", "cusolverDnDestroy", "cusolverGetErrorString",
     {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", "/usr/local/cuda/lib64/libcusolver.so", nullptr},
     "install cuSOLVER (it comes with the CUDA toolkit)",
     {{2, CONSORT_E_NOMEM}, {3, CONSORT_E_INVAL}, {4, CONSORT_E_UNSUPPORTED}, {8, CONSORT_E_UNSUPPORTED}, {9, CONSORT_E_UNSUPPORTED},
      {10, CONSORT_E_INVAL}, {11, CONSORT_E_UNSUPPORTED}}},
    {"cusparse", "cusparseCreate", "cusparseSetStream", "cusparseDestroy", "cusparseGetErrorString",
     {"libcusparse.so.12", "libcusparse.so.11", "libcusparse.so", "/usr/local/cuda/lib64/libcusparse.so", nullptr},
     "install cuSPARSE (it comes with the CUDA toolkit)",
     {{2, CONSORT_E_NOMEM}, {3, CONSORT_E_INVAL}, {4, CONSORT_E_UNSUPPORTED}, {8, CONSORT_E_UNSUPPORTED}, {9, CONSORT_E_INVAL},
      {10, CONSORT_E_UNSUPPORTED}, {11, CONSORT_E_NOMEM}}},
};

void *Api::open_beside(const char *library, bool there) const noexcept {
  return ::dlopen(consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL | (there ? RTLD_NOLOAD : 0));
}

}  // namespace cuda
