// compiler.hpp — compiles CUDA C for a device with NVRTC, whose library is opened for the first source.
//
// One per driver; devices may use it concurrently. Constant once open, and never closed.
#pragma once
#include <consort/driver.h>
#include <nvrtc.h>

#include <mutex>
#include <string>

namespace cuda {

#define NVRTC_FUNCTIONS(X)                                                                                             \
  X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcCreateProgram) X(nvrtcCompileProgram) X(nvrtcDestroyProgram)           \
  X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetCUBINSize)               \
  X(nvrtcGetCUBIN) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs)

class Compiler {
 public:
  // library: a name, a path, or "auto". E_UNSUPPORTED: not found.
  consort_status open(const std::string &library, std::string *why);
  std::string version() const;
  // arch: "sm_90". If the device is newer than the compiler, the result is PTX for the newest architecture that the compiler supports.
  consort_status compile(const std::string &source, const std::string &options, const std::string &arch,
                         std::string *image, std::string *log) const;

 private:
  bool look_up(const char *library, std::string *why);
  std::string target(const std::string &arch, bool *binary) const;

  std::mutex mutex_;
  bool open_ = false;
#define X(name) decltype(&::name) name = nullptr;
  NVRTC_FUNCTIONS(X)
#undef X
};

}  // namespace cuda
