// modules.hpp — the kernels of one device: built from SPIR-V or binaries, cached in memory and on disk.
//
// Owned by the device; [load] calls only, so one thread at a time, beside other calls. The address of a Code is stable
// until the device closes. Cached files are untrusted: a damaged file, or one that the device refuses, is compiled
// again.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ze.hpp"

namespace level_zero {

class Device;

struct Code {
  ze_module_handle_t module;
  std::string name;
  uint32_t number;  // dense, within the device
  uint32_t nargs;
  uint32_t required[3];  // work items in a group, if the kernel requires them; else 0
};

class Modules {
 public:
  explicit Modules(Device &d);
  ~Modules();
  Modules(const Modules &) = delete;
  Modules &operator=(const Modules &) = delete;

  // Returns the same Code for the same kernel. < 0: text in `why`, with the compiler's output.
  consort_status load(std::string format, const void *text, uint64_t n, const std::string &entry, const Code **out,
                      std::string *why);

 private:
  struct Input;
  struct Module {
    ze_module_handle_t handle;
    std::vector<std::string> names;
  };
  consort_status read(Input &in, std::string *why) const;
  consort_status build(const Input &in, ze_module_handle_t *out, std::string *why);
  ze_result_t create(ze_module_format_t, const std::string &binary, const std::string &options, ze_module_handle_t *out, std::string *log);
  void to_cache(const std::string &file, const std::string &key, ze_module_handle_t);

  Device &dev_;
  std::string cache_key_;  // device, driver version and options: the parts of the cache key beside the source
  std::map<std::string, Module> modules_;
  std::map<std::pair<ze_module_handle_t, std::string>, std::unique_ptr<Code>> codes_;
};

}  // namespace level_zero
