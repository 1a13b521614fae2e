#include "compiler.hpp"

#include <consort/shared/plain_file.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <utility>
#include <vector>

namespace cuda {

bool Compiler::look_up(const char *library, std::string *why) {
  void *handle = ::dlopen(consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *said = dlerror();
    *why += (why->empty() ? "" : "; ") + std::string(said ? said : library);
    return false;
  }
#define X(name)                                                        \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));       \
  if (!name) {                                                         \
    *why += std::string(library) + " lacks " #name;                    \
    return false;                                                      \
  }
  NVRTC_FUNCTIONS(X)
#undef X
  return true;
}

consort_status Compiler::open(const std::string &library, std::string *why) {
  const std::lock_guard lock(mutex_);
  if (open_) return CONSORT_OK;
  std::string tried;
  static constexpr const char *known[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                          "/usr/local/cuda/lib64/libnvrtc.so"};
  if (library != "auto") open_ = look_up(library.c_str(), &tried);
  else
    for (const char *name : known)
      if ((open_ = look_up(name, &tried))) break;
  if (open_) return CONSORT_OK;
  *why = "CUDA C needs NVRTC, which cannot be opened: install it or set its path in cuda.compiler, or give \"ptx\" or \"cubin\" (" + tried + ")";
  return CONSORT_E_UNSUPPORTED;
}

std::string Compiler::version() const {
  int major = 0, minor = 0;
  (void)nvrtcVersion(&major, &minor);
  return "nvrtc " + std::to_string(major) + "." + std::to_string(minor);
}

std::string Compiler::target(const std::string &arch, bool *binary) const {
  const int wanted = std::atoi(arch.c_str() + 3);  // behind "sm_"
  int n = 0, newest = 0;
  *binary = true;
  if (nvrtcGetNumSupportedArchs(&n) || n <= 0) return arch;
  std::vector<int> known(static_cast<size_t>(n));
  if (nvrtcGetSupportedArchs(known.data())) return arch;
  for (const int a : known) {
    if (a == wanted) return arch;
    if (a < wanted && a > newest) newest = a;
  }
  *binary = false;
  return newest ? "compute_" + std::to_string(newest) : "compute_" + std::to_string(wanted);
}

consort_status Compiler::compile(const std::string &source, const std::string &options, const std::string &arch,
                                 std::string *image, std::string *log) const {
  nvrtcProgram p = nullptr;
  if (const nvrtcResult r = nvrtcCreateProgram(&p, source.c_str(), "codelet.cu", 0, nullptr, nullptr)) {
    *log = nvrtcGetErrorString(r);
    return CONSORT_E_NOMEM;
  }
  bool binary = true;
  std::vector<std::string> words = {"--gpu-architecture=" + target(arch, &binary)};
  std::string word;
  for (const char c : options + " ") {
    if (c != ' ') word += c;
    else if (!word.empty()) words.push_back(std::exchange(word, {}));
  }
  std::vector<const char *> given;
  for (const std::string &w : words) given.push_back(w.c_str());
  nvrtcResult r = nvrtcCompileProgram(p, static_cast<int>(given.size()), given.data());
  size_t n = 0;
  if (!nvrtcGetProgramLogSize(p, &n) && n > 1) {
    log->resize(n);
    if (nvrtcGetProgramLog(p, log->data())) log->clear();
    while (!log->empty() && log->back() == '\0') log->pop_back();
  }
  if (!r) {
    r = binary ? nvrtcGetCUBINSize(p, &n) : nvrtcGetPTXSize(p, &n);
    image->assign(n, '\0');
    if (!r) r = binary ? nvrtcGetCUBIN(p, image->data()) : nvrtcGetPTX(p, image->data());
  }
  if (r && log->empty()) *log = nvrtcGetErrorString(r);
  (void)nvrtcDestroyProgram(&p);
  if (!r) return CONSORT_OK;
  return r == NVRTC_ERROR_OUT_OF_MEMORY ? CONSORT_E_NOMEM : CONSORT_E_INVAL;
}

}  // namespace cuda
