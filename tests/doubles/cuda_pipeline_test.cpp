// Real results of the CUDA double: copies, kernels and events in streams, and objects that come and go.
#include <numeric>
#include <thread>

#include "cuda_library.hpp"

TEST_F(CudaTest, TwoStreamsComputeTheResult) {
  begin("devices=1,latency_us=20,jitter=50");
  constexpr unsigned n = 10000, parts = 8, part = n / parts;
  auto *x = pinned<float>(n), *y = pinned<float>(n);
  std::iota(x, x + n, 0.0f);
  std::fill(y, y + n, 1.0f);
  CUdeviceptr dx = device_memory(n * 4), dy = device_memory(n * 4);
  CUstream streams[] = {stream(), stream()};
  CUmodule code = module();
  CUfunction axpy = function(code, "axpy"), scale = function(code, "scale");
  for (unsigned p = 0; p < parts; ++p) {
    CUstream in = streams[p % 2];
    CUdeviceptr px = dx + p * part * 4, py = dy + p * part * 4;
    OK(CU(cuMemcpyHtoDAsync)(px, x + p * part, part * 4, in));
    OK(CU(cuMemcpyHtoDAsync)(py, y + p * part, part * 4, in));
    OK(launch(axpy, (part + 63) / 64, 64, in, 2.0f, px, py, part));
    OK(launch(scale, 4, 64, in, py, 0.5f, part));
    OK(CU(cuMemcpyDtoHAsync)(y + p * part, py, part * 4, in));
  }
  for (CUstream one : streams) {
    OK(CU(cuStreamSynchronize)(one));
  }
  for (unsigned i = 0; i < n; ++i) {
    ASSERT_EQ(y[i], (1.0f + 2.0f * static_cast<float>(i)) * 0.5f) << i;
  }
  EXPECT_EQ(CONTROL(double_operations)(), parts * 5u);
  for (CUstream one : streams) {
    OK(CU(cuStreamDestroy)(one));
  }
  OK(CU(cuModuleUnload)(code));
  OK(CU(cuMemFree)(dx));
  OK(CU(cuMemFree)(dy));
  OK(CU(cuMemFreeHost)(x));
  OK(CU(cuMemFreeHost)(y));
}

TEST_F(CudaTest, StreamsWaitForEvents) {
  begin("latency_us=3000");
  CUdeviceptr at = device_memory(4096);
  auto *host = pinned<unsigned>(1024);
  CUstream a = stream(), b = stream();
  CUevent done = event(), timed = event(0), later = event(0);
  OK(CU(cuEventRecord)(timed, a));
  Gate gate;
  OK(CU(cuLaunchHostFunc)(a, Gate::wait, &gate));
  OK(CU(cuMemsetD32Async)(at, 7, 1024, a));
  OK(CU(cuEventRecord)(done, a));
  EXPECT_EQ(CU(cuEventQuery)(done), CUDA_ERROR_NOT_READY);
  OK(CU(cuStreamWaitEvent)(b, done, 0));
  OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
  OK(CU(cuEventRecord)(later, b));
  EXPECT_EQ(CU(cuStreamQuery)(b), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(CU(cuEventSynchronize)(later));
  OK(CU(cuEventQuery)(done));
  EXPECT_EQ(host[0], 7u);
  EXPECT_EQ(host[1023], 7u);
  float ms = 0;
  OK(CU(cuEventElapsedTime)(&ms, timed, later));
  EXPECT_GE(ms, 6.0f);
  for (CUevent one : {done, timed, later}) {
    OK(CU(cuEventDestroy)(one));
  }
  OK(CU(cuStreamDestroy)(a));
  OK(CU(cuStreamDestroy)(b));
  OK(CU(cuMemFree)(at));
  OK(CU(cuMemFreeHost)(host));
}

TEST_F(CudaTest, DefaultStreamOrdersBlockingStreamsOnly) {
  begin("latency_us=500");
  CUdeviceptr at = device_memory(64);
  CUstream blocking;
  OK(CU(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
  unsigned host[16] = {};
  for (unsigned round = 1; round < 5; ++round) {
    OK(CU(cuMemsetD32Async)(at, round, 16, blocking));
    OK(CU(cuMemcpyDtoH)(host, at, 64));
    EXPECT_EQ(host[15], round);
    OK(CU(cuMemsetD32)(at, 9, 16));
  }
  OK(CU(cuStreamDestroy)(blocking));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaTest, PageableCopiesReturnWhenDone) {
  begin("latency_us=1000");
  CUdeviceptr at = device_memory(4096);
  CUstream in = stream();
  std::vector<unsigned char> source(4096, 3), target(4096, 0);
  OK(CU(cuMemcpyHtoDAsync)(at, source.data(), 4096, in));
  std::fill(source.begin(), source.end(), 4);
  OK(CU(cuMemcpyDtoHAsync)(target.data(), at, 4096, in));
  EXPECT_EQ(target, std::vector<unsigned char>(4096, 3));
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFree)(at));
}

TEST_F(CudaTest, HostFunctionsRunInStreamOrder) {
  begin("latency_us=200");
  auto *at = pinned<int>(1);
  *at = 0;
  CUstream in = stream();
  OK(CU(cuMemsetD32Async)(reinterpret_cast<CUdeviceptr>(at), 5, 1, in));
  OK(CU(cuLaunchHostFunc)(
      in, [](void *value) { *static_cast<int *>(value) *= 2; }, at));
  OK(CU(cuStreamAddCallback)(
      in, [](CUstream, CUresult status, void *value) { *static_cast<int *>(value) += status == CUDA_SUCCESS; }, at, 0));
  OK(CU(cuStreamSynchronize)(in));
  EXPECT_EQ(*at, 11);
  OK(CU(cuStreamDestroy)(in));
  OK(CU(cuMemFreeHost)(at));
}

TEST_F(CudaTest, ThreadsShareTheLibrary) {
  begin("memory=64M,jitter=20");
  CUmodule code = module();
  CUfunction scale = function(code, "scale");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(CU(cuCtxPushCurrent)(context), CUDA_SUCCESS);
      CUstream in = stream();
      auto *host = pinned<float>(256);
      std::fill(host, host + 256, static_cast<float>(t + 1));
      for (int round = 0; round < 20; ++round) {
        CUdeviceptr at;
        EXPECT_EQ(CU(cuMemAllocAsync)(&at, 1024, in), CUDA_SUCCESS);
        EXPECT_EQ(CU(cuMemcpyHtoDAsync)(at, host, 1024, in), CUDA_SUCCESS);
        EXPECT_EQ(launch(scale, 2, 32, in, at, 2.0f, 256u), CUDA_SUCCESS);
        EXPECT_EQ(CU(cuMemcpyDtoHAsync)(host, at, 1024, in), CUDA_SUCCESS);
        EXPECT_EQ(CU(cuMemFreeAsync)(at, in), CUDA_SUCCESS);
      }
      EXPECT_EQ(CU(cuStreamSynchronize)(in), CUDA_SUCCESS);
      EXPECT_EQ(host[255], static_cast<float>(t + 1) * 1048576.0f);
      EXPECT_EQ(CU(cuStreamDestroy)(in), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_SUCCESS);
      EXPECT_EQ(CU(cuCtxPopCurrent)(nullptr), CUDA_SUCCESS);
    });
  }
  for (auto &thread : threads) {
    thread.join();
  }
  OK(CU(cuModuleUnload)(code));
}

TEST_F(CudaTest, GetProcAddressFindsEveryName) {
  begin("devices=2");
  void *function = nullptr;
  CUdriverProcAddressQueryResult status;
  OK(CU(cuGetProcAddress)("cuMemAlloc", &function, 13000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void *>(CU(cuMemAlloc)));
  OK(CU(cuGetProcAddress)("cuGraphInstantiate", &function, 13000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void *>(CU(cuGraphInstantiate)));
  EXPECT_EQ(CU(cuGetProcAddress)("cuNoSuchThing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  const char *name = nullptr;
  OK(CU(cuGetErrorName)(CUDA_ERROR_LAUNCH_FAILED, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_EQ(CU(cuGetErrorName)(static_cast<CUresult>(998), &name), CUDA_ERROR_INVALID_VALUE);
}
