// opencl_machine.hpp — shared by the tests of the OpenCL driver: PoCL's devices, skipped where they are absent, and the
// driver on one of them. Owned by one test.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "drivers/device_machine.hpp"

namespace consort_test {

struct OpenCl : testing::Test {
  static Params on_cpus(Params more = {}) {
    more.emplace("types", "cpu");
    more.emplace("platforms", "portable");
    more.emplace("cache", "off");
    return more;
  }
  static void SetUpTestSuite() {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    PluginHost probe("opencl", on_cpus());
    if (!probe.ready()) missing() = probe.failure();
  }
  void SetUp() override {
    if (!missing().empty()) GTEST_SKIP() << missing();
  }
  static std::string &missing() {
    static std::string text;
    return text;
  }
};

struct Machine : DeviceMachine {
  explicit Machine(Params more = {}) : DeviceMachine("opencl", OpenCl::on_cpus(std::move(more))) {}
  uint64_t load(const char *text, const char *entry, const char *format = "cl", consort_status want = CONSORT_OK) {
    return DeviceMachine::load(text, entry, format, want);
  }
};

}  // namespace consort_test
