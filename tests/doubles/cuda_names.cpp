// Names of errors, and addresses of functions by their names.
#include <dlfcn.h>

#include <cctype>
#include <cstring>

#include "cuda_front.hpp"

using namespace gpu;

namespace {

struct Name {
  int code;
  const char *name, *words;
};

#define ERROR(name, words) \
  { CUDA_ERROR_##name, "CUDA_ERROR_" #name, words }
constexpr Name names[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    ERROR(INVALID_VALUE, "invalid argument"),
    ERROR(OUT_OF_MEMORY, "out of memory"),
    ERROR(NOT_INITIALIZED, "initialization error"),
    ERROR(DEINITIALIZED, "driver shutting down"),
    ERROR(STUB_LIBRARY, "the library is a stub"),
    ERROR(DEVICE_UNAVAILABLE, "the device is busy or unavailable"),
    ERROR(NO_DEVICE, "no device is detected"),
    ERROR(INVALID_DEVICE, "invalid device ordinal"),
    ERROR(INVALID_IMAGE, "device kernel image is invalid"),
    ERROR(INVALID_CONTEXT, "invalid device context"),
    ERROR(MAP_FAILED, "mapping of buffer object failed"),
    ERROR(ALREADY_MAPPED, "resource already mapped"),
    ERROR(NOT_MAPPED, "resource not mapped"),
    ERROR(INVALID_GRAPHICS_CONTEXT, "invalid OpenGL context"),
    ERROR(NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    ERROR(ECC_UNCORRECTABLE, "uncorrectable memory error encountered"),
    ERROR(PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    ERROR(INVALID_PTX, "a program's text is invalid"),
    ERROR(NVLINK_UNCORRECTABLE, "uncorrectable link error detected during the execution"),
    ERROR(INVALID_SOURCE, "device kernel source is invalid"),
    ERROR(FILE_NOT_FOUND, "file not found"),
    ERROR(INVALID_HANDLE, "invalid resource handle"),
    ERROR(ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    ERROR(NOT_FOUND, "named symbol not found"),
    ERROR(NOT_READY, "device not ready"),
    ERROR(ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ERROR(LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ERROR(LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ERROR(PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    ERROR(PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    ERROR(PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    ERROR(CONTEXT_IS_DESTROYED, "context is destroyed"),
    ERROR(ASSERT, "device-side assert triggered"),
    ERROR(HOST_MEMORY_ALREADY_REGISTERED, "part or all of the memory is already mapped"),
    ERROR(HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    ERROR(HARDWARE_STACK_ERROR, "hardware stack error"),
    ERROR(ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    ERROR(MISALIGNED_ADDRESS, "misaligned address"),
    ERROR(INVALID_ADDRESS_SPACE, "operation not supported on global or shared address space"),
    ERROR(INVALID_PC, "invalid program counter"),
    ERROR(LAUNCH_FAILED, "unspecified launch failure"),
    ERROR(NOT_PERMITTED, "operation not permitted"),
    ERROR(NOT_SUPPORTED, "operation not supported"),
    ERROR(SYSTEM_NOT_READY, "system not yet initialized"),
    ERROR(STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ERROR(STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    ERROR(STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    ERROR(STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    ERROR(STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    ERROR(STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    ERROR(STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing blocking stream"),
    ERROR(CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    ERROR(STREAM_CAPTURE_WRONG_THREAD, "attempt to terminate a thread-local capture sequence from another thread"),
    ERROR(TIMEOUT, "wait operation timed out"),
    ERROR(UNKNOWN, "unknown error"),
};
#undef ERROR

CUresult find(CUresult error, const char **text, const char *Name::*what) {
  if (!text) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const Name &one : names) {
    if (one.code == static_cast<int>(error)) {
      *text = one.*what;
      return CUDA_SUCCESS;
    }
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char **text) { return find(error, text, &Name::name); }

CUresult cuGetErrorString(CUresult error, const char **text) { return find(error, text, &Name::words); }

// By the name without a version, as the header has it: the newest version that there is.
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult *status) {
  static void *self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void *>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  if (!symbol || !function) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *function = nullptr;
  std::string name = symbol;
  if (name == "cuGraphInstantiate") {
    name = "cuGraphInstantiateWithFlags";
  }
  if (name.starts_with("cu") && name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2])) && self) {
    for (const char *suffix : {"_v4", "_v3", "_v2", ""}) {
      *function = *function ? *function : dlsym(self, (name + suffix).c_str());
    }
  }
  bool old = *function && version < 4000;
  if (status) {
    *status = !*function ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
              : old      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                         : CU_GET_PROC_ADDRESS_SUCCESS;
  }
  if (!*function || old) {
    *function = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}
