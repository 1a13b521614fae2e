// libraries.cpp — the libraries of AMD that functions of codelets may use. Their headers are not needed: the functions used
// take and return pointers and numbers.
#include "api.hpp"
#include "library.hpp"

namespace hip {

const gpu::KnownLibrary Api::kLibraries[2] = {
    {"rocblas", "rocblas_create_handle", "rocblas_set_stream", "rocblas_destroy_handle", "rocblas_status_to_string",
     {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "/opt/rocm/lib/librocblas.so", nullptr},
     "install rocBLAS (it comes with ROCm)",
     {{2, CONSORT_E_UNSUPPORTED}, {3, CONSORT_E_INVAL}, {4, CONSORT_E_INVAL}, {5, CONSORT_E_NOMEM}, {7, CONSORT_OK},
      {11, CONSORT_E_INVAL}}},
    {"hipblas", "hipblasCreate", "hipblasSetStream", "hipblasDestroy", "hipblasStatusToString",
     {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so.0", "libhipblas.so", "/opt/rocm/lib/libhipblas.so", nullptr},
     "install hipBLAS (it comes with ROCm)",
     {{2, CONSORT_E_NOMEM}, {3, CONSORT_E_INVAL}, {7, CONSORT_E_UNSUPPORTED}, {8, CONSORT_E_UNSUPPORTED}}},
};

void *Api::open_beside(const char *library, bool there) const noexcept { return hip::open_beside(library, apart_, there); }

}  // namespace hip
