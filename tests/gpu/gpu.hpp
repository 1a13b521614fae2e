// gpu.hpp — tests of GPUs over the double of a vendor's library, or over the real one. With CONSORT_REAL_GPU set, tests
// that need no double run on the machine's device. Without a device they are skipped with the driver's message.
//
// A GpuTest sets the words of the double before, and queries it afterwards: no rule was broken, nothing is left alive.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "doubles/control.h"
#include "support/plugin_host.hpp"

namespace consort_test {

struct Vendor {
  const char *driver, *library, *compiler;  // the doubles' files
  const char *format;                       // of kernels as source; the language is the same
};
inline void PrintTo(const Vendor &v, std::ostream *out) { *out << v.driver; }

inline bool on_real_gpu() { return std::getenv("CONSORT_REAL_GPU") != nullptr; }
// A driver that does not start says why: no library of the vendor's, no device. Empty: there is one.
inline std::string why_no_gpu(const char *driver) {
  const PluginHost host(driver, {{"cache", "off"}});
  return host.ready() ? "" : host.failure();
}

class Double {
 public:
  explicit Double(const Vendor &v) : handle_(dlopen(v.library, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) ADD_FAILURE() << dlerror();
  }
  void set(const std::string &words) const { EXPECT_EQ(of<int (*)(const char *)>("double_set")(words.c_str()), 0) << words; }
  void lose(int device) const { of<void (*)(int)>("double_lose")(device); }
  int violations() const { return of<int (*)()>("double_violations")(); }
  size_t graph_launches() const { return of<size_t (*)()>("double_graph_launches")(); }
  size_t live() const { return of<size_t (*)()>("double_live")(); }
  std::string report() const {
    std::string text(4096, '\0');
    text.resize(std::min(of<size_t (*)(char *, size_t)>("double_report")(text.data(), text.size()), text.size() - 1));
    return text;
  }

 private:
  template <class F>
  F of(const char *name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }
  void *handle_;
};

struct GpuTest : testing::TestWithParam<Vendor> {
  // With a double: words of its own first, its findings last.
  void SetUp() override {
    if (!on_real_gpu()) return Double(GetParam()).set(words());
    if (const std::string why = why_no_gpu(GetParam().driver); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (on_real_gpu() || HasFatalFailure()) return;
    const Double d(GetParam());
    EXPECT_EQ(d.violations(), 0) << d.report();
    EXPECT_EQ(d.live(), 0u) << "leaked objects of the vendor's library";
  }
  virtual std::string words() const { return "devices=2,memory=64M"; }
};

// First in a test of faults, of settings of the double, or of two devices. No function: one would leave itself, not the test.
#define CONSORT_NEEDS_DOUBLE \
  if (consort_test::on_real_gpu()) GTEST_SKIP() << "it needs the double"

#define CONSORT_GPU_VENDORS(suite)                                                                                       \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(kVendors), [](const auto &v) { return std::string(v.param.driver); })

inline const std::vector<Vendor> kVendors = {
#ifdef CONSORT_HAS_CUDA
    {"cuda", CONSORT_DOUBLES_DIR "/libcuda_double.so", CONSORT_DOUBLES_DIR "/libnvrtc_double.so", "cuda"},
#endif
#ifdef CONSORT_HAS_HIP
    {"hip", CONSORT_DOUBLES_DIR "/libamdhip64_double.so", CONSORT_DOUBLES_DIR "/libamdhip64_double.so", "hip"},
#endif
};

}  // namespace consort_test
