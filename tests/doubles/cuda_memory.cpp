// Memory of devices and of the host, and attributes of pointers.
#include <cstring>

#include "cuda_front.hpp"

using namespace gpu;

namespace {

CUresult allocate(const char *name, CUdeviceptr *pointer, size_t size) {
  return cu(name, Need::context, [&](Call &c) {
    need(pointer);
    refuse_capturing();
    if (size == 0) {
      fail(invalid_value);
    }
    auto block = machine().memory.take(c.context->device, size, nullptr);
    block->context = c.context;
    *pointer = block->address;
  });
}

CUresult allocate_host(const char *name, void **pointer, size_t size, unsigned flags) {
  return cu(name, Need::context, [&](Call &c) {
    need(pointer);
    if (size == 0 || flags > 7) {
      fail(invalid_value);
    }
    auto block = machine().memory.take_pinned(size);
    block->context = c.context;
    block->device = c.context->device.index;
    block->flags = flags;
    *pointer = address(block->address);
  });
}

template <class T>
void put(void *to, const T &value) {
  std::memcpy(to, &value, sizeof value);
}

// False where there is no answer for such a pointer.
bool tell(CUpointer_attribute what, uint64_t at, const Block *block, const Call &c, void *to) {
  bool device = block && block->where == Where::device;
  if (!block) {
    switch (what) {
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        put(to, 0u);
        return true;
      case CU_POINTER_ATTRIBUTE_MAPPED:
        put(to, false);
        return true;
      default:
        return false;
    }
  }
  switch (what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      put(to, handle_of<CUcontext>(*block->context));
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put(to, unsigned{device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST});
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put(to, CUdeviceptr{at});
      return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(to, device ? nullptr : address(at));
      return !device;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put(to, 0u);
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      put(to, static_cast<unsigned long long>(block->id));
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put(to, block->device);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      put(to, CUdeviceptr{block->address});
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      put(to, block->size);
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put(to, true);
      return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      put(to, unsigned{!device || (c.context && c.context->device.index == block->device)
                           ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                           : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE});
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      put(to, block->pool ? handle_of<CUmemoryPool>(*block->pool) : nullptr);
      return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      put(to, 0ull);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      put(to, device && !block->pool);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      put(to, false);
      return true;
    default:
      return false;
  }
}

size_t size_of(CUpointer_attribute what) {
  switch (what) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return 4;
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return 1;
    default:
      return 8;
  }
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) { return allocate("cuMemAlloc", pointer, size); }

CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element) {
  if (!pitch || (element != 4 && element != 8 && element != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pitch = (width + 511) / 512 * 512;
  return allocate("cuMemAllocPitch", pointer, *pitch * height);
}

CUresult cuMemAllocManaged(CUdeviceptr *, size_t, unsigned) {
  return cu("cuMemAllocManaged", Need::context, [](Call &) { fail(not_supported); });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return cu("cuMemFree", Need::cleanup, [&](Call &c) {
    if (pointer) {
      if (!c.after) {
        refuse_capturing();
      }
      auto block = block_at(pointer, false, "device memory is freed");
      if (block->lent) {
        machine().violate("device memory is freed that is a mapped graphics resource: unmap that");
        fail(invalid_value);
      }
      give(c, block, "freed");
    }
  });
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  return cu("cuMemGetInfo", Need::context, [&](Call &c) {
    *need(total) = c.context->device.memory;
    *need(available) = *total - machine().memory.used(c.context->device);
  });
}

CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned flags) {
  return allocate_host("cuMemHostAlloc", pointer, size, flags);
}

CUresult cuMemAllocHost_v2(void **pointer, size_t size) { return allocate_host("cuMemAllocHost", pointer, size, 0); }

CUresult cuMemFreeHost(void *pointer) {
  return cu("cuMemFreeHost", Need::cleanup, [&](Call &c) {
    auto block = block_at(reinterpret_cast<uint64_t>(need(pointer)), true, "pinned memory is freed");
    if (block->where != Where::pinned) {
      machine().violate("memory that was registered is freed, where it is to be unregistered");
      fail(invalid_value);
    }
    give(c, block, "freed");
  });
}

CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
  return cu("cuMemHostGetFlags", Need::context, [&](Call &) {
    auto block = machine().memory.find(reinterpret_cast<uint64_t>(pointer));
    if (!block || block->where == Where::device) {
      fail(invalid_value);
    }
    *need(flags) = block->flags;
  });
}

CUresult cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags) {
  return cu("cuMemHostRegister", Need::context, [&](Call &c) {
    need(pointer);
    if (size == 0 || (flags & ~15u) || machine().device_of(reinterpret_cast<uint64_t>(pointer))) {
      fail(invalid_value);
    }
    if (!machine().memory.free_range(reinterpret_cast<uint64_t>(pointer), size)) {
      fail(host_memory_already_registered);
    }
    auto block = machine().memory.take_registered(pointer, size);
    block->context = c.context;
    block->device = c.context->device.index;
    block->flags = flags;
  });
}

CUresult cuMemHostUnregister(void *pointer) {
  return cu("cuMemHostUnregister", Need::cleanup, [&](Call &c) {
    auto block = machine().memory.find(reinterpret_cast<uint64_t>(need(pointer)));
    if (!block || block->where != Where::registered || block->address != reinterpret_cast<uint64_t>(pointer)) {
      machine().violate("host memory is unregistered that is not registered");
      fail(host_memory_not_registered);
    }
    give(c, block, "unregistered");
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned flags) {
  return cu("cuMemHostGetDevicePointer", Need::context, [&](Call &) {
    auto block = machine().memory.find(reinterpret_cast<uint64_t>(pointer));
    if (flags || !block || block->where == Where::device) {
      fail(invalid_value);
    }
    *need(device) = reinterpret_cast<uint64_t>(pointer);
  });
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute what, CUdeviceptr pointer) {
  return cu("cuPointerGetAttribute", Need::init, [&](Call &c) {
    auto block = machine().memory.find(pointer);
    if (!tell(what, pointer, block.get(), c, need(data))) {
      fail(invalid_value);
    }
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *what, void **data, CUdeviceptr pointer) {
  return cu("cuPointerGetAttributes", Need::init, [&](Call &c) {
    auto block = machine().memory.find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (!tell(need(what)[i], pointer, block.get(), c, need(need(data)[i]))) {
        std::memset(data[i], 0, size_of(what[i]));
      }
    }
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
  return cu("cuMemGetAddressRange", Need::context, [&](Call &) {
    auto block = machine().memory.find(pointer);
    if (!block) {
      fail(not_found);
    }
    if (base) {
      *base = block->address;
    }
    if (size) {
      *size = block->size;
    }
  });
}
