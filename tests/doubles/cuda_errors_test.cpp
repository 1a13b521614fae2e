// Failures that the settings inject: memory that is full, calls and operations that fail, devices that are lost.
#include "cuda_library.hpp"

namespace {

TEST_F(CudaTest, MemoryIsLimited) {
  begin("memory=1M");
  size_t available = 0, total = 0;
  OK(CU(cuMemGetInfo)(&available, &total));
  EXPECT_EQ(total, size_t{1} << 20);
  EXPECT_EQ(available, total);
  CUdeviceptr half = device_memory(512 << 10), more = 0;
  EXPECT_EQ(CU(cuMemAlloc)(&more, (512 << 10) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  OK(CU(cuMemAlloc)(&more, 512 << 10));
  OK(CU(cuMemGetInfo)(&available, &total));
  EXPECT_EQ(available, 0u);
  OK(CU(cuMemFree)(half));
  OK(CU(cuMemAlloc)(&half, 512 << 10));
  OK(CU(cuMemFree)(half));
  OK(CU(cuMemFree)(more));
}

TEST_F(CudaTest, RefusesNumberedAllocations) {
  begin("oom=2,oom=3,pinned_oom=1");
  CUdeviceptr at = device_memory(64), other = 0;
  EXPECT_EQ(CU(cuMemAlloc)(&other, 64), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CU(cuMemAllocAsync)(&other, 64, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  OK(CU(cuMemAlloc)(&other, 64));
  void *host = nullptr;
  EXPECT_EQ(CU(cuMemHostAlloc)(&host, 64, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(CU(cuMemFree)(at));
  OK(CU(cuMemFree)(other));
}

TEST_F(CudaTest, PoolsHaveLimitsAndThresholds) {
  begin("memory=1M");
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  props.maxSize = 256 << 10;
  CUmemoryPool pool;
  OK(CU(cuMemPoolCreate)(&pool, &props));
  cuuint64_t keep = 128 << 10, value = 0;
  OK(CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  CUstream in = stream();
  CUdeviceptr a, b;
  OK(CU(cuMemAllocFromPoolAsync)(&a, 200 << 10, pool, in));
  EXPECT_EQ(CU(cuMemAllocFromPoolAsync)(&b, 100 << 10, pool, in), CUDA_ERROR_OUT_OF_MEMORY);
  OK(CU(cuMemFreeAsync)(a, in));
  OK(CU(cuMemAllocFromPoolAsync)(&b, 100 << 10, pool, in));  // in the stream's order there is room
  OK(CU(cuMemFreeAsync)(b, in));
  OK(CU(cuStreamSynchronize)(in));
  OK(CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
  EXPECT_EQ(value, keep);
  OK(CU(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_EQ(value, cuuint64_t{200} << 10);
  size_t available, total;
  OK(CU(cuMemGetInfo)(&available, &total));
  EXPECT_EQ(available, total - keep);
  CUdeviceptr all = device_memory(total);  // a pool's spare memory is released for others
  OK(CU(cuMemFree)(all));
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemPoolDestroy)(pool));
}

TEST_F(CudaTest, FailsNumberedCalls) {
  begin("fail=cuStreamCreateWithPriority:2:2,fail=cuMemsetD8Async:1+:1");
  CUstream a = stream(), b = nullptr;
  EXPECT_EQ(CU(cuStreamCreateWithPriority)(&b, CU_STREAM_NON_BLOCKING, 0), CUDA_ERROR_OUT_OF_MEMORY);
  b = stream();
  CUdeviceptr at = device_memory(64);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(CU(cuMemsetD8Async)(at, 1, 64, a), CUDA_ERROR_INVALID_VALUE);
  OK(CU(cuStreamDestroy)(a));
  OK(CU(cuStreamDestroy)(b));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaTest, FaultEndsOnlyItsContext) {
  begin("devices=2,fault=cuLaunchKernel:2:700");
  CUmodule code = module();
  CUstream in = stream();
  CUevent done = event();
  CUdeviceptr at = device_memory(64);
  Gate gate;
  OK(CU(cuLaunchHostFunc)(in, Gate::wait, &gate));
  OK(launch(function(code, "nothing"), 1, 1, in));
  OK(launch(function(code, "nothing"), 1, 1, in));
  OK(CU(cuEventRecord)(done, in));
  gate.open = true;
  EXPECT_EQ(CU(cuStreamSynchronize)(in), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuEventQuery)(done), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuMemsetD8Async)(at, 1, 64, in), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuEventDestroy)(done), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuStreamDestroy)(in), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuMemFree)(at), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(CU(cuModuleUnload)(code), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext other;
  OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  OK(CU(cuCtxSetCurrent)(other));
  OK(CU(cuMemAlloc)(&at, 64));
  OK(CU(cuMemFree)(at));
  OK(CU(cuDevicePrimaryCtxRelease)(1));
  OK(CU(cuDevicePrimaryCtxRelease)(0));
  OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));  // a new one is well
  OK(CU(cuCtxSetCurrent)(context));
  OK(CU(cuMemAlloc)(&at, 64));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaTest, DeviceIsLostAfterNumberedOperations) {
  begin("latency_us=100,lost=0:3:46");
  auto *host = pinned<unsigned>(16);
  std::fill(host, host + 16, 1u);
  CUdeviceptr at = device_memory(64);
  CUstream in = stream();
  bool called = false;
  for (unsigned i = 0; i < 3; ++i) OK(CU(cuMemsetD32Async)(at, i + 5, 16, in));
  CU(cuMemcpyDtoHAsync)(host, at, 64, in);
  CU(cuLaunchHostFunc)
  (
      in, [](void *flag) { *static_cast<bool *>(flag) = true; }, &called);
  EXPECT_EQ(CU(cuStreamSynchronize)(in), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(host[0], 1u);  // the fourth had no effect
  EXPECT_FALSE(called);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(CU(cuMemFreeAsync)(at, in), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(CU(cuStreamDestroy)(in), CUDA_ERROR_DEVICE_UNAVAILABLE);
  end();
  CUcontext again;
  EXPECT_EQ(CU(cuDevicePrimaryCtxRetain)(&again, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
}

TEST_F(CudaTest, DeviceIsLostDuringAWait) {
  begin("devices=2,latency_us=100000");
  CUdeviceptr at = device_memory(64);
  CUstream in = stream();
  for (int i = 0; i < 50; ++i) OK(CU(cuMemsetD8Async)(at, 1, 64, in));  // five seconds, were they all executed
  CONTROL(double_lose)(0);
  EXPECT_EQ(CU(cuStreamSynchronize)(in), CUDA_ERROR_UNKNOWN);
  EXPECT_LE(CONTROL(double_operations)(), 49u);
  CU(cuStreamDestroy)(in);
  CU(cuMemFree)(at);
}

TEST_F(CudaTest, RefusesBadSettings) {
  for (const char *words :
       {"devices=x", "memory=1", "colour=red", "fail=cuInit", "fail=cuInit:0:1", "lost=0", "devices"}) {
    EXPECT_EQ(CONTROL(double_set)(words), -1) << words;
  }
  ASSERT_EQ(CONTROL(double_set)("init=35"), 0);
  EXPECT_EQ(CU(cuInit)(0), static_cast<CUresult>(35));
  ASSERT_EQ(CONTROL(double_set)("devices=0"), 0);
  EXPECT_EQ(CU(cuInit)(0), CUDA_ERROR_NO_DEVICE);
  begin("");
  EXPECT_EQ(CONTROL(double_set)("devices=2"), -1);  // a context is alive
}

}  // namespace
