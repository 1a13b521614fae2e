// Each rule that the CUDA double watches: one misuse, planted, is seen; a program that is right is not accused.
#include "cuda_library.hpp"

namespace {

class CudaChecks : public CudaTest {
 protected:
  void SetUp() override { begin("devices=2,latency_us=300,quiet=1"); }
};

TEST_F(CudaChecks, ReportsUseAfterFree) {
  CUdeviceptr at = device_memory(64);
  OK(CU(cuMemFree)(at));
  EXPECT_EQ(CU(cuMemsetD8)(at, 0, 64), CUDA_ERROR_INVALID_VALUE);
  expect_violation("use after free");
}

TEST_F(CudaChecks, ReportsDoubleFree) {
  CUdeviceptr at = device_memory(64);
  OK(CU(cuMemFree)(at));
  EXPECT_EQ(CU(cuMemFree)(at), CUDA_ERROR_INVALID_VALUE);
  expect_violation("cuMemFree: device memory is freed: it was freed before");
}

TEST_F(CudaChecks, ReportsDoubleFreeInAStream) {
  CUstream in = stream();
  CUdeviceptr at;
  OK(CU(cuMemAllocAsync)(&at, 64, in));
  OK(CU(cuMemFreeAsync)(at, in));
  EXPECT_EQ(CU(cuMemFreeAsync)(at, in), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemsetD8Async)(at, 0, 64, in), CUDA_ERROR_INVALID_VALUE);
  expect_violation("it was freed before");
  expect_violation("cuMemsetD8Async: the target of a fill");
  OK(CU(cuStreamDestroy)(in));
}

TEST_F(CudaChecks, ReportsDestroyedHandles) {
  CUstream in = stream();
  CUevent done = event();
  CUmodule code = module();
  CUfunction nothing = function(code, "nothing");
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuEventDestroy)(done));
  OK(CU(cuModuleUnload)(code));
  EXPECT_EQ(CU(cuStreamQuery)(in), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuStreamDestroy)(in), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuEventQuery)(done), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuModuleUnload)(code), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(nothing, 1, 1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuStreamQuery)(reinterpret_cast<CUstream>(done)), CUDA_ERROR_INVALID_HANDLE);
  for (const char *what : {"the stream was destroyed", "the event was destroyed", "the module was destroyed",
                           "the function was destroyed", "the stream is no handle of one"}) {
    expect_violation(what);
  }
}

TEST_F(CudaChecks, ReportsAddressesOutsideAllocations) {
  CUdeviceptr at = device_memory(64);
  EXPECT_EQ(CU(cuMemsetD8)(at + 60, 0, 8), CUDA_ERROR_INVALID_VALUE);
  expect_violation("reaches 4 bytes past the end");
  EXPECT_EQ(CU(cuMemsetD8)(at + 100000, 0, 8), CUDA_ERROR_INVALID_VALUE);
  expect_violation("outside each allocation");
  EXPECT_EQ(CU(cuMemsetD8)(0x1000, 0, 8), CUDA_ERROR_INVALID_VALUE);
  expect_violation("no address of device");
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaChecks, ReportsKernelWritesPastABlock) {
  CUmodule code = module();
  CUdeviceptr at = device_memory(64);
  OK(launch(function(code, "scale"), 1, 1, nullptr, at, 2.0f, 17u));
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuMemFree)(at));
  expect_violation("bytes behind the end of a device block of 64 bytes were written");
  OK(CU(cuModuleUnload)(code));
}

TEST_F(CudaChecks, ReportsBadKernelPointers) {
  CUmodule code = module();
  CUfunction scale = function(code, "scale");
  CUdeviceptr at = device_memory(64);
  OK(CU(cuMemFree)(at));
  OK(launch(scale, 1, 1, nullptr, at, 2.0f, 16u));
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_violation("kernel scale has the pointer");
  CU(cuModuleUnload)(code);
}

TEST_F(CudaChecks, ReportsPeerAccessWithoutPermission) {
  CUmodule code = module();
  CUfunction scale = function(code, "scale");
  CUcontext other;
  OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  OK(CU(cuCtxPushCurrent)(other));
  CUdeviceptr at = device_memory(64);
  OK(CU(cuMemsetD8)(at, 0, 64));
  OK(CU(cuCtxPopCurrent)(nullptr));
  OK(CU(cuCtxEnablePeerAccess)(other, 0));
  OK(launch(scale, 1, 1, nullptr, at, 2.0f, 16u));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(double_words(), "");
  OK(CU(cuCtxDisablePeerAccess)(other));
  OK(launch(scale, 1, 1, nullptr, at, 2.0f, 16u));
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_violation("to which device 0 was given no access");
  CU(cuModuleUnload)(code);
  OK(CU(cuCtxPushCurrent)(other));
  OK(CU(cuMemFree)(at));
  OK(CU(cuCtxPopCurrent)(nullptr));
  OK(CU(cuDevicePrimaryCtxRelease)(1));
}

TEST_F(CudaChecks, ReportsWrongContext) {
  CUstream in = stream();
  CUdeviceptr at = device_memory(64);
  OK(CU(cuCtxSetCurrent)(nullptr));
  EXPECT_EQ(CU(cuStreamSynchronize)(in), CUDA_ERROR_INVALID_CONTEXT);
  expect_violation("no context is current in this thread");
  CUcontext other;
  OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  OK(CU(cuCtxSetCurrent)(other));
  OK(CU(cuMemsetD8Async)(at, 0, 64, in));
  expect_violation("of another context than the one that is current");
  CUevent done = event();
  EXPECT_EQ(CU(cuEventRecord)(done, in), CUDA_ERROR_INVALID_HANDLE);
  OK(CU(cuEventDestroy)(done));
  OK(CU(cuCtxSetCurrent)(context));
  OK(CU(cuDevicePrimaryCtxRelease)(1));
  EXPECT_EQ(CU(cuCtxSetCurrent)(other), CUDA_ERROR_INVALID_CONTEXT);
  OK(CU(cuStreamSynchronize)(in));
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaChecks, ReportsLaunchesBeyondLimits) {
  CUmodule code = module();
  CUfunction nothing = function(code, "nothing");
  EXPECT_EQ(launch(nothing, 1, 1025, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nothing, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuLaunchKernel)(nothing, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuLaunchKernel)(nothing, 1, 1, 1, 1, 1, 1, 64 << 10, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  OK(CU(cuFuncSetAttribute)(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
  OK(CU(cuLaunchKernel)(nothing, 1, 1, 1, 1, 1, 1, 64 << 10, nullptr, nullptr, nullptr));
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuModuleUnload)(code));
  expect_violation("1025x1x1 threads, over the limits");
}

TEST_F(CudaChecks, ReportsLibraryCallsInHostFunctions) {
  CUresult result = CUDA_SUCCESS;
  OK(CU(cuLaunchHostFunc)(
      nullptr, [](void *answer) { *static_cast<CUresult *>(answer) = CU(cuCtxSynchronize)(); }, &result));
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  expect_violation("called out of a host function");
}

TEST_F(CudaChecks, ReportsMemoryFreedInUse) {
  CUstream in = stream();
  CUdeviceptr at = device_memory(64);
  auto *host = pinned<char>(64);
  std::vector<char> own(64);
  OK(CU(cuMemHostRegister)(own.data(), 64, 0));
  OK(CU(cuMemcpyDtoHAsync)(host, at, 64, in));
  OK(CU(cuMemFreeHost)(host));
  expect_violation("pinned block");
  OK(CU(cuMemcpyDtoHAsync)(own.data(), at, 64, in));
  OK(CU(cuMemHostUnregister)(own.data()));
  expect_violation("is unregistered while cuMemcpyDtoHAsync, whose end");
  OK(CU(cuMemsetD8Async)(at, 0, 64, in));
  OK(CU(cuMemFree)(at));
  expect_violation("is freed while cuMemsetD8Async, whose end the host has not seen, uses it");
  OK(CU(cuStreamDestroy)(in));
}

TEST_F(CudaChecks, ReportsLeakedObjects) {
  stream();
  event();
  module();
  device_memory(64);
  pinned<char>(64);
  end();
  for (const char *what : {"1 streams", "1 events", "1 modules", "1 blocks of device memory", "1 blocks of pinned"}) {
    expect_violation(what);
  }
}

TEST_F(CudaChecks, ReportsTimesOfUnrecordedEvents) {
  CUevent a = event(0), b = event(0);
  float ms;
  OK(CU(cuEventQuery)(a));  // which is no error
  EXPECT_EQ(CU(cuEventElapsedTime)(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
  expect_violation("the event was never recorded");
  OK(CU(cuEventDestroy)(a));
  OK(CU(cuEventDestroy)(b));
}

}  // namespace
