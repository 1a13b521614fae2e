// tables.cpp — the functions as the loader looks for them in a driver: with this the double stands under the real
// libze_loader.so.1 (ZE_ENABLE_ALT_DRIVERS names it). The loader answers for functions that a table lacks.
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <cstddef>
#include <cstring>

namespace {
// A table of an older or newer loader has as many slots as its version says; the known ones are in all of 1.x.
template <class T>
bool clear(ze_api_version_t version, T *table) {
  if (!table || ZE_MAJOR_VERSION(version) != 1) return false;
  std::memset(static_cast<void *>(table), 0, sizeof *table);
  return true;
}
}  // namespace

#define EMPTY(prefix, Name, type)                                                                                        \
  extern "C" ZE_DLLEXPORT ze_result_t ZE_APICALL prefix##Get##Name##ProcAddrTable(ze_api_version_t v, type *t) {          \
    return clear(v, t) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_VERSION;                                         \
  }
#define TABLE(Name, type)                                                                                 \
  static void fill(type &t);                                                                              \
  extern "C" ZE_DLLEXPORT ze_result_t ZE_APICALL zeGet##Name##ProcAddrTable(ze_api_version_t v, type *t) { \
    if (!clear(v, t)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;                                         \
    fill(*t);                                                                                             \
    return ZE_RESULT_SUCCESS;                                                                             \
  }                                                                                                       \
  static void fill([[maybe_unused]] type &t)

TABLE(Global, ze_global_dditable_t) { t.pfnInit = zeInit; }
TABLE(Driver, ze_driver_dditable_t) {
  t.pfnGet = zeDriverGet;
  t.pfnGetApiVersion = zeDriverGetApiVersion;
  t.pfnGetProperties = zeDriverGetProperties;
}
TABLE(Device, ze_device_dditable_t) {
  t.pfnGet = zeDeviceGet;
  t.pfnGetProperties = zeDeviceGetProperties;
  t.pfnGetComputeProperties = zeDeviceGetComputeProperties;
  t.pfnGetMemoryProperties = zeDeviceGetMemoryProperties;
  t.pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties;
  t.pfnCanAccessPeer = zeDeviceCanAccessPeer;
  t.pfnGetStatus = zeDeviceGetStatus;
  t.pfnGetGlobalTimestamps = zeDeviceGetGlobalTimestamps;
}
TABLE(Context, ze_context_dditable_t) {
  t.pfnCreate = zeContextCreate;
  t.pfnDestroy = zeContextDestroy;
  t.pfnGetStatus = zeContextGetStatus;
}
TABLE(CommandQueue, ze_command_queue_dditable_t) {}
TABLE(CommandList, ze_command_list_dditable_t) {
  t.pfnCreateImmediate = zeCommandListCreateImmediate;
  t.pfnDestroy = zeCommandListDestroy;
  t.pfnAppendBarrier = zeCommandListAppendBarrier;
  t.pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy;
  t.pfnAppendMemoryCopyRegion = zeCommandListAppendMemoryCopyRegion;
  t.pfnAppendMemoryFill = zeCommandListAppendMemoryFill;
  t.pfnAppendLaunchKernel = zeCommandListAppendLaunchKernel;
}
TABLE(Image, ze_image_dditable_t) {}
TABLE(Fence, ze_fence_dditable_t) {}
TABLE(EventPool, ze_event_pool_dditable_t) {
  t.pfnCreate = zeEventPoolCreate;
  t.pfnDestroy = zeEventPoolDestroy;
}
TABLE(Event, ze_event_dditable_t) {
  t.pfnCreate = zeEventCreate;
  t.pfnDestroy = zeEventDestroy;
  t.pfnHostSignal = zeEventHostSignal;
  t.pfnHostSynchronize = zeEventHostSynchronize;
  t.pfnQueryStatus = zeEventQueryStatus;
  t.pfnHostReset = zeEventHostReset;
  t.pfnQueryKernelTimestamp = zeEventQueryKernelTimestamp;
}
TABLE(Module, ze_module_dditable_t) {
  t.pfnCreate = zeModuleCreate;
  t.pfnDestroy = zeModuleDestroy;
  t.pfnGetNativeBinary = zeModuleGetNativeBinary;
  t.pfnGetKernelNames = zeModuleGetKernelNames;
}
TABLE(ModuleBuildLog, ze_module_build_log_dditable_t) {
  t.pfnDestroy = zeModuleBuildLogDestroy;
  t.pfnGetString = zeModuleBuildLogGetString;
}
TABLE(Kernel, ze_kernel_dditable_t) {
  t.pfnCreate = zeKernelCreate;
  t.pfnDestroy = zeKernelDestroy;
  t.pfnSetGroupSize = zeKernelSetGroupSize;
  t.pfnSuggestGroupSize = zeKernelSuggestGroupSize;
  t.pfnSetArgumentValue = zeKernelSetArgumentValue;
  t.pfnGetProperties = zeKernelGetProperties;
}
TABLE(Sampler, ze_sampler_dditable_t) {}
TABLE(PhysicalMem, ze_physical_mem_dditable_t) {}
TABLE(Mem, ze_mem_dditable_t) {
  t.pfnAllocShared = zeMemAllocShared;
  t.pfnAllocDevice = zeMemAllocDevice;
  t.pfnAllocHost = zeMemAllocHost;
  t.pfnFree = zeMemFree;
  t.pfnGetAllocProperties = zeMemGetAllocProperties;
  t.pfnGetAddressRange = zeMemGetAddressRange;
}
TABLE(VirtualMem, ze_virtual_mem_dditable_t) {}
// Nothing of these is there, but a loader takes a driver without them for none.
EMPTY(ze, DeviceExp, ze_device_exp_dditable_t)
EMPTY(ze, EventExp, ze_event_exp_dditable_t)
EMPTY(ze, ImageExp, ze_image_exp_dditable_t)
EMPTY(ze, KernelExp, ze_kernel_exp_dditable_t)
EMPTY(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t)
EMPTY(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t)
EMPTY(zet, Device, zet_device_dditable_t)
EMPTY(zet, Context, zet_context_dditable_t)
EMPTY(zet, CommandList, zet_command_list_dditable_t)
EMPTY(zet, Module, zet_module_dditable_t)
EMPTY(zet, Kernel, zet_kernel_dditable_t)
EMPTY(zet, MetricGroup, zet_metric_group_dditable_t)
EMPTY(zet, MetricGroupExp, zet_metric_group_exp_dditable_t)
EMPTY(zet, Metric, zet_metric_dditable_t)
EMPTY(zet, MetricStreamer, zet_metric_streamer_dditable_t)
EMPTY(zet, MetricQueryPool, zet_metric_query_pool_dditable_t)
EMPTY(zet, MetricQuery, zet_metric_query_dditable_t)
EMPTY(zet, TracerExp, zet_tracer_exp_dditable_t)
EMPTY(zet, Debug, zet_debug_dditable_t)
EMPTY(zes, Driver, zes_driver_dditable_t)
EMPTY(zes, Device, zes_device_dditable_t)
EMPTY(zes, Scheduler, zes_scheduler_dditable_t)
EMPTY(zes, PerformanceFactor, zes_performance_factor_dditable_t)
EMPTY(zes, Power, zes_power_dditable_t)
EMPTY(zes, Frequency, zes_frequency_dditable_t)
EMPTY(zes, Engine, zes_engine_dditable_t)
EMPTY(zes, Standby, zes_standby_dditable_t)
EMPTY(zes, Firmware, zes_firmware_dditable_t)
EMPTY(zes, Memory, zes_memory_dditable_t)
EMPTY(zes, FabricPort, zes_fabric_port_dditable_t)
EMPTY(zes, Temperature, zes_temperature_dditable_t)
EMPTY(zes, Psu, zes_psu_dditable_t)
EMPTY(zes, Fan, zes_fan_dditable_t)
EMPTY(zes, Led, zes_led_dditable_t)
EMPTY(zes, Ras, zes_ras_dditable_t)
EMPTY(zes, Diagnostics, zes_diagnostics_dditable_t)
