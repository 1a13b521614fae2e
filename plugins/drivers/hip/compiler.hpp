// compiler.hpp — compiles HIP source for a device with hiprtc, whose library is opened for the first source.
//
// One per driver; devices may use it concurrently. Constant once open, and never closed.
#pragma once
#include <consort/driver.h>
#include <hip/hiprtc.h>

#include <mutex>
#include <string>

namespace hip {

#define HIPRTC_FUNCTIONS(X)                                                                                        \
  X(hiprtcVersion) X(hiprtcGetErrorString) X(hiprtcCreateProgram) X(hiprtcCompileProgram) X(hiprtcDestroyProgram)  \
  X(hiprtcGetProgramLogSize) X(hiprtcGetProgramLog) X(hiprtcGetCodeSize) X(hiprtcGetCode)

class Compiler {
 public:
  // library: a name, a path, or "auto". E_UNSUPPORTED: not found.
  consort_status open(const std::string &library, std::string *why);
  std::string version() const;
  // arch: "gfx90a", or with the device's features, as reported by HIP.
  consort_status compile(const std::string &source, const std::string &options, const std::string &arch,
                         std::string *image, std::string *log) const;

 private:
  bool look_up(const char *library, std::string *why);

  std::mutex mutex_;
  bool open_ = false;
#define X(name) decltype(&::name) name = nullptr;
  HIPRTC_FUNCTIONS(X)
#undef X
};

}  // namespace hip
