// The doubles of CUDA, opened as a plugin opens the vendor's: functions by their names. A test's machine is set with
// words (README.md); when the test ends, nothing may be alive and no violation left, unless the test expects it.
#pragma once
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "control.h"

inline void *double_symbol(const char *library, const char *name) {
  std::string path = std::string(CONSORT_DOUBLE_DIR "/") + library;
  void *opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *found = opened ? dlsym(opened, name) : nullptr;
  if (!found) {
    throw std::runtime_error(dlerror());
  }
  return found;
}

#define CONSORT_TEXT(x) #x
#define CONSORT_NAME(x) CONSORT_TEXT(x)
// Also where the header makes another name of it, as it does of cuMemAlloc.
#define CU(function)                                                                                       \
  ([]() -> decltype(&function) {                                                                           \
    static auto *found =                                                                                   \
        reinterpret_cast<decltype(&function)>(double_symbol("libcuda_double.so", CONSORT_NAME(function))); \
    return found;                                                                                          \
  }())
#define RTC(function)                                                                                           \
  ([]() -> decltype(&function) {                                                                                \
    static auto *found = reinterpret_cast<decltype(&function)>(double_symbol("libnvrtc_double.so", #function)); \
    return found;                                                                                               \
  }())
#define CONTROL(function)                                                                                      \
  ([]() -> decltype(&function) {                                                                               \
    static auto *found = reinterpret_cast<decltype(&function)>(double_symbol("libcuda_double.so", #function)); \
    return found;                                                                                              \
  }())
#define OK(...) ASSERT_EQ((__VA_ARGS__), CUDA_SUCCESS)

inline std::string double_words() {
  std::string text(CONTROL(double_report)(nullptr, 0), 0);
  CONTROL(double_report)(text.data(), text.size() + 1);
  return text;
}

// The image of a program in CUDA C, or the compiler's messages.
inline std::string compiled(const std::string &source, std::string *log = nullptr,
                            std::vector<const char *> options = {}) {
  nvrtcProgram program;
  std::string image;
  size_t size = 0;
  EXPECT_EQ(RTC(nvrtcCreateProgram)(&program, source.c_str(), "test.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  nvrtcResult result = RTC(nvrtcCompileProgram)(program, static_cast<int>(options.size()), options.data());
  EXPECT_EQ(RTC(nvrtcGetProgramLogSize)(program, &size), NVRTC_SUCCESS);
  std::string said(size, 0);
  EXPECT_EQ(RTC(nvrtcGetProgramLog)(program, said.data()), NVRTC_SUCCESS);
  said.resize(size - 1);
  if (log) {
    *log = said;
  } else {
    EXPECT_EQ(result, NVRTC_SUCCESS) << said;
  }
  if (result == NVRTC_SUCCESS) {
    EXPECT_EQ(RTC(nvrtcGetCUBINSize)(program, &size), NVRTC_SUCCESS);
    image.resize(size);
    EXPECT_EQ(RTC(nvrtcGetCUBIN)(program, image.data()), NVRTC_SUCCESS);
  }
  EXPECT_EQ(RTC(nvrtcDestroyProgram)(&program), NVRTC_SUCCESS);
  return image;
}

// The image of these kernels, compiled once.
inline const std::string &kernels() {
  static const std::string image = compiled(R"(
        extern "C" __global__ void axpy(float a, const float *x, float *y, unsigned n) {
            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] += a * x[i];
        }
        extern "C" __global__ void scale(float *x, float a, unsigned n) {
            for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= a;
        }
        extern "C" __global__ void nothing() {})");
  return image;
}

// A host function behind which a stream waits until the test opens it.
struct Gate {
  std::atomic<bool> open{false};
  static void wait(void *gate) {
    while (!static_cast<Gate *>(gate)->open.load()) {
      std::this_thread::yield();
    }
  }
};

class CudaTest : public ::testing::Test {
 protected:
  void begin(const char *words, int device = 0) {
    ASSERT_EQ(CONTROL(double_set)(words), 0);
    OK(CU(cuInit)(0));
    OK(CU(cuDevicePrimaryCtxRetain)(&context, device));
    OK(CU(cuCtxSetCurrent)(context));
    held = device;
  }
  void end() {
    if (held >= 0) {
      CU(cuCtxSetCurrent)(nullptr);
      CU(cuDevicePrimaryCtxRelease)(held);
      held = -1;
    }
  }
  // The test's misuse was seen, in these words, and nothing else.
  void expect_violation(const std::string &words) {
    EXPECT_GT(CONTROL(double_violations)(), 0);
    EXPECT_NE(double_words().find(words), std::string::npos) << "\"" << words << "\" is not in:\n" << double_words();
    planted = true;
  }
  void TearDown() override {
    end();
    EXPECT_EQ(CONTROL(double_live)(), 0u);
    if (!planted) {
      EXPECT_EQ(double_words(), "");
    }
    CU(cuCtxSetCurrent)(nullptr);
  }

  CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr at = 0;
    EXPECT_EQ(CU(cuMemAlloc)(&at, bytes), CUDA_SUCCESS);
    return at;
  }
  template <class T>
  T *pinned(size_t count) {
    void *at = nullptr;
    EXPECT_EQ(CU(cuMemHostAlloc)(&at, count * sizeof(T), 0), CUDA_SUCCESS);
    return static_cast<T *>(at);
  }
  CUstream stream() {
    CUstream made = nullptr;
    EXPECT_EQ(CU(cuStreamCreateWithPriority)(&made, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return made;
  }
  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent made = nullptr;
    EXPECT_EQ(CU(cuEventCreate)(&made, flags), CUDA_SUCCESS);
    return made;
  }
  CUmodule module() {
    CUmodule made = nullptr;
    EXPECT_EQ(CU(cuModuleLoadData)(&made, kernels().data()), CUDA_SUCCESS);
    return made;
  }
  CUfunction function(CUmodule from, const char *name) {
    CUfunction found = nullptr;
    EXPECT_EQ(CU(cuModuleGetFunction)(&found, from, name), CUDA_SUCCESS) << name;
    return found;
  }
  template <class... A>
  CUresult launch(CUfunction kernel, unsigned grid, unsigned block, CUstream in, A... params) {
    void *list[] = {&params..., nullptr};
    return CU(cuLaunchKernel)(kernel, grid, 1, 1, block, 1, 1, 0, in, list, nullptr);
  }

  CUcontext context = nullptr;
  int held = -1;
  bool planted = false;
};
