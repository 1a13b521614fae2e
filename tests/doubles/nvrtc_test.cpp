// The double of NVRTC. Valid CUDA C runs on the host, with barriers and names as the real one has them. Errors are
// reported as g++ reports them.
#include "cuda_library.hpp"

namespace {

TEST(Nvrtc, ReportsErrorsWithTheirLine) {
  std::string log;
  EXPECT_EQ(compiled("\nextern \"C\" __global__ void f(float *x) {\n  x[0] = nonesuch;\n}\n", &log), "");
  EXPECT_NE(log.find("test.cu:3"), std::string::npos) << log;
  EXPECT_NE(log.find("nonesuch"), std::string::npos) << log;
  nvrtcProgram program;
  ASSERT_EQ(RTC(nvrtcCreateProgram)(&program, "", nullptr, 0, nullptr, nullptr), NVRTC_SUCCESS);
  size_t size;
  EXPECT_EQ(RTC(nvrtcGetPTXSize)(program, &size), NVRTC_ERROR_INVALID_PROGRAM);  // it was not compiled
  const char *wrong[] = {"what"};
  EXPECT_EQ(RTC(nvrtcCompileProgram)(program, 1, wrong), NVRTC_ERROR_INVALID_OPTION);
  EXPECT_EQ(RTC(nvrtcDestroyProgram)(&program), NVRTC_SUCCESS);
  EXPECT_EQ(RTC(nvrtcCompileProgram)(program, 0, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
  EXPECT_STREQ(RTC(nvrtcGetErrorString)(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
}

TEST_F(CudaTest, RunsBarriersSharedMemoryAndAtomics) {
  begin("");
  std::string image = compiled(R"(
      // __global__ void not_this() {}
      template <class T> __device__ T twice(T x) { return 2 * x; }
      extern "C" __global__ void __launch_bounds__(64) sum(const float *x, float *all, unsigned n) {
        __shared__ float part[64];
        extern __shared__ unsigned seen[];
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        part[threadIdx.x] = i < n ? twice(x[i]) : 0;
        __syncthreads();
        for (unsigned step = 32; step; step /= 2) {
          if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
          __syncthreads();
        }
        seen[threadIdx.x] = 1;
        if (threadIdx.x == 0) atomicAdd(all, part[0]);
      })");
  CUmodule code;
  OK(CU(cuModuleLoadData)(&code, image.data()));
  CUfunction sum = function(code, "sum");
  size_t offset = 0, size = 0;
  OK(CU(cuFuncGetParamInfo)(sum, 2, &offset, &size));
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(CU(cuFuncGetParamInfo)(sum, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  unsigned n = 1000;
  CUdeviceptr x = device_memory(n * 4), all = device_memory(4);
  std::vector<float> host(n, 0.5f);
  OK(CU(cuMemcpyHtoD)(x, host.data(), n * 4));
  OK(CU(cuMemsetD32)(all, 0, 1));
  void *list[] = {&x, &all, &n};
  OK(CU(cuLaunchKernel)(sum, 16, 1, 1, 64, 1, 1, 256, nullptr, list, nullptr));
  float result = 0;
  OK(CU(cuMemcpyDtoH)(&result, all, 4));
  EXPECT_EQ(result, 1000.0f);
  OK(CU(cuModuleUnload)(code));
  OK(CU(cuMemFree)(x));
  OK(CU(cuMemFree)(all));
}

TEST_F(CudaTest, LowersNamesAndFindsHeaders) {
  begin("");
  const char *header = "#define FACTOR 3\n", *name = "factor.h";
  nvrtcProgram program;
  const char *source = R"(#include "factor.h"
      template <class T> __global__ void put(T *x) { x[threadIdx.x] = T(FACTOR * threadIdx.x + EXTRA); }
      __global__ void plain(int *x) { *x = 1; })";
  ASSERT_EQ(RTC(nvrtcCreateProgram)(&program, source, "n.cu", 1, &header, &name), NVRTC_SUCCESS);
  ASSERT_EQ(RTC(nvrtcAddNameExpression)(program, "put<double>"), NVRTC_SUCCESS);
  const char *options[] = {"--gpu-architecture=sm_90", "-DEXTRA=5"};
  ASSERT_EQ(RTC(nvrtcCompileProgram)(program, 2, options), NVRTC_SUCCESS);
  const char *lowered = nullptr;
  ASSERT_EQ(RTC(nvrtcGetLoweredName)(program, "put<double>", &lowered), NVRTC_SUCCESS);
  EXPECT_EQ(std::string(lowered).substr(0, 2), "_Z");
  size_t size;
  ASSERT_EQ(RTC(nvrtcGetPTXSize)(program, &size), NVRTC_SUCCESS);
  std::string image(size, 0);
  ASSERT_EQ(RTC(nvrtcGetPTX)(program, image.data()), NVRTC_SUCCESS);
  CUmodule code;
  OK(CU(cuModuleLoadData)(&code, image.data()));
  unsigned count = 0;
  OK(CU(cuModuleGetFunctionCount)(&count, code));
  EXPECT_EQ(count, 2u);
  CUfunction none = nullptr;
  EXPECT_EQ(CU(cuModuleGetFunction)(&none, code, "nonesuch"), CUDA_ERROR_NOT_FOUND);
  EXPECT_NE(function(code, "_Z5plainPi"), nullptr);
  CUdeviceptr x = device_memory(4 * 8);
  OK(launch(function(code, lowered), 1, 4, nullptr, x));
  double host[4];
  OK(CU(cuMemcpyDtoH)(host, x, sizeof host));
  EXPECT_EQ(host[3], 14.0);
  EXPECT_EQ(RTC(nvrtcDestroyProgram)(&program), NVRTC_SUCCESS);
  OK(CU(cuMemFree)(x));
  OK(CU(cuModuleUnload)(code));
}

}  // namespace
