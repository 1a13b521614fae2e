#include "ze.hpp"

#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>

namespace level_zero {

bool Api::open(const char *library, std::string *why) {
  void *handle = ::dlopen(consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *said = dlerror();
    *why = std::string(library) + " cannot be opened: " + (said ? said : "no reason given");
    return false;
  }
#define X(name)                                                   \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));  \
  if (!name) {                                                    \
    *why = std::string(library) + " lacks " #name " of Level Zero"; \
    return false;                                                 \
  }
  LEVEL_ZERO_FUNCTIONS(X)
#undef X
#define X(name) name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));
  LEVEL_ZERO_NEWER_FUNCTIONS(X)
#undef X
  return true;
}

const char *name(ze_result_t error) noexcept {
  switch (error) {
#define X(e) case ZE_RESULT_##e: return "ZE_RESULT_" #e;
    X(SUCCESS) X(NOT_READY) X(ERROR_DEVICE_LOST) X(ERROR_OUT_OF_HOST_MEMORY) X(ERROR_OUT_OF_DEVICE_MEMORY)
    X(ERROR_MODULE_BUILD_FAILURE) X(ERROR_MODULE_LINK_FAILURE) X(ERROR_DEVICE_REQUIRES_RESET)
    X(ERROR_DEVICE_IN_LOW_POWER_STATE) X(ERROR_INSUFFICIENT_PERMISSIONS) X(ERROR_NOT_AVAILABLE)
    X(ERROR_DEPENDENCY_UNAVAILABLE) X(ERROR_UNINITIALIZED) X(ERROR_UNSUPPORTED_VERSION) X(ERROR_UNSUPPORTED_FEATURE)
    X(ERROR_INVALID_ARGUMENT) X(ERROR_INVALID_NULL_HANDLE) X(ERROR_HANDLE_OBJECT_IN_USE) X(ERROR_INVALID_NULL_POINTER)
    X(ERROR_INVALID_SIZE) X(ERROR_UNSUPPORTED_SIZE) X(ERROR_UNSUPPORTED_ALIGNMENT)
    X(ERROR_INVALID_SYNCHRONIZATION_OBJECT) X(ERROR_INVALID_ENUMERATION) X(ERROR_UNSUPPORTED_ENUMERATION)
    X(ERROR_INVALID_NATIVE_BINARY) X(ERROR_INVALID_GLOBAL_NAME) X(ERROR_INVALID_KERNEL_NAME)
    X(ERROR_INVALID_FUNCTION_NAME) X(ERROR_INVALID_GROUP_SIZE_DIMENSION) X(ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)
    X(ERROR_INVALID_KERNEL_ARGUMENT_INDEX) X(ERROR_INVALID_KERNEL_ARGUMENT_SIZE)
    X(ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE) X(ERROR_INVALID_MODULE_UNLINKED) X(ERROR_INVALID_COMMAND_LIST_TYPE)
    X(ERROR_OVERLAPPING_REGIONS) X(ERROR_UNKNOWN)
#undef X
    default: return "a vendor-specific error";
  }
}

consort_status status_of(ze_result_t error) noexcept {
  if (means_lost(error)) return CONSORT_E_DEVICE_LOST;
  switch (error) {
    case ZE_RESULT_SUCCESS: return CONSORT_OK;
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE: return CONSORT_E_NOMEM;
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT:
    case ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION:
    case ZE_RESULT_ERROR_UNINITIALIZED:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: return CONSORT_E_UNSUPPORTED;
    default: break;
  }
  return error >= ZE_RESULT_ERROR_INVALID_ARGUMENT && error < ZE_RESULT_ERROR_UNKNOWN ? CONSORT_E_INVAL : CONSORT_E_INTERNAL;
}

bool means_lost(ze_result_t error) noexcept {
  return error == ZE_RESULT_ERROR_DEVICE_LOST || error == ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET;
}

}  // namespace level_zero
