// PoCL beside HIP in one process, in either order. Where both use one libLLVM (Debian) they abort it unless the later
// one is opened in a namespace of its own. Without a GPU HIP's compiler works all the same. Each order is a process of
// its own; a missing library skips it in one line.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "drivers/opencl_machine.hpp"

#if !defined(CONSORT_HAS_OPENCL) || !defined(CONSORT_HAS_HIP)
TEST(HipAndOpenCl, SkippedWithoutBothDrivers) { GTEST_SKIP() << "a driver was left out: no CL/cl.h, or no hip/hiprtc.h"; }
#else
#include "plugins/drivers/hip/code_object.hpp"
#include "plugins/drivers/hip/compiler.hpp"

namespace consort_test {
namespace {

constexpr char kHip[] =
    "extern \"C\" __global__ void scale(float *x, unsigned long n, float a) {\n"
    "  unsigned long i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= a;\n"
    "}\n"
    "extern \"C\" __global__ void nothing() {}\n";
constexpr char kOpenCl[] = "__kernel void scale(__global float *x, ulong n, float a) { if (get_global_id(0) < n) x[get_global_id(0)] *= a; }\n";

enum Outcome { kRight = 0, kWrong = 1, kNotInstalled = 77 };

// In a process of its own, for opened libraries stay. It answers by its exit status alone.
int in_child(const std::function<Outcome()> &steps) {
  const pid_t child = fork();
  if (child == 0) {
    const Outcome o = steps();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? kWrong : o);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}
#define EXPECT_RIGHT(status)                                                                                        \
  if (const int s = (status); WIFEXITED(s) && WEXITSTATUS(s) == kNotInstalled) GTEST_SKIP() << "not installed, or a device is"; \
  else EXPECT_EQ(s, kRight) << (WIFSIGNALED(s) ? "ended by signal " + std::to_string(WTERMSIG(s)) : std::string("see above"))

// The driver's own compiler: text to a code object of a device that is not here.
Outcome compile(hip::Compiler &c) {
  std::string why, image, log;
  if (c.open("auto", &why) == CONSORT_E_UNSUPPORTED) return kNotInstalled;
  EXPECT_EQ(c.compile(kHip, "-O3", "gfx906", &image, &log), CONSORT_OK) << log;
  const auto kernels = hip::kernels_of(image);
  EXPECT_EQ(kernels.size(), 2u);
  for (const hip::Kernel &k : kernels) {
    EXPECT_TRUE(k.knows_params) << k.name;
    if (k.name == "scale") EXPECT_EQ(k.params, (std::vector<uint64_t>{8, 8, 4}));
    else EXPECT_TRUE(k.name == "nothing" && k.params.empty()) << k.name;
  }
  for (size_t cut : {size_t{0}, size_t{3}, image.size() / 2, image.size() - 1}) (void)hip::kernels_of(image.substr(0, cut));
  EXPECT_EQ(c.compile("this is no HIP", "", "gfx906", &image, &log), CONSORT_E_INVAL);
  EXPECT_NE(log.find("error"), std::string::npos) << log;
  return kRight;
}

// The driver opencl from end to end.
Outcome run_opencl() {
  OpenCl::SetUpTestSuite();
  if (!OpenCl::missing().empty()) return kNotInstalled;
  Machine m;
  std::vector<float> x(1000, 3), y(1000);
  const consort_addr there = m.alloc(4000);
  void *q = m.open_queue();
  const std::vector<consort_arg> args = {at(there, 4000), value(uint64_t{1000}), value(2.0f)};
  const auto out = m.run(q, {m.to_device(x.data(), there, 4000), launch_of(m.load(kOpenCl, "scale"), args, 1000),
                             m.from_device(there, y.data(), 4000)});
  EXPECT_EQ(out, std::vector<consort_status>(3, CONSORT_OK)) << m.plugin.failure();
  EXPECT_EQ(y, std::vector<float>(1000, 6));
  return kRight;
}

bool is_open(const char *library) {
  void *here = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (here) dlclose(here);
  return here != nullptr;
}

// As an application does that uses HIP itself, in the global namespace of libraries.
Outcome compile_oneself() {
  void *library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
  auto *create = library ? reinterpret_cast<decltype(&hiprtcCreateProgram)>(dlsym(library, "hiprtcCreateProgram")) : nullptr;
  auto *build = library ? reinterpret_cast<decltype(&hiprtcCompileProgram)>(dlsym(library, "hiprtcCompileProgram")) : nullptr;
  if (!create || !build) return kNotInstalled;
  hiprtcProgram p = nullptr;
  const char *options[] = {"--offload-arch=gfx906"};
  EXPECT_EQ(create(&p, kHip, "own.hip", 0, nullptr, nullptr), HIPRTC_SUCCESS);
  EXPECT_EQ(build(p, 1, options), HIPRTC_SUCCESS);
  EXPECT_TRUE(is_open("libamd_comgr.so.2"));
  return kRight;
}

constexpr bool kNoNamespaces = CONSORT_SAN == 2;  // libraries opened there call a libc that it does not watch

TEST(HipAndOpenCl, WorksWithOpenClFirst) {
  if (kNoNamespaces) GTEST_SKIP() << "the thread sanitizer knows no second namespace of libraries";
  EXPECT_RIGHT(in_child([] {
    hip::Compiler c;
    if (run_opencl() != kRight) return kNotInstalled;
    for (int again = 0; again < 2; ++again)
      if (compile(c) != kRight) return kNotInstalled;
    EXPECT_FALSE(is_open("libamd_comgr.so.2")) << "it is apart";
    return run_opencl();
  }));
}

// Variables of the environment are set in between, which moves them under threads that have read them before.
TEST(HipAndOpenCl, WorksWithHipFirst) {
  if (kNoNamespaces) GTEST_SKIP() << "the thread sanitizer knows no second namespace of libraries";
  EXPECT_RIGHT(in_child([] {
    hip::Compiler c, another;
    if (compile(c) != kRight || run_opencl() != kRight) return kNotInstalled;
    for (int i = 0; i < 1000; ++i) setenv(("CONSORT_OF_NO_MEANING_" + std::to_string(i)).c_str(), "1", 1);
    return compile(another) == kRight && compile(c) == kRight ? run_opencl() : kNotInstalled;
  }));
}

// The application has opened HIP in the global namespace: OpenCL moves to one of its own.
TEST(HipAndOpenCl, WorksWithTheApplicationsHipFirst) {
  if (kNoNamespaces) GTEST_SKIP() << "the thread sanitizer knows no second namespace of libraries";
  EXPECT_RIGHT(in_child([] {
    hip::Compiler c;
    if (compile_oneself() != kRight) return kNotInstalled;
    for (int again = 0; again < 2; ++again)
      if (run_opencl() != kRight) return kNotInstalled;
    return compile(c);
  }));
}

// The driver itself, refused without a device, has been opened apart, too: its devices would have brought the compiler.
TEST(HipAndOpenCl, WorksWithoutAHipDevice) {
  if (kNoNamespaces) GTEST_SKIP() << "the thread sanitizer knows no second namespace of libraries";
  EXPECT_RIGHT(in_child([] {
    if (run_opencl() != kRight) return kNotInstalled;
    for (int again = 0; again < 20; ++again) {  // more often than a process has namespaces
      PluginHost none("hip");
      if (none.ready() || none.failure().find("HIP is not installed") != std::string::npos) return kNotInstalled;
      EXPECT_EQ(none.failure().rfind("hip: no device: the driver reports none", 0), 0u) << none.failure();
    }
    EXPECT_FALSE(is_open("libclang-cpp.so.15") && is_open("libamdhip64.so.5"));
    hip::Compiler c;
    return compile(c);
  }));
}

TEST(Hip, ExplainsWhyThereIsNoDevice) {
  PluginHost none("hip", {{"library", "/nowhere/libamdhip64.so"}});
  EXPECT_FALSE(none.ready());
  EXPECT_EQ(none.failure().rfind("hip: no device: /nowhere/libamdhip64.so cannot be opened", 0), 0u) << none.failure();
  EXPECT_EQ(none.failure().find('\n'), std::string::npos);
  PluginHost wrong("hip", {{"library", "libc.so.6"}});
  EXPECT_NE(wrong.failure().find("libc.so.6 lacks hipInit: install a newer ROCm"), std::string::npos) << wrong.failure();
  PluginHost size("hip", {{"limit", "much"}});
  EXPECT_NE(size.failure().find("limit = \"much\" is not a size"), std::string::npos) << size.failure();
}

TEST(Hip, RealLibraryWithoutADevice) {
  EXPECT_RIGHT(in_child([] {
    PluginHost real("hip");
    if (real.ready() || real.failure().find("HIP is not installed") != std::string::npos) return kNotInstalled;
    EXPECT_EQ(real.failure().rfind("hip: no device: the driver reports none; HIP_VISIBLE_DEVICES", 0), 0u) << real.failure();
    EXPECT_NE(real.failure().find("hipErrorNoDevice"), std::string::npos) << real.failure();
    EXPECT_EQ(real.failure().find('\n'), std::string::npos);
    return kRight;
  }));
}

// -- what a code object says ------------------------------------------------------------------------------------------

TEST(HipCodeObject, OtherFilesHaveNoKernels) {
  EXPECT_TRUE(hip::kernels_of("").empty());
  EXPECT_TRUE(hip::kernels_of("\x7f" "ELF").empty());
  EXPECT_TRUE(hip::kernels_of("__CLANG_OFFLOAD_BUNDLE__").empty());
  EXPECT_TRUE(hip::kernels_of("__CLANG_OFFLOAD_BUNDLE__" + std::string(8, '\xff') + std::string(100, '\xff')).empty());
}

}  // namespace
}  // namespace consort_test
#endif
