// api.hpp — the CUDA driver's functions, looked up in a library opened at run time, under the names used by ../gpu. All
// return 0 or the driver's error.
//
// Created by the driver's init(), constant afterwards; any thread. The library is never closed: it may have threads of its own.
#pragma once
#include <consort/driver.h>
#include <cuda.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../gpu/known_library.hpp"
#include "../streams/copy_shapes.hpp"
#include "compiler.hpp"

namespace cuda {

// Names as in cuda.h; the symbol that the header maps them to (cuMemAlloc_v2) is looked up.
#define CUDA_FUNCTIONS(X)                                                                                                 \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuDeviceGet)                 \
  X(cuDeviceGetName) X(cuDeviceTotalMem) X(cuDeviceGetAttribute) X(cuDeviceGetPCIBusId) X(cuDeviceGetUuid) X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetStreamPriorityRange)                        \
  X(cuCtxEnablePeerAccess) X(cuDeviceCanAccessPeer) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc)            \
  X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuPointerGetAttributes) X(cuMemGetAddressRange)            \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpyPeerAsync) X(cuMemcpy2DAsync)                    \
  X(cuMemcpy3DAsync) X(cuMemcpy3DPeerAsync) X(cuMemsetD8Async) X(cuMemsetD32Async) X(cuStreamCreateWithPriority)            \
  X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuStreamAddCallback) X(cuEventCreate) X(cuEventDestroy)  \
  X(cuEventRecord) X(cuEventQuery) X(cuEventElapsedTime) X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)     \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuLaunchKernel)
// Optional: not in every driver.
#define CUDA_NEWER_FUNCTIONS(X)                                                                                            \
  X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolSetAttribute) X(cuMemPoolSetAccess) X(cuMemAllocFromPoolAsync)          \
  X(cuMemFreeAsync) X(cuModuleGetFunctionCount) X(cuModuleEnumerateFunctions) X(cuFuncGetName) X(cuFuncGetParamInfo)      \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphExecDestroy)      \
  X(cuGraphDestroy) X(cuGraphExecKernelNodeSetParams)
// The header maps these names to another symbol in each major version; drivers have all of them.
#define CUDA_TYPED_FUNCTIONS(X)  \
  X(cuStreamGetCaptureInfo_v2, CUresult (*)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **, size_t *))

class Api {
 public:
  static constexpr const char *kName = "cuda", *kProcessor = "sm", *kSource = "cuda";
  static constexpr const char *kFormats = "\"cuda\", \"ptx\", \"cubin\", \"fatbin\" and \"file\"";
  static constexpr int kNotReady = CUDA_ERROR_NOT_READY;
  static constexpr int64_t kLongestPitch = 0x7fffffff;
  using Handle = CUcontext;
  using Before = int;  // enter() pushes, leave() pops
  using Stream = CUstream;
  using Event = CUevent;
  using Module = CUmodule;
  using Function = CUfunction;
  using Pool = CUmemoryPool;
  using Graph = CUgraph;
  using Exec = CUgraphExec;
  using Node = CUgraphNode;
  using Compiler = cuda::Compiler;
  struct Place {  // properties of an address
    bool device = false, pinned = false;
    int number = -1;
    uint64_t base = 0, size = 0;
  };

  static const gpu::KnownLibrary kLibraries[3];

  bool open(const char *library, std::string *why);  // false: no such library, or too old; reason in `why`
  void *open_beside(const char *library, bool there) const noexcept;  // opens another library of the vendor; there: only if already loaded
  int init(int *devices) noexcept;

  static consort_status status_of(int error) noexcept;
  static bool means_lost(int error) noexcept;  // the context is unusable
  static std::string why_none(int error);
  std::string words(int error) const;
  static bool is_image(const std::string &format) { return format == "ptx" || format == "cubin" || format == "fatbin"; }
  static const char *format_of(const std::string &path);

  std::string device_name(int number) const;
  int total_memory(int number, uint64_t *bytes) const noexcept;  // without a context
  std::string key(int number) const;
  std::string bus_id(int number) const;
  std::string arch(int number) const;  // "sm_90"
  int processors(int number) const noexcept { return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, number); }
  bool integrated(int number) const noexcept { return attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, number); }

  int retain(int number, Handle *out) const noexcept;
  void release(int number, Handle) const noexcept;
  int enter(Handle c, Before *) const noexcept { return cuCtxPushCurrent(c); }
  void leave(Before) const noexcept {
    CUcontext popped;
    cuCtxPopCurrent(&popped);
  }
  static void *native_context(Handle c) noexcept { return c; }
  bool can_access_peer(int from, int to) const noexcept;
  int enable_peer(int from, int to, Handle other) const noexcept;

  int memory(uint64_t *free, uint64_t *all) const noexcept;
  int pool_create(Pool *, int number, uint64_t most) const noexcept;
  void pool_destroy(Pool p) const noexcept { cuMemPoolDestroy(p); }
  int pool_share(Pool, int with) const noexcept;
  int pool_alloc(uint64_t *at, uint64_t n, Pool p, Stream s) const noexcept { return cuMemAllocFromPoolAsync(at_of(at), n, p, s); }
  int pool_free(uint64_t at, Stream s) const noexcept { return cuMemFreeAsync(at, s); }
  int alloc(uint64_t *at, uint64_t n) const noexcept { return cuMemAlloc(at_of(at), n); }
  int free(uint64_t at) const noexcept { return cuMemFree(at); }
  int host_alloc(uint64_t *at, uint64_t n) const noexcept {
    return cuMemHostAlloc(reinterpret_cast<void **>(at), n, CU_MEMHOSTALLOC_PORTABLE);
  }
  int host_free(uint64_t at) const noexcept { return cuMemFreeHost(reinterpret_cast<void *>(at)); }
  int host_register(uint64_t at, uint64_t n) const noexcept {
    return cuMemHostRegister(reinterpret_cast<void *>(at), n, CU_MEMHOSTREGISTER_PORTABLE);
  }
  int host_unregister(uint64_t at) const noexcept { return cuMemHostUnregister(reinterpret_cast<void *>(at)); }
  Place place(uint64_t at) const noexcept;
  bool is_pinned(uint64_t at) const noexcept;

  // The bool says whether the address is on the device or the host.
  int copy(const streams::Box &, uint64_t dst, bool to_device, uint64_t src, bool from_device, Stream) const noexcept;
  int copy_across(const streams::Box &, uint64_t dst, int to, Handle there, uint64_t src, int from, Handle here, Stream) const noexcept;
  int fill(uint64_t at, uint32_t value, uint32_t width, uint64_t n, Stream s) const noexcept {
    return width == 4 ? cuMemsetD32Async(at, value, n, s) : cuMemsetD8Async(at, static_cast<unsigned char>(value), n, s);
  }

  int greatest_priority() const noexcept;
  int stream_create(Stream *s, int priority) const noexcept { return cuStreamCreateWithPriority(s, CU_STREAM_NON_BLOCKING, priority); }
  void stream_destroy(Stream s) const noexcept { cuStreamDestroy(s); }
  int stream_sync(Stream s) const noexcept { return cuStreamSynchronize(s); }
  int stream_wait(Stream s, Event e) const noexcept { return cuStreamWaitEvent(s, e, 0); }
  int callback(Stream s, void (*fn)(void *), void *user) const noexcept;
  int event_create(Event *e, bool timed) const noexcept { return cuEventCreate(e, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING); }
  void event_destroy(Event e) const noexcept { cuEventDestroy(e); }
  int event_record(Event e, Stream s) const noexcept { return cuEventRecord(e, s); }
  int event_query(Event e) const noexcept { return cuEventQuery(e); }
  int elapsed(float *ms, Event from, Event to) const noexcept { return cuEventElapsedTime(ms, from, to); }

  int module_load(Module *, const std::string &image, std::string *log) const;
  void module_unload(Module m) const noexcept { cuModuleUnload(m); }
  std::vector<std::string> functions(Module) const;
  int function(Function *f, Module m, const char *name) const noexcept { return cuModuleGetFunction(f, m, name); }
  bool parameters(Function, std::vector<uint64_t> *sizes) const;
  uint64_t largest_block(Function) const noexcept;
  int allow_shared(Function f, uint32_t bytes) const noexcept {
    return cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  }
  int launch(Function f, const uint32_t *grid, const uint32_t *block, uint32_t shared, Stream s, void **params) const noexcept {
    return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, s, params, nullptr);
  }

  bool has_graphs() const noexcept;
  int capture_begin(Stream s) const noexcept { return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED); }
  int capture_end(Stream s, Graph *g) const noexcept { return cuStreamEndCapture(s, g); }
  Node captured_last(Stream) const noexcept;  // null: none, or not reported by the library
  int instantiate(Exec *e, Graph g) const noexcept { return cuGraphInstantiateWithFlags(e, g, 0); }
  int graph_launch(Exec e, Stream s) const noexcept { return cuGraphLaunch(e, s); }
  int change_launch(Exec, Node, Function, const uint32_t *grid, const uint32_t *block, uint32_t shared, void **params) const noexcept;
  void exec_destroy(Exec e) const noexcept { cuGraphExecDestroy(e); }
  void graph_destroy(Graph g) const noexcept { cuGraphDestroy(g); }

 private:
  static CUdeviceptr *at_of(uint64_t *at) noexcept { return reinterpret_cast<CUdeviceptr *>(at); }
  int attribute(CUdevice_attribute, int number) const noexcept;

#define X(name) decltype(&::name) name = nullptr;
  CUDA_FUNCTIONS(X)
  CUDA_NEWER_FUNCTIONS(X)
#undef X
#define X(name, ...) std::type_identity_t<__VA_ARGS__> name = nullptr;
  CUDA_TYPED_FUNCTIONS(X)
#undef X
};

}  // namespace cuda
