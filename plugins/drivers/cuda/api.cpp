#include "api.hpp"

#include <consort/shared/plain_file.hpp>

#include <dlfcn.h>

#include <cstring>
#include <new>

namespace cuda {

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

bool Api::open(const char *library, std::string *why) {
  void *handle = ::dlopen(consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *said = dlerror();
    *why = std::string(library) + " cannot be opened: " + (said ? said : "no reason given");
    return false;
  }
#define X(name)                                                                                  \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, TEXT(name)));                            \
  if (!name) {                                                                                   \
    *why = std::string(library) + " lacks " TEXT(name) ": install a newer driver";               \
    return false;                                                                                \
  }
  CUDA_FUNCTIONS(X)
#undef X
#define X(name) name = reinterpret_cast<decltype(name)>(dlsym(handle, TEXT(name)));
  CUDA_NEWER_FUNCTIONS(X)
#undef X
#define X(name, ...) name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));
  CUDA_TYPED_FUNCTIONS(X)
#undef X
  return true;
}

int Api::init(int *devices) noexcept {
  const CUresult e = cuInit(0);
  return e ? e : cuDeviceGetCount(devices);
}

// -- errors -----------------------------------------------------------------------------------------------------------

consort_status Api::status_of(int error) noexcept {
  switch (error) {
    case CUDA_SUCCESS: return CONSORT_OK;
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return CONSORT_E_NOMEM;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return CONSORT_E_UNSUPPORTED;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_INVALID_HANDLE: return CONSORT_E_INVAL;
    default: return means_lost(error) ? CONSORT_E_DEVICE_LOST : CONSORT_E_IO;
  }
}

// After these errors a context returns the same error to every call: its contents are lost for this process.
bool Api::means_lost(int error) noexcept {
  switch (error) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

std::string Api::why_none(int error) {
  switch (error) {
    case CUDA_ERROR_STUB_LIBRARY: return "the library is the toolkit's stub: install the driver itself";
    case CUDA_SUCCESS:
    case CUDA_ERROR_NO_DEVICE: return "the driver reports none; CUDA_VISIBLE_DEVICES may hide them";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: return "the library and the system's driver are of different versions";
    default: return "the driver does not start";
  }
}

std::string Api::words(int error) const {
  const char *name = nullptr, *text = nullptr;
  const auto e = static_cast<CUresult>(error);
  if (cuGetErrorName(e, &name) || !name) return "error " + std::to_string(error);
  if (cuGetErrorString(e, &text) || !text) return name;
  return std::string(name) + ", " + text;
}

const char *Api::format_of(const std::string &path) {
  const auto ends = [&](const char *end) {
    const size_t n = std::strlen(end);
    return path.size() >= n && path.compare(path.size() - n, n, end) == 0;
  };
  return ends(".ptx") ? "ptx" : ends(".cubin") ? "cubin" : ends(".fatbin") ? "fatbin" : kSource;
}

// -- devices ----------------------------------------------------------------------------------------------------------

int Api::attribute(CUdevice_attribute what, int number) const noexcept {
  int v = 0;
  CUdevice d;
  return cuDeviceGet(&d, number) || cuDeviceGetAttribute(&v, what, d) ? 0 : v;
}

std::string Api::device_name(int number) const {
  char text[256] = "";
  CUdevice d;
  if (cuDeviceGet(&d, number) || cuDeviceGetName(text, sizeof text, d)) return "device " + std::to_string(number);
  text[sizeof text - 1] = 0;
  return text;
}

int Api::total_memory(int number, uint64_t *bytes) const noexcept {
  CUdevice d;
  size_t n = 0;
  CUresult e = cuDeviceGet(&d, number);
  if (!e) e = cuDeviceTotalMem(&n, d);
  *bytes = n;
  return e;
}

std::string Api::key(int number) const {
  CUdevice d;
  CUuuid id;
  if (cuDeviceGet(&d, number) || cuDeviceGetUuid(&id, d)) return std::to_string(number);
  return std::string(id.bytes, sizeof id.bytes);
}

std::string Api::bus_id(int number) const {
  char text[64] = "";
  CUdevice d;
  return cuDeviceGet(&d, number) || cuDeviceGetPCIBusId(text, sizeof text, d) ? "" : text;
}

std::string Api::arch(int number) const {
  return "sm_" + std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, number)) +
         std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, number));
}

// The primary context, which the CUDA runtime and other libraries of the process use.
int Api::retain(int number, Handle *out) const noexcept {
  CUdevice d;
  const CUresult e = cuDeviceGet(&d, number);
  return e ? e : cuDevicePrimaryCtxRetain(out, d);
}
void Api::release(int number, Handle) const noexcept {
  CUdevice d;
  if (!cuDeviceGet(&d, number)) cuDevicePrimaryCtxRelease(d);
}

bool Api::can_access_peer(int from, int to) const noexcept {
  int can = 0;
  CUdevice a, b;
  return !cuDeviceGet(&a, from) && !cuDeviceGet(&b, to) && !cuDeviceCanAccessPeer(&can, a, b) && can;
}
int Api::enable_peer(int, int, Handle other) const noexcept {
  const CUresult e = cuCtxEnablePeerAccess(other, 0);
  return e == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS : e;
}

int Api::greatest_priority() const noexcept {
  int least = 0, greatest = 0;
  return cuCtxGetStreamPriorityRange(&least, &greatest) ? 0 : greatest;
}

// The callback is called on errors too, so that a sleeping thread always wakes.
int Api::callback(Stream s, void (*fn)(void *), void *user) const noexcept {
  struct Call {
    void (*fn)(void *);
    void *user;
  };
  auto *call = new (std::nothrow) Call{fn, user};
  if (!call) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult e = cuStreamAddCallback(s, [](CUstream, CUresult, void *p) {
    const Call c = *static_cast<Call *>(p);
    delete static_cast<Call *>(p);
    c.fn(c.user);
  }, call, 0);
  if (e) delete call;
  return e;
}

// -- memory -----------------------------------------------------------------------------------------------------------

int Api::memory(uint64_t *free, uint64_t *all) const noexcept {
  size_t f = 0, a = 0;
  const CUresult e = cuMemGetInfo(&f, &a);
  *free = f, *all = a;
  return e;
}

// The pool caches freed memory: an allocation on the device itself stalls all its work.
int Api::pool_create(Pool *out, int number, uint64_t most) const noexcept {
  if (!cuMemPoolCreate || !cuMemPoolDestroy || !cuMemPoolSetAttribute || !cuMemPoolSetAccess || !cuMemAllocFromPoolAsync || !cuMemFreeAsync)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, number)) return CUDA_ERROR_NOT_SUPPORTED;
  CUdevice d;
  if (const CUresult e = cuDeviceGet(&d, number)) return e;
  CUmemPoolProps props;
  std::memset(&props, 0, sizeof props);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = d;
  if (const CUresult e = cuMemPoolCreate(out, &props)) return e;
  cuuint64_t keep = most;
  const CUresult e = cuMemPoolSetAttribute(*out, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
  if (e) cuMemPoolDestroy(*out);
  return e;
}

int Api::pool_share(Pool p, int with) const noexcept {
  CUdevice d;
  if (const CUresult e = cuDeviceGet(&d, with)) return e;
  CUmemAccessDesc access;
  std::memset(&access, 0, sizeof access);
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = d;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemPoolSetAccess(p, &access, 1);
}

Api::Place Api::place(uint64_t at) const noexcept {
  Place p;
  unsigned int type = 0;
  int ordinal = -1;
  CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *out[] = {&type, &ordinal};
  if (cuPointerGetAttributes(2, what, out, at)) return p;
  p.pinned = type == CU_MEMORYTYPE_HOST;
  if (type != CU_MEMORYTYPE_DEVICE) return p;
  CUdeviceptr base = 0;
  size_t size = 0;
  p.device = cuMemGetAddressRange(&base, &size, at) == CUDA_SUCCESS;
  p.number = ordinal;
  p.base = base, p.size = size;
  return p;
}

bool Api::is_pinned(uint64_t at) const noexcept {
  unsigned int type = 0;
  CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void *out[] = {&type};
  return !cuPointerGetAttributes(1, what, out, at) && type != 0;
}

namespace {

// Describes one side of a box: its pitch, and rows per slice.
template <class Side>
void set_heights(Side &c, const streams::Box &b) {
  c.WidthInBytes = b.run;
  c.Height = b.rows;
  c.Depth = b.slices;
  c.srcPitch = b.src_pitch[0];
  c.dstPitch = b.dst_pitch[0];
  c.srcHeight = b.slices > 1 ? b.src_pitch[1] / b.src_pitch[0] : b.rows;
  c.dstHeight = b.slices > 1 ? b.dst_pitch[1] / b.dst_pitch[0] : b.rows;
}

}  // namespace

int Api::copy(const streams::Box &b, uint64_t dst, bool to_device, uint64_t src, bool from_device, Stream s) const noexcept {
  if (b.rows == 1) {
    if (to_device && from_device) return cuMemcpyDtoDAsync(dst, src, b.run, s);
    if (to_device) return cuMemcpyHtoDAsync(dst, reinterpret_cast<const void *>(src), b.run, s);
    return cuMemcpyDtoHAsync(reinterpret_cast<void *>(dst), src, b.run, s);
  }
  CUDA_MEMCPY3D c;
  std::memset(&c, 0, sizeof c);
  c.srcMemoryType = from_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  c.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (from_device) c.srcDevice = src;
  else c.srcHost = reinterpret_cast<const void *>(src);
  if (to_device) c.dstDevice = dst;
  else c.dstHost = reinterpret_cast<void *>(dst);
  set_heights(c, b);
  return cuMemcpy3DAsync(&c, s);
}

int Api::copy_across(const streams::Box &b, uint64_t dst, int, Handle there, uint64_t src, int, Handle here, Stream s) const noexcept {
  if (b.rows == 1) return cuMemcpyPeerAsync(dst, there, src, here, b.run, s);
  CUDA_MEMCPY3D_PEER c;
  std::memset(&c, 0, sizeof c);
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = src, c.srcContext = here;
  c.dstDevice = dst, c.dstContext = there;
  set_heights(c, b);
  return cuMemcpy3DPeerAsync(&c, s);
}

// -- kernels ----------------------------------------------------------------------------------------------------------

int Api::module_load(Module *m, const std::string &image, std::string *log) const {
  char said[4096] = "";
  CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {said, reinterpret_cast<void *>(sizeof said)};
  const CUresult e = cuModuleLoadDataEx(m, image.c_str(), 2, keys, values);
  said[sizeof said - 1] = 0;
  *log = said;
  return e;
}

std::vector<std::string> Api::functions(Module m) const {
  std::vector<std::string> names;
  unsigned int n = 0;
  if (!cuModuleGetFunctionCount || !cuModuleEnumerateFunctions || !cuFuncGetName || cuModuleGetFunctionCount(&n, m)) return names;
  std::vector<CUfunction> all(n);
  if (n && cuModuleEnumerateFunctions(all.data(), n, m)) return names;
  for (CUfunction f : all) {
    const char *name = nullptr;
    if (!cuFuncGetName(&name, f) && name) names.emplace_back(name);
  }
  return names;
}

bool Api::parameters(Function f, std::vector<uint64_t> *sizes) const {
  if (!cuFuncGetParamInfo) return false;
  for (size_t i = 0;; ++i) {
    size_t offset = 0, size = 0;
    const CUresult e = cuFuncGetParamInfo(f, i, &offset, &size);
    if (e == CUDA_SUCCESS) sizes->push_back(size);
    else return e == CUDA_ERROR_INVALID_VALUE;  // no such parameter
  }
}

uint64_t Api::largest_block(Function f) const noexcept {
  int n = 0;
  return cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f) ? 0 : static_cast<uint64_t>(n);
}

// -- graphs -----------------------------------------------------------------------------------------------------------

bool Api::has_graphs() const noexcept {
  return cuStreamBeginCapture && cuStreamEndCapture && cuGraphInstantiateWithFlags && cuGraphLaunch && cuGraphExecDestroy &&
         cuGraphDestroy;
}

// Ops captured in one stream form a chain: the next op depends only on the returned node.
CUgraphNode Api::captured_last(Stream s) const noexcept {
  CUstreamCaptureStatus status;
  const CUgraphNode *last = nullptr;
  size_t n = 0;
  if (!cuStreamGetCaptureInfo_v2 || cuStreamGetCaptureInfo_v2(s, &status, nullptr, nullptr, &last, &n)) return nullptr;
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && n == 1 ? last[0] : nullptr;
}

int Api::change_launch(Exec e, Node n, Function f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
                       void **params) const noexcept {
  if (!cuGraphExecKernelNodeSetParams) return CUDA_ERROR_NOT_SUPPORTED;
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = f;
  p.gridDimX = grid[0], p.gridDimY = grid[1], p.gridDimZ = grid[2];
  p.blockDimX = block[0], p.blockDimY = block[1], p.blockDimZ = block[2];
  p.sharedMemBytes = shared;
  p.kernelParams = params;
  return cuGraphExecKernelNodeSetParams(e, n, &p);
}

}  // namespace cuda
