// programs.hpp — a runtime on cores and GPUs, with two kernels that cores run, too. Owned by one test, which is a GpuTest.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/harness.hpp"
#include "gpu/gpu.hpp"

namespace consort_test {

inline constexpr char kKernels[] =
    "extern \"C\" __global__ void scale(float *x, unsigned long long n, float a) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= a;\n"
    "}\n"
    "extern \"C\" __global__ void mix(const unsigned *x, unsigned long long nx, unsigned *y, unsigned long long ny, unsigned a) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < ny) y[i] = y[i] * 3 + x[i] + a;\n"
    "}\n"
    "extern \"C\" __global__ void set(unsigned *x, unsigned long long n, unsigned a) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] = a;\n"
    "}\n";

inline const consort_vector_view &vec(const consort_call &c, uint32_t i) { return *static_cast<const consort_vector_view *>(c.views[i]); }

struct Machine {
  std::vector<std::unique_ptr<Body>> bodies;  // outlive the runtime
  std::vector<std::string> words;
  std::unique_ptr<Rt> rt;
  std::vector<uint32_t> cores, devices;
  std::string failure;

  // may_fail: a runtime that does not start has no devices, and says why.
  explicit Machine(const Vendor &v, std::vector<std::pair<std::string, std::string>> more = {}, bool may_fail = false) : vendor(v) {
    const std::string name = v.driver;
    std::vector<std::pair<std::string, std::string>> all = {{"drivers", "cpu," + name}, {"cpu.topology", kFourCores}, {"workers", "2"}};
    if (!on_real_gpu()) all.insert(all.end(), {{name + ".library", v.library}, {name + ".compiler", v.compiler}});
    for (auto &[key, text] : more) all.push_back({key[0] == '.' ? name + key : key, text});
    words.reserve(all.size() * 2);
    Pairs pairs;
    for (auto &[key, text] : all) {
      words.push_back(key), words.push_back(text);
      pairs.push_back({words[words.size() - 2].c_str(), words.back().c_str()});
    }
    consort_runtime *started = nullptr;
    if (const consort_status s = start(pairs, &started); s < 0 && may_fail) {
      failure = consort_error();
      return;
    } else {
      need(s, "start");
    }
    rt = std::make_unique<Rt>(started);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) (worker(w).klass == name ? devices : cores).push_back(w);
  }
  operator consort_runtime *() const { return *rt; }
  consort_worker_info worker(uint32_t w) const {
    consort_worker_info info{};
    info.size = sizeof info;
    need(consort_get_worker(*rt, w, &info), "worker");
    return info;
  }
  uint32_t workers() const { return static_cast<uint32_t>(cores.size() + devices.size()); }
  consort_codelet_id codelet(const char *name, Body core, const char *entry) {
    std::vector<consort_impl> impls = {{vendor.driver, nullptr, nullptr, nullptr, vendor.format, kKernels, entry, 0}};
    return with_core(name, std::move(core), impls);
  }
  consort_codelet_id function(const char *name, Body device, uint32_t flags) {
    bodies.push_back(std::make_unique<Body>(std::move(device)));
    std::vector<consort_impl> impls = {{vendor.driver, run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, name, impls, flags);
  }
  consort_codelet_id scale() {
    return codelet("scale", [](const consort_call &c) {
      for (uint64_t i = 0; i < vec(c, 0).n; ++i) pointer<float>(c, 0)[i] *= value<float>(c, 0);
      return CONSORT_OK;
    }, "scale");
  }
  consort_codelet_id mix() {
    return codelet("mix", [](const consort_call &c) {
      for (uint64_t i = 0; i < vec(c, 1).n; ++i) {
        uint32_t &to = pointer<uint32_t>(c, 1)[i];
        to = to * 3 + pointer<uint32_t>(c, 0)[i] + value<uint32_t>(c, 0);
      }
      return CONSORT_OK;
    }, "mix");
  }
  const Vendor vendor;

 private:
  consort_codelet_id with_core(const char *name, Body core, std::vector<consort_impl> &impls) {
    bodies.push_back(std::make_unique<Body>(std::move(core)));
    impls.push_back({"cpu", run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0});
    return codelet_of(*rt, name, impls);
  }
};

}  // namespace consort_test
