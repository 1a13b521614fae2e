// Pools, and allocation in a stream's order.
#include <cstring>

#include "cuda_front.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Pool> pool_of(CUmemoryPool pool) {
  return object(machine().pools, pool, "the memory pool", invalid_value);
}

CUresult allocate(const char *name, CUdeviceptr *pointer, size_t size, CUmemoryPool handle, bool own, CUstream where) {
  return cu(name, Need::context, [&](Call &c) {
    need(pointer);
    auto stream = stream_of(where, c.context, true);
    healthy(*stream->context);
    auto pool = own ? stream->context->device.pool : pool_of(handle);
    *pointer = take_in_order(stream, pool, size);
  });
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
  return cu("cuMemPoolCreate", Need::init, [&](Call &) {
    need(props);
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      fail(invalid_value);
    }
    auto made = std::make_shared<Pool>();
    made->device = device_at(props->location.id).index;
    made->own = true;
    made->most = props->maxSize;
    machine().pools.add(made);
    *need(pool) = handle_of<CUmemoryPool>(*made);
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return cu("cuMemPoolDestroy", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    if (!pool->own) {
      fail(invalid_value);
    }
    if (pool->used) {
      machine().violate("the pool is destroyed while " + std::to_string(pool->used) + " bytes of it are allocated");
    }
    Device &device = device_at(pool->device);
    if (device.pool == pool) {
      device.pool = device.own_pool;
    }
    machine().pools.remove(*pool);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute what, void *value) {
  return cu("cuMemPoolSetAttribute", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    cuuint64_t word = 0;
    if (what <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES && what > 0) {
      std::memcpy(&pool->reuse[what - 1], need(value), sizeof(int));
      return;
    }
    std::memcpy(&word, need(value), sizeof word);
    switch (what) {
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->threshold = word;
        return;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (word == 0) {
          (what == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used_high : pool->reserved_high) = 0;
          return;
        }
        [[fallthrough]];
      default:
        fail(invalid_value);
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute what, void *value) {
  return cu("cuMemPoolGetAttribute", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    cuuint64_t word = 0;
    switch (what) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        std::memcpy(need(value), &pool->reuse[what - 1], sizeof(int));
        return;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        word = pool->threshold;
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        word = pool->reserved;
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        word = pool->reserved_high;
        break;
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        word = pool->used;
        break;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        word = pool->used_high;
        break;
      default:
        fail(invalid_value);
    }
    std::memcpy(need(value), &word, sizeof word);
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return cu("cuMemPoolTrimTo", Need::init, [&](Call &) { trim(*pool_of(pool), keep); });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count) {
  return cu("cuMemPoolSetAccess", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc &one = need(map)[i];
      if (one.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        fail(invalid_value);
      }
      Device &device = device_at(one.location.id);
      if (device.index != pool->device && !peers(device, device_at(pool->device))) {
        fail(peer_access_unsupported);
      }
      if (one.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        if (device.index == pool->device) {
          fail(invalid_value);
        }
        pool->access.erase(device.index);
      } else {
        pool->access[device.index] = one.flags;
      }
    }
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location) {
  return cu("cuMemPoolGetAccess", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    auto at = pool->access.find(device_at(need(location)->id).index);
    *need(flags) = location->id == pool->device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                   : at == pool->access.end()   ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                : static_cast<CUmemAccess_flags>(at->second);
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  return cu("cuDeviceGetDefaultMemPool", Need::init,
            [&](Call &) { *need(pool) = handle_of<CUmemoryPool>(*device_at(device).own_pool); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
  return cu("cuDeviceGetMemPool", Need::init,
            [&](Call &) { *need(pool) = handle_of<CUmemoryPool>(*device_at(device).pool); });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return cu("cuDeviceSetMemPool", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    if (pool->device != device_at(device).index) {
      fail(invalid_value);
    }
    device_at(device).pool = pool;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream) {
  return allocate("cuMemAllocAsync", pointer, size, nullptr, true, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream) {
  return allocate("cuMemAllocFromPoolAsync", pointer, size, pool, false, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream where) {
  return cu("cuMemFreeAsync", Need::cleanup,
            [&](Call &c) { give_in_order(c, stream_of(where, c.context, true), pointer); });
}
