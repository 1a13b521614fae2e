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

struct Gpu : DeviceMachine {
  explicit Gpu(Params more = {}) : DeviceMachine(GpuTest::GetParam().driver, gpu_params(GpuTest::GetParam(), std::move(more))) {}
  uint64_t load(const char *text, const char *entry, const char *format = nullptr, consort_status want = CONSORT_OK) {
    return DeviceMachine::load(text, entry, format ? format : GpuTest::GetParam().format, want);
  }
};

}  // namespace consort_test
