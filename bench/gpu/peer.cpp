#include "peer.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels.hpp"

namespace bench::gpu {

// Handles are pointers and errors are numbers with both vendors, so that neither's headers are asked for.
struct Peer::Library {
  void *handle = nullptr;
  bool hip = false;
  int (*init)(unsigned) = nullptr;
  int (*count)(int *) = nullptr;
  int (*set_device)(int) = nullptr;                         // HIP
  int (*device)(int *, int) = nullptr;                      // CUDA, and the next three
  int (*retain)(void **, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*current)(void *) = nullptr;
  int (*stream)(void **, unsigned, int) = nullptr;
  int (*stream_destroy)(void *) = nullptr;
  int (*stream_wait)(void *) = nullptr;
  int (*alloc)(uint64_t *, size_t) = nullptr;
  int (*free)(uint64_t) = nullptr;
  int (*in)(uint64_t, const void *, size_t, void *) = nullptr;
  int (*out)(void *, uint64_t, size_t, void *) = nullptr;
  int (*copy)(uint64_t, uint64_t, size_t, int, void *) = nullptr;  // HIP, instead of these two
  int (*load)(void **, const void *, unsigned, void *, void *) = nullptr;
  int (*unload)(void *) = nullptr;
  int (*function)(void **, void *, const char *) = nullptr;
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) = nullptr;

  template <class F>
  bool find(F &to, const char *name, std::string *why) {
    to = reinterpret_cast<F>(dlsym(handle, name));
    if (!to) *why = std::string("the library lacks ") + name;
    return to;
  }
  bool open_cuda(std::string *why) {
    return find(init, "cuInit", why) && find(count, "cuDeviceGetCount", why) && find(device, "cuDeviceGet", why) &&
           find(retain, "cuDevicePrimaryCtxRetain", why) && find(release, "cuDevicePrimaryCtxRelease_v2", why) &&
           find(current, "cuCtxSetCurrent", why) && find(stream, "cuStreamCreateWithPriority", why) &&
           find(stream_destroy, "cuStreamDestroy_v2", why) && find(stream_wait, "cuStreamSynchronize", why) &&
           find(alloc, "cuMemAlloc_v2", why) && find(free, "cuMemFree_v2", why) && find(in, "cuMemcpyHtoDAsync_v2", why) &&
           find(out, "cuMemcpyDtoHAsync_v2", why) && find(load, "cuModuleLoadDataEx", why) && find(unload, "cuModuleUnload", why) &&
           find(function, "cuModuleGetFunction", why) && find(launch, "cuLaunchKernel", why);
  }
  bool open_hip(std::string *why) {
    return find(init, "hipInit", why) && find(count, "hipGetDeviceCount", why) && find(set_device, "hipSetDevice", why) &&
           find(stream, "hipStreamCreateWithPriority", why) && find(stream_destroy, "hipStreamDestroy", why) &&
           find(stream_wait, "hipStreamSynchronize", why) && find(alloc, "hipMalloc", why) && find(free, "hipFree", why) &&
           find(copy, "hipMemcpyAsync", why) && find(load, "hipModuleLoadDataEx", why) && find(unload, "hipModuleUnload", why) &&
           find(function, "hipModuleGetFunction", why) && find(launch, "hipModuleLaunchKernel", why);
  }
};

std::unique_ptr<Peer> Peer::open(const std::string &driver, const std::string &library, std::string *why) {
  auto made = std::make_unique<Library>();
  made->hip = driver == "hip";
  const std::string name = !library.empty() ? library : made->hip ? "libamdhip64.so" : "libcuda.so.1";
  made->handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!made->handle && library.empty() && made->hip)
    for (const char *other : {"libamdhip64.so.6", "libamdhip64.so.5"})
      if ((made->handle = dlopen(other, RTLD_NOW | RTLD_LOCAL))) break;
  if (!made->handle) {
    const char *said = dlerror();
    *why = name + " cannot be opened: " + (said ? said : "no reason given");
    return nullptr;
  }
  int devices = 0;
  if (!(made->hip ? made->open_hip(why) : made->open_cuda(why))) return nullptr;
  int e = made->init(0);
  if (!e) e = made->count(&devices);
  if (e || !devices) {
    *why = e ? name + " sees no device: it answers " + std::to_string(e) : name + " sees no device";
    return nullptr;
  }
  return std::unique_ptr<Peer>(new Peer(std::move(made)));
}

Peer::Peer(std::unique_ptr<Library> library) : library_(std::move(library)) {
  Library &l = *library_;
  if (l.hip) {
    check(l.set_device(0), "set device");
  } else {
    int device = 0;
    check(l.device(&device, 0), "device");
    check(l.retain(&context_, device), "primary context");
    check(l.current(context_), "set context");
  }
  check(l.stream(&stream_, 1 /* waits for no other stream */, 0), "stream");
}

Peer::~Peer() {
  Library &l = *library_;
  check(l.stream_destroy(stream_), "stream");
  if (module_) check(l.unload(module_), "module");
  if (l.hip) return;
  l.current(nullptr);
  check(l.release(0), "primary context");
}

void Peer::check(int error, const char *what) const {
  if (!error) return;
  std::fprintf(stderr, "gpu: the vendor's library answers %d: %s\n", error, what);
  std::exit(1);
}

uint64_t Peer::alloc(size_t bytes) {
  uint64_t at = 0;
  check(library_->alloc(&at, bytes), "memory of the device");
  return at;
}
void Peer::free(uint64_t at) { check(library_->free(at), "free"); }
void Peer::in(uint64_t to, const void *from, size_t bytes) {
  Library &l = *library_;
  check(l.hip ? l.copy(to, reinterpret_cast<uint64_t>(from), bytes, 1 /* to the device */, stream_) : l.in(to, from, bytes, stream_), "copy in");
}
void Peer::out(void *to, uint64_t from, size_t bytes) {
  Library &l = *library_;
  check(l.hip ? l.copy(reinterpret_cast<uint64_t>(to), from, bytes, 2 /* to the host */, stream_) : l.out(to, from, bytes, stream_), "copy out");
}

namespace {

// HIP's compiler, which is in its library.
std::vector<char> compiled(void *library, const std::string &arch) {
  const auto name = [&](const char *text) { return dlsym(library, text); };
  void *program = nullptr;
  const auto create = reinterpret_cast<int (*)(void **, const char *, const char *, int, const char **, const char **)>(name("hiprtcCreateProgram"));
  const auto compile = reinterpret_cast<int (*)(void *, int, const char **)>(name("hiprtcCompileProgram"));
  const auto size_of = reinterpret_cast<int (*)(void *, size_t *)>(name("hiprtcGetCodeSize"));
  const auto code_of = reinterpret_cast<int (*)(void *, char *)>(name("hiprtcGetCode"));
  const auto destroy = reinterpret_cast<int (*)(void **)>(name("hiprtcDestroyProgram"));
  size_t bytes = 0;
  if (!create || !compile || !size_of || !code_of || !destroy || create(&program, kSource, "kernels", 0, nullptr, nullptr)) return {};
  std::vector<char> code;
  const std::string option = "--offload-arch=" + arch;
  const char *options[] = {option.c_str()};
  if (!compile(program, 1, options) && !size_of(program, &bytes)) {
    code.resize(bytes);
    if (code_of(program, code.data())) code.clear();
  }
  destroy(&program);
  return code;
}

}  // namespace

Peer::Kernel Peer::kernel(const char *name) {
  Library &l = *library_;
  if (!module_) {
    const std::vector<char> code = l.hip ? compiled(l.handle, arch_) : std::vector<char>();
    if (l.hip && code.empty()) check(-1, "hiprtc does not compile the kernels");
    check(l.load(&module_, l.hip ? code.data() : kPtx, 0, nullptr, nullptr), "module");
  }
  Kernel kernel = nullptr;
  check(l.function(&kernel, module_, name), name);
  return kernel;
}

void Peer::launch(Kernel kernel, uint32_t blocks, uint32_t threads, void **params) {
  check(library_->launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream_, params, nullptr), "launch");
}
void Peer::wait() { check(library_->stream_wait(stream_), "wait for the stream"); }

bool Peer::is_double() const { return dlsym(library_->handle, "double_violations"); }
std::string Peer::complaint() const {
  const auto violations = reinterpret_cast<int (*)()>(dlsym(library_->handle, "double_violations"));
  const auto report = reinterpret_cast<size_t (*)(char *, size_t)>(dlsym(library_->handle, "double_report"));
  if (!violations || !report || !violations()) return "";
  std::string text(4096, '\0');
  report(text.data(), text.size() - 1);
  return text.c_str();
}

}  // namespace bench::gpu
