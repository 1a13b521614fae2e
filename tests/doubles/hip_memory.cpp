// Memory of devices and of the host, pools, copies and fills.
#include <cstring>

#include "hip_front.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Pool> pool_of(hipMemPool_t pool) {
  return object(machine().pools, pool, "the memory pool", invalid_value);
}

bool on_device(hipMemcpyKind kind, bool target) {
  return kind == hipMemcpyDeviceToDevice || kind == (target ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost);
}

hipError_t copy(const char *name, const Copy &what, hipMemcpyKind kind, hipStream_t where) {
  return hip(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) {
      fail(invalid_value);
    }
    Copy all = what;
    all.dst_device = on_device(kind, true);
    all.src_device = on_device(kind, false);
    if (all.bytes()) {
      need(address(all.dst));
      need(address(all.src));
    }
    if ((all.height > 1 || all.depth > 1) && (all.src_pitch < all.width || all.dst_pitch < all.width)) {
      machine().violate("a box of bytes is wider than the pitch of the memory that it is in");
      fail(invalid_value);
    }
    transfer(c, stream, all, false);
  });
}

hipError_t fill(const char *name, void *to, unsigned value, unsigned element, size_t count, hipStream_t where) {
  return hip(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    if (number(to) % element) {
      machine().violate("a fill begins at an address that its elements do not go with");
      fail(invalid_value);
    }
    Fill all;
    all.dst = number(to);
    all.value = value;
    all.element = element;
    all.width = count;
    all.pitch = count * element;
    if (count) {
      submit(stream, all);
    }
  });
}

}  // namespace

hipError_t hipMemGetInfo(size_t *available, size_t *total) {
  return hip("hipMemGetInfo", Need::context, [&](Call &c) {
    *need(total) = c.context->device.memory;
    *need(available) = *total - machine().memory.used(c.context->device);
  });
}

hipError_t hipMalloc(void **pointer, size_t size) {
  return hip("hipMalloc", Need::context, [&](Call &c) {
    need(pointer);
    if (size == 0) {
      fail(invalid_value);
    }
    auto block = machine().memory.take(c.context->device, size, nullptr);
    block->context = c.context;
    *pointer = address(block->address);
  });
}

hipError_t hipFree(void *pointer) {
  return hip("hipFree", Need::cleanup, [&](Call &c) {
    if (pointer) {
      give(c, block_at(number(pointer), false, "device memory is freed"), "freed");
    }
  });
}

hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags) {
  return hip("hipHostMalloc", Need::context, [&](Call &c) {
    need(pointer);
    if (size == 0) {
      fail(invalid_value);
    }
    auto block = machine().memory.take_pinned(size);
    block->context = c.context;
    block->device = c.context->device.index;
    block->flags = flags;
    *pointer = address(block->address);
  });
}

hipError_t hipHostFree(void *pointer) {
  return hip("hipHostFree", Need::cleanup, [&](Call &c) {
    auto block = block_at(number(need(pointer)), true, "pinned memory is freed");
    if (block->where != Where::pinned) {
      machine().violate("memory that was registered is freed, where it is to be unregistered");
      fail(invalid_value);
    }
    give(c, block, "freed");
  });
}

hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags) {
  return hip("hipHostRegister", Need::context, [&](Call &c) {
    need(pointer);
    if (size == 0 || machine().device_of(number(pointer))) {
      fail(invalid_value);
    }
    if (!machine().memory.free_range(number(pointer), size)) {
      fail(host_memory_already_registered);
    }
    auto block = machine().memory.take_registered(pointer, size);
    block->context = c.context;
    block->device = c.context->device.index;
    block->flags = flags;
  });
}

hipError_t hipHostUnregister(void *pointer) {
  return hip("hipHostUnregister", Need::cleanup, [&](Call &c) {
    auto block = machine().memory.find(number(need(pointer)));
    if (!block || block->where != Where::registered || block->address != number(pointer)) {
      machine().violate("host memory is unregistered that is not registered");
      fail(host_memory_not_registered);
    }
    give(c, block, "unregistered");
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *to, const void *pointer) {
  return hip("hipPointerGetAttributes", Need::init, [&](Call &) {
    auto block = machine().memory.find(number(pointer));
    if (!block) {
      fail(invalid_value);  // as 5 does, where 6 answers that it is not registered
    }
    std::memset(need(to), 0, sizeof *to);
    const bool device = block->where == Where::device;
    to->memoryType = device ? hipMemoryTypeDevice : hipMemoryTypeHost;
    to->device = block->device;
    to->devicePointer = const_cast<void *>(pointer);
    to->hostPointer = device ? nullptr : const_cast<void *>(pointer);
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer) {
  return hip("hipMemGetAddressRange", Need::context, [&](Call &) {
    auto block = machine().memory.find(number(pointer));
    if (!block) {
      fail(not_found);
    }
    *need(base) = address(block->address);
    *need(size) = block->size;
  });
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *props) {
  return hip("hipMemPoolCreate", Need::context, [&](Call &) {
    need(props);
    if (props->allocType != hipMemAllocationTypePinned || props->location.type != hipMemLocationTypeDevice) {
      fail(invalid_value);
    }
    auto made = std::make_shared<Pool>();
    made->device = device_at(props->location.id).index;
    made->own = true;
    machine().pools.add(made);
    *need(pool) = handle_of<hipMemPool_t>(*made);
  });
}

hipError_t hipMemPoolDestroy(hipMemPool_t handle) {
  return hip("hipMemPoolDestroy", Need::cleanup, [&](Call &) {
    auto pool = pool_of(handle);
    if (pool->used) {
      machine().violate("the pool is destroyed while " + std::to_string(pool->used) + " bytes of it are allocated");
    }
    machine().pools.remove(*pool);
  });
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t handle, hipMemPoolAttr what, void *value) {
  return hip("hipMemPoolSetAttribute", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    if (what != hipMemPoolAttrReleaseThreshold) {
      fail(invalid_value);
    }
    uint64_t word = 0;
    std::memcpy(&word, need(value), sizeof word);
    pool->threshold = word;
  });
}

hipError_t hipMemPoolSetAccess(hipMemPool_t handle, const hipMemAccessDesc *map, size_t count) {
  return hip("hipMemPoolSetAccess", Need::init, [&](Call &) {
    auto pool = pool_of(handle);
    for (size_t i = 0; i < count; ++i) {
      Device &device = device_at(need(map)[i].location.id);
      if (map[i].location.type != hipMemLocationTypeDevice) {
        fail(invalid_value);
      }
      if (device.index != pool->device && !peers(device, device_at(pool->device))) {
        fail(peer_access_unsupported);
      }
      pool->access[device.index] = map[i].flags;
    }
  });
}

hipError_t hipMallocFromPoolAsync(void **pointer, size_t size, hipMemPool_t handle, hipStream_t where) {
  return hip("hipMallocFromPoolAsync", Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    healthy(*stream->context);
    *need(pointer) = address(take_in_order(stream, pool_of(handle), size));
  });
}

hipError_t hipFreeAsync(void *pointer, hipStream_t where) {
  return hip("hipFreeAsync", Need::cleanup,
             [&](Call &c) { give_in_order(c, stream_of(where, c.context, true), number(pointer)); });
}

hipError_t hipMemcpyAsync(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy("hipMemcpyAsync", line(number(dst), number(src), bytes, false, false), kind, stream);
}

hipError_t hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  Copy all;
  all.dst = number(dst);
  all.src = number(src);
  all.width = width;
  all.height = height;
  all.dst_pitch = dst_pitch;
  all.src_pitch = src_pitch;
  all.dst_plane = dst_pitch * height;
  all.src_plane = src_pitch * height;
  return copy("hipMemcpy2DAsync", all, kind, stream);
}

hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *box, hipStream_t stream) {
  if (!box || box->srcArray || box->dstArray) {
    return box ? hipErrorNotSupported : hipErrorInvalidValue;
  }
  auto begin = [](const hipPitchedPtr &p, const hipPos &at) {
    return number(p.ptr) + at.z * p.pitch * p.ysize + at.y * p.pitch + at.x;
  };
  Copy all;
  all.dst = begin(box->dstPtr, box->dstPos);
  all.src = begin(box->srcPtr, box->srcPos);
  all.width = box->extent.width;
  all.height = box->extent.height;
  all.depth = box->extent.depth;
  all.dst_pitch = box->dstPtr.pitch;
  all.src_pitch = box->srcPtr.pitch;
  all.dst_plane = box->dstPtr.pitch * box->dstPtr.ysize;
  all.src_plane = box->srcPtr.pitch * box->srcPtr.ysize;
  return copy("hipMemcpy3DAsync", all, box->kind, stream);
}

hipError_t hipMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes, hipStream_t where) {
  return hip("hipMemcpyPeerAsync", Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    auto check = [](uint64_t at, int device, const char *what) {
      auto block = machine().memory.find(at);
      if (block && block->where == Where::device && block->device != device_at(device).index) {
        machine().violate(std::string(what) + " is on device " + std::to_string(block->device) + ", not on " +
                          std::to_string(device));
        fail(invalid_value);
      }
    };
    check(number(dst), to, "the target of a copy");
    check(number(src), from, "the source of a copy");
    transfer(c, stream, line(number(dst), number(src), bytes, true, true), false);
  });
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream) {
  return fill("hipMemsetD8Async", to, value, 1, count, stream);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return fill("hipMemsetD32Async", to, static_cast<unsigned>(value), 4, count, stream);
}
