// ze.hpp — the functions of Level Zero, looked up in a library opened at run time, and the meaning of its errors.
//
// Created by the driver's init(), constant afterwards; any thread. The library is never closed: vendors' code stays mapped
// and may have threads of its own.
#pragma once
#include <consort/driver.h>
#include <level_zero/ze_api.h>

#include <string>

namespace level_zero {

#define LEVEL_ZERO_FUNCTIONS(X)                                                                                          \
  X(zeInit) X(zeDriverGet) X(zeDriverGetProperties) X(zeDeviceGet) X(zeDeviceGetProperties)                              \
  X(zeDeviceGetComputeProperties) X(zeDeviceGetMemoryProperties) X(zeDeviceGetCommandQueueGroupProperties)               \
  X(zeDeviceCanAccessPeer) X(zeDeviceGetGlobalTimestamps) X(zeContextCreate) X(zeContextDestroy)                         \
  X(zeCommandListCreateImmediate) X(zeCommandListDestroy) X(zeCommandListAppendBarrier)                                  \
  X(zeCommandListAppendMemoryCopy) X(zeCommandListAppendMemoryCopyRegion) X(zeCommandListAppendMemoryFill)               \
  X(zeCommandListAppendLaunchKernel) X(zeEventPoolCreate) X(zeEventPoolDestroy) X(zeEventCreate) X(zeEventDestroy)       \
  X(zeEventHostReset) X(zeEventQueryStatus) X(zeEventHostSynchronize) X(zeEventQueryKernelTimestamp)                     \
  X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemAllocShared) X(zeMemFree) X(zeMemGetAllocProperties)                      \
  X(zeMemGetAddressRange) X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleGetKernelNames) X(zeModuleGetNativeBinary)      \
  X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy) X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties)  \
  X(zeKernelSetGroupSize) X(zeKernelSuggestGroupSize) X(zeKernelSetArgumentValue)

#define LEVEL_ZERO_NEWER_FUNCTIONS(X) X(zeDevicePciGetPropertiesExt)  // optional

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  LEVEL_ZERO_FUNCTIONS(X)
  LEVEL_ZERO_NEWER_FUNCTIONS(X)
#undef X
  // false: no such library, or not Level Zero; reason in `why`.
  bool open(const char *library, std::string *why);
};

const char *name(ze_result_t error) noexcept;  // "ZE_RESULT_ERROR_DEVICE_LOST"

// Status for a call that returned `error`. Unknown errors are E_INTERNAL.
consort_status status_of(ze_result_t error) noexcept;
// Whether the error means that the device is lost.
bool means_lost(ze_result_t error) noexcept;

// Query structs carry their type: returns an empty one of the given type.
template <class T>
T typed(ze_structure_type_t what) noexcept {
  T t{};
  t.stype = what;
  return t;
}

}  // namespace level_zero
