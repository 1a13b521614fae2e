// opencl_programs.hpp — a runtime with two cores and the OpenCL devices of the machine, and kernels that tests launch
// themselves.
//
// Under CONSORT_HAS_OPENCL. Without a platform the tests are skipped.
#pragma once
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <map>
#include <memory>

#include "api/harness.hpp"

namespace consort_test {

constexpr char kSource[] =
    "#define AT(x, off) ((__global float *)((__global char *)(x) + (off)))\n"
    "__kernel void scale(__global void *x, ulong off, float a) { AT(x, off)[get_global_id(0)] *= a; }\n"
    "__kernel void axpy(__global void *x, ulong xo, __global void *y, ulong yo, float a) {\n"
    "  size_t i = get_global_id(0); AT(y, yo)[i] += a * AT(x, xo)[i];\n"
    "}\n"
    "__kernel void scale3(__global void *x, ulong off, ulong ldy, ulong ldz, float a) {\n"
    "  AT(x, off)[get_global_id(0) + ldy * get_global_id(1) + ldz * get_global_id(2)] *= a;\n"
    "}\n"
    "__kernel void stir(__global void *x, ulong xo, __global void *y, ulong yo, uint a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  __global uint *to = (__global uint *)AT(y, yo), *from = (__global uint *)AT(x, xo);\n"
    "  to[i] = to[i] * 3 + from[i] + a;\n"
    "}\n"
    "__kernel void apart(__global void *x, ulong xo, __global void *y, ulong yo, ulong ld) {\n"  // pairs into two lines
    "  size_t i = get_global_id(0);\n"
    "  AT(y, yo)[i] = AT(x, xo)[2 * i]; AT(y, yo)[ld + i] = AT(x, xo)[2 * i + 1];\n"
    "}\n"
    "__kernel void turn(__global void *x, ulong xo, ulong ld, float a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  AT(x, xo)[i] += a; AT(x, xo)[ld + i] *= 2;\n"
    "}\n";

// Programs by context, for as long as the process lives, as a library would keep them.
inline cl_kernel kernel_of(const consort_call &c, const char *name) {
  static std::mutex mutex;
  static std::map<void *, cl_program> programs;
  std::lock_guard lock(mutex);
  auto context = static_cast<cl_context>(c.native_context);
  cl_program &p = programs[context];
  if (!p) {
    clRetainContext(context);  // its address is its own as long as the program is kept
    const char *text = kSource;
    p = clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
    if (clBuildProgram(p, 0, nullptr, "", nullptr, nullptr) != CL_SUCCESS) return nullptr;
  }
  return clCreateKernel(p, name, nullptr);
}

// One launch on the call's own queue: `mem` sets a buffer and an offset.
class Launch {
 public:
  Launch(const consort_call &c, const char *name) : call_(c), k_(kernel_of(c, name)) {}
  ~Launch() {
    if (k_) clReleaseKernel(k_);
  }
  template <class T>
  Launch &value(T v) {
    error_ |= clSetKernelArg(k_, at_++, sizeof v, &v);
    return *this;
  }
  Launch &mem(uint32_t view) {
    const auto &a = *static_cast<const consort_addr *>(call_.views[view]);
    return value(reinterpret_cast<cl_mem>(a.base)).value(cl_ulong{a.off});
  }
  consort_status over(size_t nx, size_t ny = 1, size_t nz = 1) {
    const size_t n[3] = {nx, ny, nz};
    if (!error_) error_ = clEnqueueNDRangeKernel(static_cast<cl_command_queue>(call_.native_queue), k_, 3, nullptr, n, nullptr, 0, nullptr, nullptr);
    return error_ ? consort_fail(CONSORT_E_IO, ("the kernel was not launched: " + std::to_string(error_)).c_str()) : CONSORT_OK;
  }

 private:
  const consort_call &call_;
  cl_kernel k_;
  cl_uint at_ = 0;
  cl_int error_ = 0;
};

inline const consort_vector_view &vec(const consort_call &c, uint32_t i) { return *static_cast<const consort_vector_view *>(c.views[i]); }

struct Machine {
  std::vector<std::unique_ptr<Body>> bodies;  // outlive the runtime
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> cores, devices;

  explicit Machine(const Pairs &more = {}) {
    Pairs pairs = settings();
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) (worker(w).klass == std::string("opencl") ? devices : cores).push_back(w);
  }
  static Pairs settings() {
    return {{"drivers", "cpu,opencl"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"}, {"opencl.types", "cpu"},
            {"opencl.platforms", "portable"}, {"opencl.cache", "off"}};
  }
  operator consort_runtime *() const { return *rt; }
  consort_worker_info worker(uint32_t w) const {
    consort_worker_info info{};
    info.size = sizeof info;
    need(consort_get_worker(*rt, w, &info), "worker");
    return info;
  }
  uint32_t workers() const { return static_cast<uint32_t>(cores.size() + devices.size()); }
  consort_codelet_id codelet(const char *name, Body core, Body device, uint32_t flags = CONSORT_CL_ASYNC) {
    std::vector<consort_impl> impls;
    for (auto &[klass, body] : {std::pair{"cpu", &core}, std::pair{"opencl", &device}})
      if (*body) {
        bodies.push_back(std::make_unique<Body>(std::move(*body)));
        impls.push_back({klass, run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0});
      }
    return codelet_of(*rt, name, impls, flags);
  }
  consort_codelet_id scale(uint32_t flags = CONSORT_CL_ASYNC) {
    return codelet("scale",
                   [](const consort_call &c) {
                     for (uint64_t i = 0; i < vec(c, 0).n; ++i) pointer<float>(c, 0)[i] *= value<float>(c, 0);
                     return CONSORT_OK;
                   },
                   [](const consort_call &c) { return Launch(c, "scale").mem(0).value(value<float>(c, 0)).over(vec(c, 0).n); }, flags);
  }
  consort_codelet_id mix() {
    return codelet("mix",
                   [](const consort_call &c) {
                     for (uint64_t i = 0; i < vec(c, 0).n; ++i) {
                       uint32_t &to = pointer<uint32_t>(c, 1)[i];
                       to = to * 3 + pointer<uint32_t>(c, 0)[i] + value<uint32_t>(c, 0);
                     }
                     return CONSORT_OK;
                   },
                   [](const consort_call &c) { return Launch(c, "stir").mem(0).mem(1).value(value<uint32_t>(c, 0)).over(vec(c, 0).n); });
  }
};

struct OpenCl : ::testing::Test {
  static std::string &missing() {
    static std::string text;
    return text;
  }
  static void SetUpTestSuite() {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    setenv("POCL_MEMORY_LIMIT", "1", 0);  // GiB
    Pairs pairs = Machine::settings();
    pairs.push_back({"log", "error"});
    consort_runtime *rt = nullptr;
    consort_info info{};
    info.size = sizeof info;
    if (start(pairs, &rt) < 0) missing() = consort_error();
    else if (consort_get_info(rt, &info) < 0 || info.nclasses < 2) missing() = "no OpenCL device here: install pocl-opencl-icd";
    (void)consort_stop(rt);
  }
  void SetUp() override {
    if (!missing().empty()) GTEST_SKIP() << missing();
  }
};

}  // namespace consort_test
