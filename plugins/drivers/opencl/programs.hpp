// programs.hpp — the kernels of one device: built from text or binaries, cached in memory and on disk.
//
// Owned by the device; [load] calls only, so one thread at a time, beside other calls. The address of a Code is stable until the device
// closes. Cached files are untrusted: a damaged file, or one that the device refuses, is compiled again.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cl.hpp"

namespace opencl {

class Device;

struct Code {
  cl_program program;
  std::string name;
  uint32_t number;   // dense, within the device
  uint32_t nargs;
  uint64_t largest;  // work items in a group
};

class Programs {
 public:
  explicit Programs(Device &d);
  ~Programs();
  Programs(const Programs &) = delete;
  Programs &operator=(const Programs &) = delete;

  // Returns the same Code for the same kernel. < 0: text in `why`, with the compiler's output.
  consort_status load(std::string format, const void *text, uint64_t n, const std::string &entry, const Code **out,
                      std::string *why);

 private:
  struct Input;
  consort_status read(Input &in, std::string *why) const;
  consort_status build(const Input &in, cl_program *out, std::string *why);
  consort_status compile(cl_program, const Input &in, const char *extra, std::string *why);
  cl_program from_binary(const std::string &binary, cl_int *e);
  cl_program from_cache(const std::string &file, const std::string &key);
  void to_cache(const std::string &file, const std::string &key, cl_program);

  Device &dev_;
  std::string cache_key_;  // device, driver version and options: the parts of the cache key beside the source
  std::map<std::string, cl_program> programs_;
  std::map<std::pair<cl_program, std::string>, std::unique_ptr<Code>> codes_;
};

}  // namespace opencl
