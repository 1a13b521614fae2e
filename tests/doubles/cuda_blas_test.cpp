// The double's cuBLAS and cuSOLVER: right results in the stream's order, and reports of wrong use.
#if __has_include(<cublas_v2.h>) && __has_include(<cusolverDn.h>)
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cmath>

#include "cuda_library.hpp"

namespace {

class CudaBlas : public CudaTest {
 protected:
  cublasHandle_t handle(CUstream stream) {
    cublasHandle_t made = nullptr;
    EXPECT_EQ(CU(cublasCreate_v2)(&made), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(CU(cublasSetStream_v2)(made, stream), CUBLAS_STATUS_SUCCESS);
    return made;
  }
  CUdeviceptr filled(const std::vector<double> &from) {
    CUdeviceptr at = device_memory(from.size() * sizeof(double));
    EXPECT_EQ(CU(cuMemcpyHtoD)(at, from.data(), from.size() * sizeof(double)), CUDA_SUCCESS);
    return at;
  }
  std::vector<double> read(CUdeviceptr at, size_t count) {
    std::vector<double> out(count);
    EXPECT_EQ(CU(cuMemcpyDtoH)(out.data(), at, count * sizeof(double)), CUDA_SUCCESS);
    return out;
  }
  static double *pointer(CUdeviceptr at) { return reinterpret_cast<double *>(at); }
};

const double one = 1, minus_one = -1, zero = 0;

// A = L Lt is factorised; with L, B = X Lt is solved; X Lt is B again.
TEST_F(CudaBlas, FactorisesSolvesAndMultiplies) {
  begin("latency_us=2000");
  CUstream in = stream();
  cublasHandle_t blas = handle(in);
  cusolverDnHandle_t solver = nullptr;
  ASSERT_EQ(CU(cusolverDnCreate)(&solver), CUSOLVER_STATUS_SUCCESS);
  ASSERT_EQ(CU(cusolverDnSetStream)(solver, in), CUSOLVER_STATUS_SUCCESS);
  constexpr int n = 5, m = 3;
  std::vector<double> a(n * n), b(m * n), nothing(m * n, std::nan(""));
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < n; ++r) a[static_cast<size_t>(c * n + r)] = r == c ? 2.0 * n : 1.0 / (1 + r + c);
    for (int r = 0; r < m; ++r) b[static_cast<size_t>(c * m + r)] = r - c;
  }
  int room = 0;
  CUdeviceptr at = filled(a), rest = filled(a), x = filled(b), back = filled(nothing), info = device_memory(sizeof(int));
  ASSERT_EQ(CU(cusolverDnDpotrf_bufferSize)(solver, CUBLAS_FILL_MODE_LOWER, n, pointer(at), n, &room), CUSOLVER_STATUS_SUCCESS);
  CUdeviceptr work = device_memory(static_cast<size_t>(room) * sizeof(double));
  ASSERT_EQ(CU(cusolverDnDpotrf)(solver, CUBLAS_FILL_MODE_LOWER, n, pointer(at), n, pointer(work), room, reinterpret_cast<int *>(info)),
            CUSOLVER_STATUS_SUCCESS);
  ASSERT_EQ(CU(cublasDtrsm_v2)(blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, m, n, &one, pointer(at),
                               n, pointer(x), m),
            CUBLAS_STATUS_SUCCESS);
  OK(CU(cuStreamSynchronize)(in));
  std::vector<double> l = read(at, n * n);
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < c; ++r) EXPECT_EQ(l[static_cast<size_t>(c * n + r)], a[static_cast<size_t>(c * n + r)]) << "the other half is left alone";
  // Without the other half: X Lt, and A - L Lt.
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < c; ++r) l[static_cast<size_t>(c * n + r)] = 0;
  OK(CU(cuMemcpyHtoD)(at, l.data(), l.size() * sizeof(double)));
  ASSERT_EQ(CU(cublasDgemm_v2)(blas, CUBLAS_OP_N, CUBLAS_OP_T, m, n, n, &one, pointer(x), m, pointer(at), n, &zero, pointer(back), m),
            CUBLAS_STATUS_SUCCESS)
      << "beta = 0: the old contents are not read";
  ASSERT_EQ(CU(cublasDsyrk_v2)(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, &minus_one, pointer(at), n, &one, pointer(rest), n),
            CUBLAS_STATUS_SUCCESS);
  OK(CU(cuStreamSynchronize)(in));
  const auto again = read(back, m * n), left = read(rest, n * n);
  for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(again[i], b[i], 1e-12);
  for (int c = 0; c < n; ++c)
    for (int r = c; r < n; ++r) EXPECT_NEAR(left[static_cast<size_t>(c * n + r)], 0, 1e-12);
  for (CUdeviceptr p : {at, rest, x, back, info, work}) OK(CU(cuMemFree)(p));
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(CU(cusolverDnDestroy)(solver), CUSOLVER_STATUS_SUCCESS);
  OK(CU(cuStreamDestroy)(in));
}

TEST_F(CudaBlas, RefusesWrongSizes) {
  begin("");
  CUstream in = stream();
  cublasHandle_t blas = handle(in);
  CUdeviceptr a = device_memory(64 * sizeof(double));
  EXPECT_EQ(CU(cublasDgemm_v2)(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, pointer(a), 3, pointer(a), 4, &zero, pointer(a), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(CU(cublasDgemm_v2)(blas, CUBLAS_OP_N, CUBLAS_OP_N, -1, 4, 4, &one, pointer(a), 4, pointer(a), 4, &zero, pointer(a), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  OK(CU(cuMemFree)(a));
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_SUCCESS);
  OK(CU(cuStreamDestroy)(in));
}

TEST_F(CudaBlas, HandlesBelongToTheirContext) {
  begin("devices=2,quiet=1");
  CUstream in = stream();
  cublasHandle_t blas = handle(in);
  CUcontext other = nullptr;
  OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  OK(CU(cuCtxPushCurrent)(other));
  EXPECT_EQ(CU(cublasSetStream_v2)(blas, in), CUBLAS_STATUS_NOT_INITIALIZED);
  expect_violation("made in another context");
  OK(CU(cuCtxPopCurrent)(&other));
  OK(CU(cuDevicePrimaryCtxRelease)(1));
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_SUCCESS);
  OK(CU(cuStreamDestroy)(in));
}

TEST_F(CudaBlas, HandlesAreDestroyedOnceBeforeTheirStream) {
  begin("quiet=1");
  CUstream in = stream();
  cublasHandle_t blas = handle(in);
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_NOT_INITIALIZED);
  expect_violation("was destroyed before");
  blas = handle(in);
  OK(CU(cuStreamDestroy)(in));
  EXPECT_EQ(CU(cublasDestroy_v2)(blas), CUBLAS_STATUS_SUCCESS);
  expect_violation("the stream that the library's handle is bound to went before it");
}

TEST_F(CudaBlas, ReportsLeakedHandles) {
  begin("quiet=1");
  CUstream in = stream();
  handle(in);
  EXPECT_GT(CONTROL(double_live)(), 2u);
  OK(CU(cuStreamDestroy)(in));
  end();
  expect_violation("handles of libraries");
}

TEST_F(CudaBlas, ReportsAccessPastTheEnd) {
  begin("quiet=1");
  CUstream in = stream();
  cublasHandle_t blas = handle(in);
  CUdeviceptr a = device_memory(16 * sizeof(double)), small = device_memory(8 * sizeof(double));
  OK(CU(cuMemsetD8)(a, 0, 16 * sizeof(double)));
  (void)CU(cublasDgemm_v2)(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, pointer(a), 4, pointer(a), 4, &zero, pointer(small), 1 << 20);
  expect_violation("cublasDgemm has the pointer");
  (void)CU(cuStreamSynchronize)(in);
  for (CUdeviceptr p : {a, small}) (void)CU(cuMemFree)(p);
  (void)CU(cublasDestroy_v2)(blas);
  (void)CU(cuStreamDestroy)(in);
}

}  // namespace
#endif
