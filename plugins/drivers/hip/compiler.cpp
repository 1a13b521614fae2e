#include "compiler.hpp"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "library.hpp"

namespace hip {

bool Compiler::look_up(const char *library, std::string *why) {
  const auto lacks = [&](const std::string &what) {
    *why += (why->empty() ? "" : "; ") + what;
    return false;
  };
  void *handle = open_compiler(library);
  if (!handle) {
    const char *said = dlerror();
    return lacks(said ? said : library);
  }
#define X(name)                                                   \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));  \
  if (!name) return lacks(std::string(library) + " lacks " #name);
  HIPRTC_FUNCTIONS(X)
#undef X
  return true;
}

consort_status Compiler::open(const std::string &library, std::string *why) {
  const std::lock_guard lock(mutex_);
  if (open_) return CONSORT_OK;
  std::string tried;
  // A separate library since 5.3, part of HIP's before.
  static constexpr const char *known[] = {"libhiprtc.so.6", "libhiprtc.so.5", "libamdhip64.so.5", "libhiprtc.so",
                                          "/opt/rocm/lib/libhiprtc.so"};
  if (library != "auto") open_ = look_up(library.c_str(), &tried);
  else
    for (const char *name : known)
      if ((open_ = look_up(name, &tried))) break;
  if (open_) return CONSORT_OK;
  *why = "HIP source needs hiprtc, which cannot be opened: install it or set its path in hip.compiler, or give \"hsaco\" (" + tried + ")";
  return CONSORT_E_UNSUPPORTED;
}

std::string Compiler::version() const {
  int major = 0, minor = 0;
  (void)hiprtcVersion(&major, &minor);
  return "hiprtc " + std::to_string(major) + "." + std::to_string(minor);
}

// Always passes the device's architecture: by default the compiler takes the first visible device, and fails without one.
consort_status Compiler::compile(const std::string &source, const std::string &options, const std::string &arch,
                                 std::string *image, std::string *log) const {
  hiprtcProgram p = nullptr;
  if (const hiprtcResult r = hiprtcCreateProgram(&p, source.c_str(), "codelet.hip", 0, nullptr, nullptr)) {
    *log = hiprtcGetErrorString(r);
    return CONSORT_E_NOMEM;
  }
  std::vector<std::string> words = {"--offload-arch=" + arch};
  std::string word;
  for (const char c : options + " ") {
    if (c != ' ') word += c;
    else if (!word.empty()) words.push_back(std::exchange(word, {}));
  }
  std::vector<const char *> given;
  for (const std::string &w : words) given.push_back(w.c_str());
  hiprtcResult r = hiprtcCompileProgram(p, static_cast<int>(given.size()), given.data());
  size_t n = 0;
  if (!hiprtcGetProgramLogSize(p, &n) && n > 1) {
    log->resize(n);
    if (hiprtcGetProgramLog(p, log->data())) log->clear();
    while (!log->empty() && log->back() == '\0') log->pop_back();
  }
  if (!r) r = hiprtcGetCodeSize(p, &n);
  if (!r) {
    image->assign(n, '\0');
    r = hiprtcGetCode(p, image->data());
  }
  if (r && log->empty()) *log = hiprtcGetErrorString(r);
  (void)hiprtcDestroyProgram(&p);
  if (!r) return CONSORT_OK;
  return r == HIPRTC_ERROR_OUT_OF_MEMORY ? CONSORT_E_NOMEM : CONSORT_E_INVAL;
}

}  // namespace hip
