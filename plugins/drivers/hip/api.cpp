#include "api.hpp"

#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <new>

#include "library.hpp"

namespace hip {

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

bool Api::open(const char *library, std::string *why) {
  static constexpr const char *known[] = {"libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"};
  const bool search = std::strcmp(library, "auto") == 0;
  void *handle = nullptr;
  if (!search) {
    handle = open_library(library);
  } else {
    for (const char *name : known)  // an already loaded one first
      if ((handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))) {
        dlclose(handle);
        handle = open_library(library = name);
        break;
      }
    for (size_t i = 0; !handle && i < sizeof known / sizeof *known; ++i) handle = open_library(library = known[i]);
  }
  if (!handle) {
    const char *said = dlerror();
    if (search) *why = "HIP is not installed: no libamdhip64.so, .so.5, .so.6 can be opened; install it or set its path in hip.library";
    else *why = std::string(library) + " cannot be opened: " + (said ? said : "no reason given");
    return false;
  }
  void *here = ::dlopen(consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  apart_ = here != handle;
  if (here) dlclose(here);
#define X(name)                                                                                  \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, TEXT(name)));                            \
  if (!name) {                                                                                   \
    *why = std::string(library) + " lacks " TEXT(name) ": install a newer ROCm";                 \
    return false;                                                                                \
  }
#define Y(name, type) X(name)
  HIP_FUNCTIONS(X)
  HIP_TYPED_FUNCTIONS(Y)
#undef X
#define X(name) name = reinterpret_cast<decltype(name)>(dlsym(handle, TEXT(name)));
  HIP_NEWER_FUNCTIONS(X)
  HIP_NEWER_TYPED_FUNCTIONS(Y)
#undef X
#undef Y
  return true;
}

int Api::init(int *devices) noexcept {
  int version = 0;
  if (hipRuntimeGetVersion(&version) == hipSuccess) major_ = version / 10'000'000;
  const hipError_t e = hipInit(0);
  if (e == hipErrorInvalidDevice) return hipErrorNoDevice;  // 5.2's error without a device
  return e ? e : hipGetDeviceCount(devices);
}

// -- errors -----------------------------------------------------------------------------------------------------------

consort_status Api::status_of(int error) noexcept {
  switch (error) {
    case hipSuccess: return CONSORT_OK;
    case hipErrorOutOfMemory:
    case hipErrorLaunchOutOfResources: return CONSORT_E_NOMEM;
    case hipErrorNotSupported:
    case hipErrorNoBinaryForGpu: return CONSORT_E_UNSUPPORTED;
    case hipErrorInvalidValue:
    case hipErrorInvalidConfiguration:
    case hipErrorInvalidDevicePointer:
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
    case hipErrorInvalidSource:
    case hipErrorInvalidHandle:
    case hipErrorNotFound: return CONSORT_E_INVAL;
    default: return means_lost(error) ? CONSORT_E_DEVICE_LOST : CONSORT_E_IO;
  }
}

// After these errors the device's contents are lost for this process.
bool Api::means_lost(int error) noexcept {
  switch (error) {
    case hipErrorDeinitialized:
    case hipErrorPriorLaunchFailure:
    case hipErrorECCNotCorrectable:
    case hipErrorIllegalAddress:
    case hipErrorLaunchTimeOut:
    case hipErrorContextIsDestroyed:
    case hipErrorAssert:
    case hipErrorLaunchFailure:
    case hipErrorUnknown: return true;
    default: return false;
  }
}

std::string Api::why_none(int error) {
  switch (error) {
    case hipSuccess:
    case hipErrorNoDevice:
      return "the driver reports none; HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES may hide them, or this user may not open /dev/kfd";
    case hipErrorInsufficientDriver: return "the system's driver is older than the library";
    default: return "the driver does not start";
  }
}

std::string Api::words(int error) const {
  const auto e = static_cast<hipError_t>(error);
  const char *name = hipGetErrorName(e), *text = hipGetErrorString(e);
  if (!name) return "error " + std::to_string(error);
  return text && std::strcmp(name, text) != 0 ? std::string(name) + ", " + text : name;
}

const char *Api::format_of(const std::string &path) {
  const auto ends = [&](const char *end) {
    const size_t n = std::strlen(end);
    return path.size() >= n && path.compare(path.size() - n, n, end) == 0;
  };
  return ends(".hsaco") || ends(".co") ? "hsaco" : kSource;
}

// -- devices ----------------------------------------------------------------------------------------------------------

int Api::attribute(hipDeviceAttribute_t what, int number) const noexcept {
  int v = 0;
  return hipDeviceGetAttribute(&v, what, number) ? 0 : v;
}

std::string Api::device_name(int number) const {
  char text[256] = "";
  if (hipDeviceGetName(text, sizeof text, number) || !*text) return "device " + std::to_string(number);
  text[sizeof text - 1] = 0;
  return text;
}

// Some devices have no unique identifier: all devices of a kind report the same one.
std::string Api::key(int number) const {
  hipUUID id;
  std::string key = bus_id(number);
  if (hipDeviceGetUuid && !hipDeviceGetUuid(&id, number)) key.append(id.bytes, sizeof id.bytes);
  return key.empty() ? std::to_string(number) : key;
}

std::string Api::bus_id(int number) const {
  char text[64] = "";
  return hipDeviceGetPCIBusId(text, sizeof text, number) ? "" : text;
}

// HIP 6 changed the record's layout and the function's symbol; the header pairs the two. Later versions of one layout may append
// fields.
struct Properties {
  hipDeviceProp_t known;
  char more[4096];
};

int Api::total_memory(int number, uint64_t *bytes) const noexcept {
  Properties p;
  std::memset(&p, 0, sizeof p);
  const hipError_t e = hipGetDeviceProperties(&p.known, number);
  *bytes = p.known.totalGlobalMem;
  return e;
}

std::string Api::arch(int number) const {
  Properties p;
  std::memset(&p, 0, sizeof p);
  if (hipGetDeviceProperties(&p.known, number)) return "";
  p.known.gcnArchName[sizeof p.known.gcnArchName - 1] = 0;
  return p.known.gcnArchName;
}

// A thread has one current device: the previous one is restored by leave().
int Api::enter(Handle number, Before *before) const noexcept {
  *before = -1;
  int now = -1;
  if (const hipError_t e = hipGetDevice(&now)) return e;
  if (now == number) return 0;
  if (const hipError_t e = hipSetDevice(number)) return e;
  *before = now;
  return 0;
}

bool Api::can_access_peer(int from, int to) const noexcept {
  int can = 0;
  return !hipDeviceCanAccessPeer(&can, from, to) && can;
}
int Api::enable_peer(int, int to, Handle) const noexcept {
  const hipError_t e = hipDeviceEnablePeerAccess(to, 0);
  return e == hipErrorPeerAccessAlreadyEnabled ? hipSuccess : e;
}

int Api::greatest_priority() const noexcept {
  int least = 0, greatest = 0;
  return hipDeviceGetStreamPriorityRange(&least, &greatest) ? 0 : greatest;
}

// The callback is called on errors too, so that a sleeping thread always wakes. (Some versions declare hipLaunchHostFunc
// without having it.)
int Api::callback(Stream s, void (*fn)(void *), void *user) const noexcept {
  struct Call {
    void (*fn)(void *);
    void *user;
  };
  auto *call = new (std::nothrow) Call{fn, user};
  if (!call) return hipErrorOutOfMemory;
  const hipError_t e = hipStreamAddCallback(s, [](hipStream_t, hipError_t, void *p) {
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
  const hipError_t e = hipMemGetInfo(&f, &a);
  *free = f, *all = a;
  return e;
}

// The pool caches freed memory: an allocation on the device itself stalls all its work.
int Api::pool_create(Pool *out, int number, uint64_t most) const noexcept {
  if (!hipMemPoolCreate || !hipMemPoolDestroy || !hipMemPoolSetAttribute || !hipMemPoolSetAccess || !hipMallocFromPoolAsync ||
      !hipFreeAsync)
    return hipErrorNotSupported;
  if (!attribute(hipDeviceAttributeMemoryPoolsSupported, number)) return hipErrorNotSupported;
  hipMemPoolProps props;
  std::memset(&props, 0, sizeof props);
  props.allocType = hipMemAllocationTypePinned;
  props.location.type = hipMemLocationTypeDevice;
  props.location.id = number;
  if (const hipError_t e = hipMemPoolCreate(out, &props)) return e;
  uint64_t keep = most;
  const hipError_t e = hipMemPoolSetAttribute(*out, hipMemPoolAttrReleaseThreshold, &keep);
  if (e) (void)hipMemPoolDestroy(*out);
  return e;
}

int Api::pool_share(Pool p, int with) const noexcept {
  hipMemAccessDesc access;
  std::memset(&access, 0, sizeof access);
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = with;
  access.flags = hipMemAccessFlagsProtReadWrite;
  return hipMemPoolSetAccess(p, &access, 1);
}

// HIP 6 renumbered the memory kinds, and returns 0 for unknown memory, which HIP 5 refuses. The kind is the record's first
// member under either name.
Api::Kind Api::kind_of(uint64_t at) const noexcept {
  hipPointerAttribute_t a;
  std::memset(&a, 0, sizeof a);
  Kind k;
  if (hipPointerGetAttributes(&a, pointer(at))) return k;
  int type = 0;
  std::memcpy(&type, &a, sizeof type);
  if (major_ < 6) ++type;
  k.kind = a.isManaged || type == 3 || type == 4 ? Kind::kBoth : type == 1 ? Kind::kHost : type == 2 ? Kind::kDevice : Kind::kNone;
  k.number = a.device;
  return k;
}

Api::Place Api::place(uint64_t at) const noexcept {
  Place p;
  const Kind k = kind_of(at);
  p.pinned = k.kind == Kind::kHost;
  if (k.kind != Kind::kDevice) return p;
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  p.device = hipMemGetAddressRange(&base, &size, pointer(at)) == hipSuccess;
  p.number = k.number;
  p.base = reinterpret_cast<uint64_t>(base), p.size = size;
  return p;
}

// Does not use HIP_MEMCPY3D, whose members became larger with HIP 6.
int Api::copy_box(const streams::Box &b, uint64_t dst, uint64_t src, hipMemcpyKind kind, Stream s) const noexcept {
  if (b.slices <= 1) return hipMemcpy2DAsync(pointer(dst), b.dst_pitch[0], pointer(src), b.src_pitch[0], b.run, b.rows, kind, s);
  hipMemcpy3DParms c;
  std::memset(&c, 0, sizeof c);
  c.srcPtr = {pointer(src), b.src_pitch[0], b.run, b.src_pitch[1] / b.src_pitch[0]};
  c.dstPtr = {pointer(dst), b.dst_pitch[0], b.run, b.dst_pitch[1] / b.dst_pitch[0]};
  c.extent = {b.run, b.rows, b.slices};
  c.kind = kind;
  return hipMemcpy3DAsync(&c, s);
}

int Api::copy(const streams::Box &b, uint64_t dst, bool to_device, uint64_t src, bool from_device, Stream s) const noexcept {
  const hipMemcpyKind kind = to_device ? from_device ? hipMemcpyDeviceToDevice : hipMemcpyHostToDevice : hipMemcpyDeviceToHost;
  return b.rows == 1 ? hipMemcpyAsync(pointer(dst), pointer(src), b.run, kind, s) : copy_box(b, dst, src, kind, s);
}

// Boxes between devices are copies within one address space: a link exists only with peer access.
int Api::copy_across(const streams::Box &b, uint64_t dst, int to, Handle, uint64_t src, int from, Handle, Stream s) const noexcept {
  if (b.rows == 1) return hipMemcpyPeerAsync(pointer(dst), to, pointer(src), from, b.run, s);
  return copy_box(b, dst, src, hipMemcpyDeviceToDevice, s);
}

// -- kernels ----------------------------------------------------------------------------------------------------------

int Api::module_load(Module *m, const std::string &image, std::string *) const {
  auto made = std::make_unique<Loaded>();
  if (const hipError_t e = hipModuleLoadDataEx(&made->native, image.c_str(), 0, nullptr, nullptr)) return e;
  made->kernels = kernels_of(image);
  *m = made.release();
  return 0;
}

void Api::module_unload(Module m) const noexcept {
  (void)hipModuleUnload(m->native);
  delete m;
}

std::vector<std::string> Api::functions(Module m) const {
  std::vector<std::string> names;
  for (const Kernel &k : m->kernels) names.push_back(k.name);
  return names;
}

int Api::function(Function *f, Module m, const char *name) const noexcept {
  *f = {};
  for (const Kernel &k : m->kernels)
    if (k.name == name) f->kernel = &k;
  return hipModuleGetFunction(&f->native, m->native, name);
}

bool Api::parameters(Function f, std::vector<uint64_t> *sizes) const {
  if (!f.kernel || !f.kernel->knows_params) return false;
  *sizes = f.kernel->params;
  return true;
}

uint64_t Api::largest_block(Function f) const noexcept {
  int n = 0;
  return hipFuncGetAttribute(&n, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f.native) || n < 0 ? 0 : static_cast<uint64_t>(n);
}

// A launch may use all of a device's shared memory without a preceding call.
int Api::allow_shared(Function, uint32_t bytes) const noexcept {
  int now = 0;
  if (const hipError_t e = hipGetDevice(&now)) return e;
  const int most = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock, now);
  return most > 0 && bytes > static_cast<uint32_t>(most) ? hipErrorInvalidValue : hipSuccess;
}

// -- graphs -----------------------------------------------------------------------------------------------------------

bool Api::has_graphs() const noexcept {
  return hipStreamBeginCapture && hipStreamEndCapture && hipGraphInstantiateWithFlags && hipGraphLaunch &&
         hipGraphExecDestroy && hipGraphDestroy;
}

// Ops captured in one stream form a chain: the next op depends only on the returned node.
hipGraphNode_t Api::captured_last(Stream s) const noexcept {
  hipStreamCaptureStatus status;
  const hipGraphNode_t *last = nullptr;
  size_t n = 0;
  if (!hipStreamGetCaptureInfo_v2 || hipStreamGetCaptureInfo_v2(s, &status, nullptr, nullptr, &last, &n)) return nullptr;
  return status == hipStreamCaptureStatusActive && n == 1 ? last[0] : nullptr;
}

// A function of a module is named by its handle; only the program's own functions are named by address.
int Api::change_launch(Exec e, Node n, Function f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
                       void **params) const noexcept {
  if (!hipGraphExecKernelNodeSetParams) return hipErrorNotSupported;
  hipKernelNodeParams p;
  std::memset(static_cast<void *>(&p), 0, sizeof p);
  p.func = f.native;
  p.gridDim = {grid[0], grid[1], grid[2]};
  p.blockDim = {block[0], block[1], block[2]};
  p.sharedMemBytes = shared;
  p.kernelParams = params;
  return hipGraphExecKernelNodeSetParams(e, n, &p);
}

}  // namespace hip
