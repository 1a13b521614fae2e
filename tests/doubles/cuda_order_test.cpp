// Operations of two streams on the same bytes: the CUDA double reports unordered ones, and only those.
#include "cuda_library.hpp"

namespace {

// The thread sanitizer sees planted races by itself, for streams are threads.
#if defined(__SANITIZE_THREAD__)
#define PLANTED_RACE GTEST_SKIP()
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLANTED_RACE GTEST_SKIP()
#endif
#endif
#if !defined(PLANTED_RACE)
#define PLANTED_RACE static_cast<void>(0)
#endif

class CudaOrder : public CudaTest {
 protected:
  void SetUp() override {
    begin("latency_us=200,quiet=1");
    at = device_memory(4096);
    host = pinned<char>(4096);
    std::memset(host, 0, 4096);
    a = stream(), b = stream();
    done = event();
  }
  void TearDown() override {
    for (CUstream one : {a, b}) {
      OK(CU(cuStreamSynchronize)(one));
      OK(CU(cuStreamDestroy)(one));
    }
    OK(CU(cuEventDestroy)(done));
    OK(CU(cuMemFree)(at));
    OK(CU(cuMemFreeHost)(host));
    CudaTest::TearDown();
  }
  CUdeviceptr at = 0;
  char *host = nullptr;
  CUstream a = nullptr, b = nullptr;
  CUevent done = nullptr;
};

TEST_F(CudaOrder, ReportsAReadBesideAWrite) {
  PLANTED_RACE;
  OK(CU(cuMemsetD8Async)(at, 1, 4096, a));
  OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
  expect_violation("beside cuMemsetD8Async in another stream");
}

TEST_F(CudaOrder, ReportsRacesOnPinnedMemory) {
  PLANTED_RACE;
  OK(CU(cuMemcpyHtoDAsync)(at, host, 64, a));
  OK(CU(cuMemcpyDtoHAsync)(host + 32, at + 1024, 64, b));
  expect_violation("writes a pinned block");
}

TEST_F(CudaOrder, ReportsAKernelBesideACopy) {
  PLANTED_RACE;
  CUmodule code = module();
  OK(CU(cuMemcpyHtoDAsync)(at, host, 4096, a));
  OK(launch(function(code, "scale"), 1, 1, b, at, 1.0f, 1u));
  expect_violation("cuLaunchKernel: writes a device block");
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuModuleUnload)(code));
}

TEST_F(CudaOrder, AcceptsConcurrentReads) {
  CUmodule code = module();
  CUfunction axpy = function(code, "axpy");
  OK(CU(cuMemsetD8)(at, 0, 4096));
  OK(launch(axpy, 1, 4, a, 1.0f, at, at + 1024, 4u));
  OK(launch(axpy, 1, 4, b, 1.0f, at, at + 2048, 4u));
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuModuleUnload)(code));
}

TEST_F(CudaOrder, EventsOrder) {
  for (unsigned char round = 0; round < 10; ++round) {
    OK(CU(cuMemsetD8Async)(at, round, 4096, a));
    OK(CU(cuEventRecord)(done, a));
    OK(CU(cuStreamWaitEvent)(b, done, 0));
    OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
    OK(CU(cuEventRecord)(done, b));
    OK(CU(cuStreamWaitEvent)(a, done, 0));
  }
}

TEST_F(CudaOrder, EarlierEventsDoNotOrder) {
  PLANTED_RACE;
  OK(CU(cuEventRecord)(done, a));
  OK(CU(cuMemsetD8Async)(at, 1, 4096, a));
  OK(CU(cuStreamWaitEvent)(b, done, 0));
  OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
  expect_violation("not ordered");
}

TEST_F(CudaOrder, OrderIsTransitive) {
  CUstream c = stream();
  CUevent second = event();
  OK(CU(cuMemsetD8Async)(at, 1, 4096, a));
  OK(CU(cuEventRecord)(done, a));
  OK(CU(cuStreamWaitEvent)(c, done, 0));
  OK(CU(cuEventRecord)(second, c));
  OK(CU(cuStreamWaitEvent)(b, second, 0));
  OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
  OK(CU(cuStreamSynchronize)(b));
  OK(CU(cuEventDestroy)(second));
  OK(CU(cuStreamDestroy)(c));
}

TEST_F(CudaOrder, HostQueriesOrder) {
  OK(CU(cuMemsetD8Async)(at, 1, 4096, a));
  OK(CU(cuEventRecord)(done, a));
  while (CU(cuEventQuery)(done) == CUDA_ERROR_NOT_READY) {
  }
  OK(CU(cuMemcpyDtoHAsync)(host, at, 4096, b));
  OK(CU(cuStreamSynchronize)(b));
  OK(CU(cuMemsetD8Async)(at, 2, 4096, a));
}

TEST_F(CudaOrder, AcceptsDisjointBytes) {
  PLANTED_RACE;
  OK(CU(cuMemsetD8Async)(at, 1, 2048, a));
  OK(CU(cuMemsetD8Async)(at + 2048, 1, 2048, b));
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuMemsetD2D8Async)(at, 64, 1, 32, 64, a));
  OK(CU(cuMemsetD2D8Async)(at + 32, 64, 2, 32, 64, b));  // the other half of each row
  OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(double_words(), "");
  OK(CU(cuMemsetD2D8Async)(at, 64, 1, 33, 64, a));
  OK(CU(cuMemsetD2D8Async)(at + 32, 64, 2, 32, 64, b));
  expect_violation("cuMemsetD2D8Async");
}

TEST_F(CudaOrder, ReportsFreeInAnotherStream) {
  PLANTED_RACE;
  CUdeviceptr own;
  OK(CU(cuMemAllocAsync)(&own, 64, a));
  OK(CU(cuMemsetD8Async)(own, 1, 64, a));
  OK(CU(cuMemFreeAsync)(own, b));
  expect_violation("cuMemFreeAsync: writes a device block");
}

TEST_F(CudaOrder, ReportsUseBeforeAllocationInAnotherStream) {
  PLANTED_RACE;
  CUdeviceptr own;
  OK(CU(cuMemAllocAsync)(&own, 64, a));
  OK(CU(cuMemsetD8Async)(own, 1, 64, b));
  expect_violation("beside cuMemAllocAsync");
  OK(CU(cuCtxSynchronize)());
  OK(CU(cuMemFreeAsync)(own, a));
}

}  // namespace
