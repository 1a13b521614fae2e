// level_zero_machine.hpp — shared by the tests of the Level Zero driver: the double of its library, and the driver on
// one of its devices. Owned by one test.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "doubles/level_zero/control.h"
#include "drivers/device_machine.hpp"
#include "drivers/level_zero_kernels.hpp"

namespace consort_test {

// The library of the double, as this process has it open. After each test nothing may be alive, and nothing done wrong.
struct Double {
  Double() {
    void *library = dlopen(CONSORT_ZE_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    if (!library) ADD_FAILURE() << dlerror();
    const auto find = [&](const char *name) { return library ? dlsym(library, name) : nullptr; };
    configure_ = reinterpret_cast<decltype(&ze_double_configure)>(find("ze_double_configure"));
    violations_ = reinterpret_cast<decltype(&ze_double_violations)>(find("ze_double_violations"));
    live_ = reinterpret_cast<decltype(&ze_double_live)>(find("ze_double_live"));
    commands_ = reinterpret_cast<decltype(&ze_double_commands)>(find("ze_double_commands"));
  }
  static Double &get() {
    static Double d;
    return d;
  }
  void configure(const std::string &settings) {
    if (const char *why = configure_(settings.c_str())) ADD_FAILURE() << settings << ": " << why;
  }
  std::string violations() {
    char words[2000] = "";
    violations_(words, sizeof words);
    return words;
  }
  uint64_t live() { return live_(); }
  uint64_t commands() { return commands_(); }

 private:
  decltype(&ze_double_configure) configure_;
  decltype(&ze_double_violations) violations_;
  decltype(&ze_double_live) live_;
  decltype(&ze_double_commands) commands_;
};

struct LevelZero : testing::Test {
  static Params on_double(Params more = {}) {
    more.emplace("library", CONSORT_ZE_DOUBLE);
    more.emplace("cache", "off");
    return more;
  }
  void SetUp() override { Double::get().configure(""); }
  void TearDown() override {
    EXPECT_EQ(Double::get().violations(), expected) << "violations by the driver";
    EXPECT_EQ(Double::get().live(), 0u) << "leaked objects";
    Double::get().configure("");
  }
  std::string expected;  // violations that the test itself brings about
};

struct Machine : DeviceMachine {
  explicit Machine(Params more = {}) : DeviceMachine("level_zero", LevelZero::on_double(std::move(more))) {}
  uint64_t load(const char *entry, consort_status want = CONSORT_OK) { return load(kKernels, sizeof kKernels, entry, "spirv", want); }
  uint64_t load(const void *text, uint64_t n, const char *entry, const char *format, consort_status want = CONSORT_OK) {
    uint64_t code = 0;
    EXPECT_EQ(ops->load_impl(dev, format, text, n, entry, &code), want) << plugin.failure();
    return code;
  }
  consort_op fill(consort_addr dst, uint64_t n, uint32_t pattern) const {
    consort_op o = op_of(CONSORT_OP_FILL, 0);
    o.u.fill = {dst, n, own(), pattern};
    return o;
  }
};

}  // namespace consort_test
