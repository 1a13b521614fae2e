// compiler.hpp — CUDA C to a device's code, by NVRTC, whose library is opened when the first source comes.
//
// Of the driver; devices may ask at the same time. Once open it is constant, and never closed.
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
  // library: a name, a path, or "auto". E_UNSUPPORTED: there is none.
  consort_status open(const std::string &library, std::string *why);
  std::string version() const;
  // arch: "sm_90". A device newer than the compiler gets PTX for the newest that this one knows.
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
