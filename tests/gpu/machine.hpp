// machine.hpp — a driver of GPUs on one device, as a test drives it. Owned by one test.
#pragma once
#include "drivers/device_machine.hpp"
#include "gpu/gpu.hpp"

namespace consort_test {

inline Params gpu_params(const Vendor &v, Params more = {}) {
  more.emplace("cache", "off");
  if (on_real_gpu()) return more;
  more.emplace("library", v.library);
  more.emplace("compiler", v.compiler);
  return more;
}

// "scale" and "axpy".
inline constexpr char kScale[] =
    "extern \"C\" __global__ void scale(float *x, unsigned long long n, float a) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= a;\n"
    "}\n"
    "extern \"C\" __global__ void axpy(float *y, unsigned long long n, const float *x, float a) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n";

struct Gpu : DeviceMachine {
  explicit Gpu(Params more = {}) : DeviceMachine(GpuTest::GetParam().driver, gpu_params(GpuTest::GetParam(), std::move(more))) {}
  uint64_t load(const char *text, const char *entry, const char *format = nullptr, consort_status want = CONSORT_OK) {
    return DeviceMachine::load(text, entry, format ? format : GpuTest::GetParam().format, want);
  }
};

}  // namespace consort_test
