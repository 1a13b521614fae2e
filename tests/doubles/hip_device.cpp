// The library itself, its devices, and which one a thread is on.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "graph.hpp"
#include "hip_front.hpp"

using namespace gpu;

const char *const gpu::visible_variable = "HIP_VISIBLE_DEVICES";

namespace {

constexpr int runtime_version = 50221153;  // 5.2, the version of this header

// How many calls are on a device just now; guarded by the machine's lock.
std::map<int, int> &visitors() {
  static auto *all = new std::map<int, int>;
  return *all;
}

// Whether the device has objects that the application must destroy. Objects on a lost device go with it.
bool used(const Context &context) {
  Machine &m = machine();
  auto here = [&](const auto &entry) { return entry.second->context.get() == &context; };
  return std::any_of(m.streams.all.begin(), m.streams.all.end(),
                     [&](const auto &entry) { return here(entry) && !entry.second->hidden; }) ||
         std::any_of(m.events.all.begin(), m.events.all.end(), here) ||
         std::any_of(m.modules.all.begin(), m.modules.all.end(), here) ||
         std::any_of(m.graphs.all.begin(), m.graphs.all.end(), here) ||
         std::any_of(m.execs.all.begin(), m.execs.all.end(), here) ||
         std::any_of(m.library_handles.all.begin(), m.library_handles.all.end(), here) ||
         std::any_of(m.pools.all.begin(), m.pools.all.end(),
                     [&](const auto &entry) {
                       return entry.second->own && entry.second->device == context.device.index;
                     }) ||
         std::any_of(m.memory.blocks.begin(), m.memory.blocks.end(), [&](const auto &entry) {
           const Block &block = *entry.second;
           return block.context.get() == &context && !block.going &&
                  !(context.error && block.where == Where::device);
         });
}

// Frees that are in a stream still.
bool under_way(const Context &context) {
  const auto &blocks = machine().memory.blocks;
  return !context.error && std::any_of(blocks.begin(), blocks.end(), [&](const auto &entry) {
    return entry.second->context.get() == &context && entry.second->going;
  });
}

struct Name {
  int code;
  const char *name, *words;
};

#define ERROR(name, words) \
  { name, #name, words }
constexpr Name names[] = {
    ERROR(hipSuccess, "no error"),
    ERROR(hipErrorInvalidValue, "invalid argument"),
    ERROR(hipErrorOutOfMemory, "out of memory"),
    ERROR(hipErrorNotInitialized, "initialization error"),
    ERROR(hipErrorNoDevice, "no device is detected"),
    ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
    ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
    ERROR(hipErrorInvalidContext, "invalid device context"),
    ERROR(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ERROR(hipErrorECCNotCorrectable, "uncorrectable memory error encountered"),
    ERROR(hipErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ERROR(hipErrorInvalidHandle, "invalid resource handle"),
    ERROR(hipErrorNotFound, "named symbol not found"),
    ERROR(hipErrorNotReady, "device not ready"),
    ERROR(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ERROR(hipErrorContextIsDestroyed, "context is destroyed"),
    ERROR(hipErrorHostMemoryAlreadyRegistered, "part or all of the memory is already mapped"),
    ERROR(hipErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
    ERROR(hipErrorNotSupported, "operation not supported"),
    ERROR(hipErrorUnknown, "unknown error"),
};
#undef ERROR

const Name &name_of(hipError_t error) {
  for (const Name &name : names) {
    if (name.code == error) {
      return name;
    }
  }
  static constexpr Name other{-1, "hipErrorUnknown", "an error without words"};
  return other;
}

int attribute(const Device &device, hipDeviceAttribute_t what) {
  switch (what) {
    case hipDeviceAttributeMultiprocessorCount:
      return device.sms;
    case hipDeviceAttributeMaxThreadsPerBlock:
      return 1024;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return 64 << 10;
    case hipDeviceAttributeWarpSize:
      return 64;
    case hipDeviceAttributeMaxPitch:
      return 2147483647;
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeCanMapHostMemory:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

int &gpu::device_of_thread() {
  thread_local int device = 0;
  return device;
}

Visit::Visit(Need what) noexcept {
  if (what != Need::context && what != Need::cleanup) {
    return;
  }
  Machine &m = machine();
  Lock lock(m.mutex);
  if (!m.initialised || in_callback()) {
    return;  // the called function reports it
  }
  try {
    Device &at = device_at(device_of_thread());
    if (!at.primary) {
      retain_primary(at);
    }
    stack() = {at.primary};
    device = &at;
    ++visitors()[at.index];
  } catch (Failure failure) {
    code = failure.code;
  }
}

Visit::~Visit() {
  if (!device) {
    return;
  }
  Lock lock(machine().mutex);
  stack().clear();
  int &here = visitors()[device->index];
  while (here == 1 && device->primary && !used(*device->primary) && under_way(*device->primary)) {
    machine().changed.wait(lock);
  }
  if (here == 1 && device->primary && !used(*device->primary)) {
    release_primary(lock, *device);
  }
  --here;
}

hipError_t hipInit(unsigned flags) {
  return hip("hipInit", Need::nothing, [&](Call &) {
    if (flags) {
      fail(invalid_value);
    }
    initialise();
  });
}

hipError_t hipRuntimeGetVersion(int *version) {
  return hip("hipRuntimeGetVersion", Need::nothing, [&](Call &) { *need(version) = runtime_version; });
}

const char *hipGetErrorName(hipError_t error) { return name_of(error).name; }

const char *hipGetErrorString(hipError_t error) { return name_of(error).words; }

hipError_t hipGetDeviceCount(int *count) {
  return hip("hipGetDeviceCount", Need::init,
             [&](Call &) { *need(count) = static_cast<int>(machine().devices.size()); });
}

hipError_t hipGetDevice(int *device) {
  return hip("hipGetDevice", Need::init, [&](Call &) { *need(device) = device_of_thread(); });
}

hipError_t hipSetDevice(int device) {
  return hip("hipSetDevice", Need::init, [&](Call &) { device_of_thread() = device_at(device).index; });
}

hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device) {
  return hip("hipDeviceGetName", Need::init, [&](Call &) {
    std::snprintf(need(name), length > 0 ? static_cast<size_t>(length) : 0, "Consort double %d", device_at(device).number);
  });
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t what, int device) {
  return hip("hipDeviceGetAttribute", Need::init, [&](Call &) {
    *need(value) = attribute(device_at(device), what);
  });
}

hipError_t hipDeviceGetPCIBusId(char *id, int length, int device) {
  return hip("hipDeviceGetPCIBusId", Need::init, [&](Call &) {
    std::snprintf(need(id), length > 0 ? static_cast<size_t>(length) : 0, "0000:%02X:00.0",
                  0x10 + device_at(device).number);
  });
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device) {
  return hip("hipDeviceGetUuid", Need::init, [&](Call &) {
    device_at(device);
    std::memcpy(need(uuid)->bytes, "all are the same", 16);
  });
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  return hip("hipGetDeviceProperties", Need::init, [&](Call &) {
    std::memset(need(properties), 0, sizeof *properties);
    properties->totalGlobalMem = device_at(device).memory;
    std::snprintf(properties->name, sizeof properties->name, "Consort double %d", device_at(device).number);
    std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "gfx906:sramecc+:xnack-");
  });
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return hip("hipDeviceGetStreamPriorityRange", Need::context, [&](Call &) {
    *need(least) = 0;
    *need(greatest) = -1;
  });
}

hipError_t hipDeviceCanAccessPeer(int *can, int from, int to) {
  return hip("hipDeviceCanAccessPeer", Need::init,
             [&](Call &) { *need(can) = peers(device_at(from), device_at(to)); });
}

hipError_t hipDeviceEnablePeerAccess(int to, unsigned flags) {
  return hip("hipDeviceEnablePeerAccess", Need::context, [&](Call &c) {
    if (flags || to == c.context->device.index) {
      fail(invalid_value);
    }
    if (!peers(c.context->device, device_at(to))) {
      fail(peer_access_unsupported);
    }
    if (!c.context->peers.insert(to).second) {
      fail(peer_access_already_enabled);
    }
  });
}
