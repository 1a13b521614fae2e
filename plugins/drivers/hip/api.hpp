// api.hpp — HIP's functions under the names used by ../gpu, looked up in a library opened at run time. All return 0 or HIP's
// error.
//
// Parts that changed between HIP 5 and 6 are not used, or are read by the running version: see the .cpp. Created by the
// driver's init(), constant afterwards; any thread. The library is never closed: it has threads of its own.
#pragma once
#include <consort/driver.h>
#include <hip/hip_runtime_api.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../gpu/known_library.hpp"
#include "../streams/copy_shapes.hpp"
#include "code_object.hpp"
#include "compiler.hpp"

namespace hip {

// Names as in the header; the symbol that the header maps them to (hipGetDevicePropertiesR0600) is looked up.
#define HIP_FUNCTIONS(X)                                                                                                  \
  X(hipInit) X(hipRuntimeGetVersion) X(hipGetErrorName) X(hipGetErrorString) X(hipGetDeviceCount) X(hipGetDevice)          \
  X(hipSetDevice) X(hipDeviceGetName) X(hipDeviceGetAttribute) X(hipDeviceGetPCIBusId) X(hipGetDeviceProperties)           \
  X(hipDeviceGetStreamPriorityRange) X(hipDeviceCanAccessPeer) X(hipDeviceEnablePeerAccess) X(hipMemGetInfo) X(hipFree)    \
  X(hipHostFree) X(hipHostRegister) X(hipHostUnregister) X(hipPointerGetAttributes) X(hipMemGetAddressRange)               \
  X(hipMemcpyAsync) X(hipMemcpy2DAsync) X(hipMemcpy3DAsync) X(hipMemcpyPeerAsync) X(hipMemsetD8Async)                      \
  X(hipMemsetD32Async) X(hipStreamCreateWithPriority) X(hipStreamDestroy) X(hipStreamSynchronize) X(hipStreamWaitEvent)    \
  X(hipStreamAddCallback) X(hipEventCreateWithFlags) X(hipEventDestroy) X(hipEventRecord) X(hipEventQuery)                 \
  X(hipEventElapsedTime) X(hipModuleLoadDataEx) X(hipModuleUnload) X(hipModuleGetFunction) X(hipFuncGetAttribute)          \
  X(hipModuleLaunchKernel)
// Functions that the header also overloads as templates.
#define HIP_TYPED_FUNCTIONS(X)                    \
  X(hipMalloc, hipError_t (*)(void **, size_t))   \
  X(hipHostMalloc, hipError_t (*)(void **, size_t, unsigned int))
// Optional: not in every version.
#define HIP_NEWER_FUNCTIONS(X) \
  X(hipDeviceGetUuid) X(hipMemPoolCreate) X(hipMemPoolDestroy) X(hipMemPoolSetAttribute) X(hipMemPoolSetAccess) X(hipFreeAsync) \
  X(hipStreamBeginCapture) X(hipStreamEndCapture) X(hipStreamGetCaptureInfo_v2) X(hipGraphInstantiateWithFlags)                \
  X(hipGraphLaunch) X(hipGraphExecDestroy) X(hipGraphDestroy) X(hipGraphExecKernelNodeSetParams)
#define HIP_NEWER_TYPED_FUNCTIONS(X) \
  X(hipMallocFromPoolAsync, hipError_t (*)(void **, size_t, hipMemPool_t, hipStream_t))

class Api {
 public:
  struct Loaded {  // a module, and the metadata of its image
    hipModule_t native = nullptr;
    std::vector<Kernel> kernels;
  };
  struct Launchable {
    hipFunction_t native = nullptr;
    const Kernel *kernel = nullptr;  // metadata of its module; null: none in the image
  };
  static constexpr const char *kName = "hip", *kProcessor = "cu", *kSource = "hip";
  static constexpr const char *kFormats = "\"hip\", \"hsaco\" and \"file\"";
  static constexpr int kNotReady = hipErrorNotReady;
  static constexpr int64_t kLongestPitch = 0x7fffffff;
  using Handle = int;  // the device's number
  using Before = int;  // the previously current device; -1: the same one
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Module = Loaded *;
  using Function = Launchable;
  using Pool = hipMemPool_t;
  using Graph = hipGraph_t;
  using Exec = hipGraphExec_t;
  using Node = hipGraphNode_t;
  using Compiler = hip::Compiler;
  struct Place {  // properties of an address
    bool device = false, pinned = false;
    int number = -1;
    uint64_t base = 0, size = 0;
  };

  static const gpu::KnownLibrary kLibraries[2];

  bool open(const char *library, std::string *why);  // false: no such library, or too old; reason in `why`
  void *open_beside(const char *library, bool there) const noexcept;  // opens another library of the vendor; there: only if already loaded
  int init(int *devices) noexcept;

  static consort_status status_of(int error) noexcept;
  static bool means_lost(int error) noexcept;  // the device is unusable
  static std::string why_none(int error);
  std::string words(int error) const;
  static bool is_image(const std::string &format) { return format == "hsaco"; }
  static const char *format_of(const std::string &path);

  std::string device_name(int number) const;
  int total_memory(int number, uint64_t *bytes) const noexcept;  // without a context
  std::string key(int number) const;
  std::string bus_id(int number) const;
  std::string arch(int number) const;  // "gfx90a:sramecc+:xnack-"
  int processors(int number) const noexcept { return attribute(hipDeviceAttributeMultiprocessorCount, number); }
  bool integrated(int number) const noexcept { return attribute(hipDeviceAttributeIntegrated, number); }

  int retain(int number, Handle *out) const noexcept { return *out = number, 0; }
  void release(int, Handle) const noexcept {}
  int enter(Handle, Before *) const noexcept;
  void leave(Before b) const noexcept {
    if (b >= 0) (void)hipSetDevice(b);
  }
  static void *native_context(Handle) noexcept { return nullptr; }  // HIP has none: the device is current
  bool can_access_peer(int from, int to) const noexcept;
  int enable_peer(int from, int to, Handle other) const noexcept;

  int memory(uint64_t *free, uint64_t *all) const noexcept;
  int pool_create(Pool *, int number, uint64_t most) const noexcept;
  void pool_destroy(Pool p) const noexcept { (void)hipMemPoolDestroy(p); }
  int pool_share(Pool, int with) const noexcept;
  int pool_alloc(uint64_t *at, uint64_t n, Pool p, Stream s) const noexcept { return hipMallocFromPoolAsync(at_of(at), n, p, s); }
  int pool_free(uint64_t at, Stream s) const noexcept { return hipFreeAsync(pointer(at), s); }
  int alloc(uint64_t *at, uint64_t n) const noexcept { return hipMalloc(at_of(at), n); }
  int free(uint64_t at) const noexcept { return hipFree(pointer(at)); }
  int host_alloc(uint64_t *at, uint64_t n) const noexcept { return hipHostMalloc(at_of(at), n, hipHostMallocPortable); }
  int host_free(uint64_t at) const noexcept { return hipHostFree(pointer(at)); }
  int host_register(uint64_t at, uint64_t n) const noexcept { return hipHostRegister(pointer(at), n, hipHostRegisterPortable); }
  int host_unregister(uint64_t at) const noexcept { return hipHostUnregister(pointer(at)); }
  Place place(uint64_t at) const noexcept;
  bool is_pinned(uint64_t at) const noexcept { return kind_of(at).kind != Kind::kNone; }

  // The bool says whether the address is on the device or the host.
  int copy(const streams::Box &, uint64_t dst, bool to_device, uint64_t src, bool from_device, Stream) const noexcept;
  int copy_across(const streams::Box &, uint64_t dst, int to, Handle there, uint64_t src, int from, Handle here, Stream) const noexcept;
  int fill(uint64_t at, uint32_t value, uint32_t width, uint64_t n, Stream s) const noexcept {
    return width == 4 ? hipMemsetD32Async(pointer(at), static_cast<int>(value), n, s)
                      : hipMemsetD8Async(pointer(at), static_cast<unsigned char>(value), n, s);
  }

  int greatest_priority() const noexcept;
  int stream_create(Stream *s, int priority) const noexcept { return hipStreamCreateWithPriority(s, hipStreamNonBlocking, priority); }
  void stream_destroy(Stream s) const noexcept { (void)hipStreamDestroy(s); }
  int stream_sync(Stream s) const noexcept { return hipStreamSynchronize(s); }
  int stream_wait(Stream s, Event e) const noexcept { return hipStreamWaitEvent(s, e, 0); }
  int callback(Stream s, void (*fn)(void *), void *user) const noexcept;
  int event_create(Event *e, bool timed) const noexcept {
    return hipEventCreateWithFlags(e, timed ? hipEventDefault : hipEventDisableTiming);
  }
  void event_destroy(Event e) const noexcept { (void)hipEventDestroy(e); }
  int event_record(Event e, Stream s) const noexcept { return hipEventRecord(e, s); }
  int event_query(Event e) const noexcept { return hipEventQuery(e); }
  int elapsed(float *ms, Event from, Event to) const noexcept { return hipEventElapsedTime(ms, from, to); }

  int module_load(Module *, const std::string &image, std::string *log) const;
  void module_unload(Module m) const noexcept;
  std::vector<std::string> functions(Module) const;
  int function(Function *, Module, const char *name) const noexcept;
  bool parameters(Function, std::vector<uint64_t> *sizes) const;
  uint64_t largest_block(Function) const noexcept;
  int allow_shared(Function, uint32_t bytes) const noexcept;
  int launch(Function f, const uint32_t *grid, const uint32_t *block, uint32_t shared, Stream s, void **params) const noexcept {
    return hipModuleLaunchKernel(f.native, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, s, params, nullptr);
  }

  bool has_graphs() const noexcept;
  int capture_begin(Stream s) const noexcept { return hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed); }
  int capture_end(Stream s, Graph *g) const noexcept { return hipStreamEndCapture(s, g); }
  Node captured_last(Stream) const noexcept;  // null: none, or not reported by the library
  int instantiate(Exec *e, Graph g) const noexcept { return hipGraphInstantiateWithFlags(e, g, 0); }
  int graph_launch(Exec e, Stream s) const noexcept { return hipGraphLaunch(e, s); }
  int change_launch(Exec, Node, Function, const uint32_t *grid, const uint32_t *block, uint32_t shared, void **params) const noexcept;
  void exec_destroy(Exec e) const noexcept { (void)hipGraphExecDestroy(e); }
  void graph_destroy(Graph g) const noexcept { (void)hipGraphDestroy(g); }

 private:
  struct Kind {
    enum { kNone, kHost, kDevice, kBoth } kind = kNone;
    int number = -1;
  };
  static void *pointer(uint64_t at) noexcept { return reinterpret_cast<void *>(at); }
  static void **at_of(uint64_t *at) noexcept { return reinterpret_cast<void **>(at); }
  int attribute(hipDeviceAttribute_t, int number) const noexcept;
  Kind kind_of(uint64_t at) const noexcept;
  int copy_box(const streams::Box &, uint64_t dst, uint64_t src, hipMemcpyKind, Stream) const noexcept;

  int major_ = 0;       // of the running version
  bool apart_ = false;  // HIP is in a linker namespace: libraries that use it must be too
#define X(name) decltype(&::name) name = nullptr;
  HIP_FUNCTIONS(X)
  HIP_NEWER_FUNCTIONS(X)
#undef X
#define X(name, type) std::type_identity_t<type> name = nullptr;
  HIP_TYPED_FUNCTIONS(X)
  HIP_NEWER_TYPED_FUNCTIONS(X)
#undef X
};

}  // namespace hip
