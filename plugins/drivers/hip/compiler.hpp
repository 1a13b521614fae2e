// compiler.hpp — HIP source to a device's code, by hiprtc, whose library is opened when the first source comes.
//
// Of the driver; devices may ask at the same time. Once open it is constant, and never closed.
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
  // library: a name, a path, or "auto". E_UNSUPPORTED: there is none.
  consort_status open(const std::string &library, std::string *why);
  std::string version() const;
  // arch: "gfx90a", or with the features that the device has, as HIP tells it.
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
