#include "cl.hpp"

#include <consort/shared/plain_file.hpp>

#include <dlfcn.h>

#include "../streams/isolated_library.hpp"

namespace opencl {
namespace {

// PoCL's compiler conflicts with HIP's on a shared libLLVM. If HIP's is loaded, OpenCL is opened in a linker namespace. Objects
// created there work in a library of the application too, because OpenCL's loader finds the vendor in each object.
void *open_library(const char *name) noexcept {
  static constinit streams::LibraryNamespace isolated;  // one per process: linker namespaces are never destroyed
  const bool conflict = !streams::is_loaded({"libpocl"}) && streams::uses_shared_llvm({"libamd_comgr"});
  return conflict && streams::LoadedLibraries::begins(name, "libOpenCL.so") ? isolated.open(name) : ::dlopen(consort::shared::LibraryName(name), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

bool Api::open(const char *library, std::string *why) {
  void *handle = open_library(library);
  if (!handle) {
    const char *said = dlerror();
    *why = std::string(library) + " cannot be opened: " + (said ? said : "no reason given");
    return false;
  }
#define X(name)                                                       \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));      \
  if (!name) {                                                        \
    *why = std::string(library) + " lacks " #name " of OpenCL 1.2";   \
    return false;                                                     \
  }
  OPENCL_FUNCTIONS(X)
#undef X
#define X(name) name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));
  OPENCL_NEWER_FUNCTIONS(X)
#undef X
  return true;
}

const char *name(cl_int error) noexcept {
  switch (error) {
#define X(e) case e: return #e;
    X(CL_SUCCESS) X(CL_DEVICE_NOT_FOUND) X(CL_DEVICE_NOT_AVAILABLE) X(CL_COMPILER_NOT_AVAILABLE)
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE) X(CL_OUT_OF_RESOURCES) X(CL_OUT_OF_HOST_MEMORY)
    X(CL_PROFILING_INFO_NOT_AVAILABLE) X(CL_MEM_COPY_OVERLAP) X(CL_BUILD_PROGRAM_FAILURE) X(CL_MAP_FAILURE)
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET) X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) X(CL_INVALID_VALUE)
    X(CL_INVALID_DEVICE) X(CL_INVALID_CONTEXT) X(CL_INVALID_QUEUE_PROPERTIES) X(CL_INVALID_COMMAND_QUEUE)
    X(CL_INVALID_HOST_PTR) X(CL_INVALID_MEM_OBJECT) X(CL_INVALID_BINARY) X(CL_INVALID_BUILD_OPTIONS)
    X(CL_INVALID_PROGRAM) X(CL_INVALID_PROGRAM_EXECUTABLE) X(CL_INVALID_KERNEL_NAME) X(CL_INVALID_KERNEL_DEFINITION)
    X(CL_INVALID_KERNEL) X(CL_INVALID_ARG_INDEX) X(CL_INVALID_ARG_VALUE) X(CL_INVALID_ARG_SIZE)
    X(CL_INVALID_KERNEL_ARGS) X(CL_INVALID_WORK_DIMENSION) X(CL_INVALID_WORK_GROUP_SIZE)
    X(CL_INVALID_WORK_ITEM_SIZE) X(CL_INVALID_GLOBAL_OFFSET) X(CL_INVALID_EVENT_WAIT_LIST) X(CL_INVALID_EVENT)
    X(CL_INVALID_OPERATION) X(CL_INVALID_BUFFER_SIZE) X(CL_INVALID_GLOBAL_WORK_SIZE)
#undef X
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "a vendor-specific error";
  }
}

consort_status status_of(cl_int error) noexcept {
  if (error >= 0) return CONSORT_OK;
  switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE: return CONSORT_E_NOMEM;
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return CONSORT_E_CANCELLED;
    case CL_COMPILER_NOT_AVAILABLE: return CONSORT_E_UNSUPPORTED;
    default: break;
  }
  if (means_lost(error)) return CONSORT_E_DEVICE_LOST;
  return error <= CL_INVALID_VALUE && error > -1000 ? CONSORT_E_INVAL : CONSORT_E_INTERNAL;
}

// -9999: one vendor's error for every call after a kernel with an invalid memory access.
bool means_lost(cl_int error) noexcept { return error == CL_DEVICE_NOT_AVAILABLE || error == -9999; }

}  // namespace opencl
