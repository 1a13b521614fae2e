// The library itself and its devices.
#include <cstdio>
#include <cstring>

#include "cuda_front.hpp"

using namespace gpu;

const char *const gpu::visible_variable = "CUDA_VISIBLE_DEVICES";

namespace {

constexpr int driver_version = CUDA_VERSION;

int attribute(const Device &device, CUdevice_attribute what) {
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return device.sms;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return 0x10 + device.number;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 1000000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 4096;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 32 << 20;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
    case CU_DEVICE_ATTRIBUTE_NUMA_ID:
      return -1;
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
      return CU_MEM_HANDLE_TYPE_NONE;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      return 1;
    default:
      return 0;  // compute mode, integrated, managed memory, cooperative launch and other absent features
  }
}

}  // namespace

CUresult cuInit(unsigned flags) {
  return cu("cuInit", Need::nothing, [&](Call &) {
    if (flags) {
      fail(invalid_value);
    }
    initialise();
  });
}

CUresult cuDriverGetVersion(int *version) {
  return cu("cuDriverGetVersion", Need::nothing, [&](Call &) { *need(version) = driver_version; });
}

CUresult cuDeviceGetCount(int *count) {
  return cu("cuDeviceGetCount", Need::init, [&](Call &) { *need(count) = static_cast<int>(machine().devices.size()); });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return cu("cuDeviceGet", Need::init, [&](Call &) { *need(device) = device_at(ordinal).index; });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return cu("cuDeviceGetName", Need::init, [&](Call &) {
    std::snprintf(need(name), length > 0 ? static_cast<size_t>(length) : 0, "Consort double %d", device_at(device).number);
  });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
  return cu("cuDeviceGetAttribute", Need::init, [&](Call &) {
    if (what <= 0 || what >= CU_DEVICE_ATTRIBUTE_MAX) {
      fail(invalid_value);
    }
    *need(value) = attribute(device_at(device), what);
  });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return cu("cuDeviceTotalMem", Need::init, [&](Call &) { *need(bytes) = device_at(device).memory; });
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  return cu("cuDeviceGetUuid", Need::init, [&](Call &) {
    std::memcpy(need(uuid)->bytes, "consort double..", 16);
    uuid->bytes[15] = static_cast<char>(device_at(device).number);
  });
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  return cu("cuDeviceGetPCIBusId", Need::init, [&](Call &) {
    std::snprintf(need(id), length > 0 ? static_cast<size_t>(length) : 0, "0000:%02X:00.0",
                  0x10 + device_at(device).number);
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
  return cu("cuDeviceGetByPCIBusId", Need::init, [&](Call &) {
    unsigned domain, bus;
    if (std::sscanf(need(id), "%x:%x:", &domain, &bus) != 2 || domain || bus < 0x10) {
      fail(invalid_value);
    }
    for (const auto &one : machine().devices) {
      if (one->number == static_cast<int>(bus) - 0x10) {
        *need(device) = one->index;
        return;
      }
    }
    fail(invalid_device);
  });
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice from, CUdevice to) {
  return cu("cuDeviceCanAccessPeer", Need::init, [&](Call &) { *need(can) = peers(device_at(from), device_at(to)); });
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute what, CUdevice from, CUdevice to) {
  return cu("cuDeviceGetP2PAttribute", Need::init, [&](Call &) {
    bool can = peers(device_at(from), device_at(to));
    if (from == to) {
      fail(invalid_device);
    }
    *need(value) =
        what == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || what == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
            ? can
            : 0;
  });
}
