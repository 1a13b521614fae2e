// api.cpp — the functions of Level Zero about drivers, devices, contexts, memory, events; and the double's own.
#include <cstdio>
#include <cstdlib>

#include "call.hpp"
#include "control.h"

using namespace ze_double;

ze_result_t zeInit(ze_init_flags_t) {
  return call("zeInit", [](Machine &m, Lock &) {
    if (m.settings.init == ZE_RESULT_SUCCESS) m.initialised = true;
    return m.settings.init;
  });
}

ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *out) {
  return call("zeDriverGet", [&](Machine &m, Lock &) {
    return list(count, out, 1, [&](uint32_t, ze_driver_handle_t &d) { d = handle_of<ze_driver_handle_t>(*m.driver); });
  });
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t *out) {
  return call("zeDriverGetProperties", [&](Machine &m, Lock &) {
    m.find<Driver>(driver, Kind::driver);
    typed(m, out, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, "zeDriverGetProperties");
    std::memset(&out->uuid, 0x44, sizeof out->uuid);
    out->driverVersion = 1;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t *out) {
  return call("zeDriverGetApiVersion", [&](Machine &m, Lock &) {
    m.find<Driver>(driver, Kind::driver);
    *need(out) = ZE_API_VERSION_1_4;
    return ZE_RESULT_SUCCESS;
  });
}

// -- devices ----------------------------------------------------------------------------------------------------------

ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *out) {
  return call("zeDeviceGet", [&](Machine &m, Lock &) {
    m.find<Driver>(driver, Kind::driver);
    return list(count, out, m.devices.size(), [&](uint32_t i, ze_device_handle_t &d) { d = handle_of<ze_device_handle_t>(*m.devices[i]); });
  });
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *out) {
  return call("zeDeviceGetProperties", [&](Machine &m, Lock &) {
    const auto d = m.find<Device>(device, Kind::device);
    typed(m, out, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "zeDeviceGetProperties", ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
    out->type = static_cast<ze_device_type_t>(m.settings.type);
    out->vendorId = 0x0d0b;
    out->deviceId = 0x1e;
    out->flags = 0;
    out->maxMemAllocSize = m.settings.largest ? m.settings.largest : m.settings.memory;
    out->timerResolution = out->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES ? 80 : 12'500'000;
    out->timestampValidBits = 36;
    out->kernelTimestampValidBits = 32;
    std::memset(&out->uuid, 0x10 + d->index, sizeof out->uuid);
    std::snprintf(out->name, sizeof out->name, "Double of a GPU %d", d->index);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t device, ze_device_compute_properties_t *out) {
  return call("zeDeviceGetComputeProperties", [&](Machine &m, Lock &) {
    m.find<Device>(device, Kind::device);
    typed(m, out, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, "zeDeviceGetComputeProperties");
    out->maxTotalGroupSize = out->maxGroupSizeX = out->maxGroupSizeY = 1024;
    out->maxGroupSizeZ = 64;
    out->maxGroupCountX = out->maxGroupCountY = out->maxGroupCountZ = 0x7fffffff;
    out->maxSharedLocalMemory = 65536;
    out->numSubGroupSizes = 0;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t device, uint32_t *count, ze_device_memory_properties_t *out) {
  return call("zeDeviceGetMemoryProperties", [&](Machine &m, Lock &) {
    m.find<Device>(device, Kind::device);
    return list(count, out, 1, [&](uint32_t, ze_device_memory_properties_t &p) {
      typed(m, &p, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, "zeDeviceGetMemoryProperties")->totalSize = m.settings.memory;
    });
  });
}

ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t device, uint32_t *count, ze_command_queue_group_properties_t *out) {
  return call("zeDeviceGetCommandQueueGroupProperties", [&](Machine &m, Lock &) {
    m.find<Device>(device, Kind::device);
    return list(count, out, m.settings.copy_queues ? 2 : 1, [&](uint32_t i, ze_command_queue_group_properties_t &p) {
      typed(m, &p, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, "zeDeviceGetCommandQueueGroupProperties");
      p.flags = i ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY : ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
      p.maxMemoryFillPatternSize = i ? m.settings.pattern : 128;
      p.numQueues = i ? static_cast<uint32_t>(m.settings.copy_queues) : 4;
    });
  });
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t a, ze_device_handle_t b, ze_bool_t *out) {
  return call("zeDeviceCanAccessPeer", [&](Machine &m, Lock &) {
    *need(out) = m.peers(*m.find<Device>(a, Kind::device), *m.find<Device>(b, Kind::device));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeDeviceGetStatus(ze_device_handle_t device) {
  return call("zeDeviceGetStatus", [&](Machine &m, Lock &) {
    return m.find<Device>(device, Kind::device)->lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host, uint64_t *ours) {
  return call("zeDeviceGetGlobalTimestamps", [&](Machine &m, Lock &) {
    if (m.find<Device>(device, Kind::device)->lost) return ZE_RESULT_ERROR_DEVICE_LOST;
    *need(ours) = Machine::ticks() & ((uint64_t{1} << 36) - 1);
    *need(host) = Machine::ticks() * 80;
    return ZE_RESULT_SUCCESS;
  });
}

// -- contexts ---------------------------------------------------------------------------------------------------------

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc, ze_context_handle_t *out) {
  return call("zeContextCreate", [&](Machine &m, Lock &) {
    m.find<Driver>(driver, Kind::driver);
    typed(m, desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC, "zeContextCreate");
    const auto c = std::make_shared<Context>();
    m.add(c, 0);
    *need(out) = handle_of<ze_context_handle_t>(*c);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeContextDestroy(ze_context_handle_t context) {
  return call("zeContextDestroy", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    for (const auto &[handle, o] : m.objects)
      if (o->context == c->handle) m.violate(std::string("a context is destroyed that still has a ") + name(o->kind));
    for (const auto &[at, b] : m.blocks)
      if (b.context == c->handle) m.violate("a context is destroyed that still has memory: " + std::to_string(b.size) + " bytes");
    m.remove(*c);
    if (m.live() == 0) m.forget_freed();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeContextGetStatus(ze_context_handle_t context) {
  return call("zeContextGetStatus", [&](Machine &m, Lock &) {
    m.find<Context>(context, Kind::context);
    return ZE_RESULT_SUCCESS;
  });
}

// -- memory -----------------------------------------------------------------------------------------------------------

ze_result_t zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, size_t size, size_t align, ze_device_handle_t device, void **out) {
  return call("zeMemAllocDevice", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    typed(m, desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "zeMemAllocDevice");
    *need(out) = reinterpret_cast<void *>(m.take(size, align, ZE_MEMORY_TYPE_DEVICE, c->handle, m.find<Device>(device, Kind::device)));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, const ze_host_mem_alloc_desc_t *host, size_t size,
                             size_t align, ze_device_handle_t device, void **out) {
  return call("zeMemAllocShared", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    typed(m, desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "zeMemAllocShared");
    typed(m, host, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "zeMemAllocShared");
    *need(out) = reinterpret_cast<void *>(m.take(size, align, ZE_MEMORY_TYPE_SHARED, c->handle, device ? m.find<Device>(device, Kind::device) : nullptr));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size, size_t align, void **out) {
  return call("zeMemAllocHost", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    typed(m, desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "zeMemAllocHost");
    *need(out) = reinterpret_cast<void *>(m.take(size, align, ZE_MEMORY_TYPE_HOST, c->handle, nullptr));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeMemFree(ze_context_handle_t context, void *p) {
  return call("zeMemFree", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    const Block *b = m.block_of(reinterpret_cast<uint64_t>(need(p)));
    if (b && b->context != c->handle) m.violate("memory is freed in another context than its own");
    m.give(reinterpret_cast<uint64_t>(p));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t context, const void *p, ze_memory_allocation_properties_t *out, ze_device_handle_t *device) {
  return call("zeMemGetAllocProperties", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    typed(m, out, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, "zeMemGetAllocProperties");
    const Block *b = m.block_of(reinterpret_cast<uint64_t>(need(p)));
    const bool ours = b && b->context == c->handle;
    out->type = ours ? b->type : ZE_MEMORY_TYPE_UNKNOWN;
    out->id = ours ? b->at : 0;
    out->pageSize = 64;
    if (device) *device = ours && b->device ? handle_of<ze_device_handle_t>(*b->device) : nullptr;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t context, const void *p, void **base, size_t *size) {
  return call("zeMemGetAddressRange", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    const Block *b = m.block_of(reinterpret_cast<uint64_t>(need(p)));
    if (!b || b->context != c->handle) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (base) *base = reinterpret_cast<void *>(b->at);
    if (size) *size = b->size;
    return ZE_RESULT_SUCCESS;
  });
}

// -- events -----------------------------------------------------------------------------------------------------------

ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t n, ze_device_handle_t *devices, ze_event_pool_handle_t *out) {
  return call("zeEventPoolCreate", [&](Machine &m, Lock &) {
    const auto c = m.find<Context>(context, Kind::context);
    typed(m, desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, "zeEventPoolCreate");
    if (!desc->count) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
    const auto p = std::make_shared<Pool>();
    p->taken.resize(desc->count);
    p->timed = desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    for (uint32_t i = 0; i < n; ++i) p->devices.push_back(m.find<Device>(devices[i], Kind::device));
    if (!n) p->devices = m.devices;
    m.add(p, c->handle);
    *need(out) = handle_of<ze_event_pool_handle_t>(*p);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) {
  return call("zeEventPoolDestroy", [&](Machine &m, Lock &) {
    const auto p = m.find<Pool>(pool, Kind::pool);
    for (const bool t : p->taken)
      if (t) {
        m.violate("an event pool is destroyed that still has events");
        break;
      }
    m.remove(*p);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *out) {
  return call("zeEventCreate", [&](Machine &m, Lock &) {
    const auto p = m.find<Pool>(pool, Kind::pool);
    typed(m, desc, ZE_STRUCTURE_TYPE_EVENT_DESC, "zeEventCreate");
    if (desc->index >= p->taken.size()) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
    if (p->taken[desc->index]) m.violate("two events at one place of their pool");
    p->taken[desc->index] = true;
    const auto e = std::make_shared<Event>();
    e->pool = p;
    e->index = desc->index;
    m.add(e, p->context);
    *need(out) = handle_of<ze_event_handle_t>(*e);
    return ZE_RESULT_SUCCESS;
  });
}

namespace {
bool lost(const Event &e) {
  for (const auto &d : e.pool->devices)
    if (d->lost) return true;
  return false;
}
}  // namespace

ze_result_t zeEventDestroy(ze_event_handle_t event) {
  return call("zeEventDestroy", [&](Machine &m, Lock &) {
    const auto e = m.find<Event>(event, Kind::event);
    if (e->used && !lost(*e)) m.violate("an event is destroyed that a command has yet to signal or to wait for");
    e->pool->taken[e->index] = false;
    m.remove(*e);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventHostReset(ze_event_handle_t event) {
  return call("zeEventHostReset", [&](Machine &m, Lock &) {
    const auto e = m.find<Event>(event, Kind::event);
    if (e->used) m.violate("an event is reset that a command has yet to signal or to wait for");
    e->signalled = false;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventHostSignal(ze_event_handle_t event) {
  return call("zeEventHostSignal", [&](Machine &m, Lock &) {
    const auto e = m.find<Event>(event, Kind::event);
    e->signalled = true;
    m.changed.notify_all();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeEventQueryStatus(ze_event_handle_t event) {
  return call("zeEventQueryStatus", [&](Machine &m, Lock &) {
    const auto e = m.find<Event>(event, Kind::event);
    return e->signalled ? ZE_RESULT_SUCCESS : lost(*e) ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_NOT_READY;
  });
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t ns) {
  return call("zeEventHostSynchronize", [&](Machine &m, Lock &lock) {
    const auto e = m.find<Event>(event, Kind::event);
    const auto over = [&] { return e->signalled || lost(*e); };
    if (ns == UINT64_MAX) m.changed.wait(lock, over);
    else m.changed.wait_for(lock, std::chrono::nanoseconds(std::min<uint64_t>(ns, 3'600'000'000'000)), over);
    return e->signalled ? ZE_RESULT_SUCCESS : lost(*e) ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_NOT_READY;
  });
}

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *out) {
  return call("zeEventQueryKernelTimestamp", [&](Machine &m, Lock &) {
    const auto e = m.find<Event>(event, Kind::event);
    if (!e->pool->timed) m.violate("times are asked of an event whose pool has none");
    if (!e->signalled) return lost(*e) ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_NOT_READY;
    need(out)->global = out->context = {e->start & UINT32_MAX, e->end & UINT32_MAX};
    return ZE_RESULT_SUCCESS;
  });
}

// -- the double's own -------------------------------------------------------------------------------------------------

const char *ze_double_configure(const char *settings) {
  alignas(64) static thread_local std::string error;  // tests/checks/thread_locals.py
  Machine &m = Machine::get();
  const Lock lock(m.mutex);
  return m.configure(settings, &error) ? nullptr : error.c_str();
}

uint64_t ze_double_violations(char *words, size_t room) {
  Machine &m = Machine::get();
  const Lock lock(m.mutex);
  std::string all;
  for (const std::string &v : m.violations) all += v + "\n";
  if (room) std::snprintf(words, room, "%s", all.c_str());
  return m.violations.size();
}

uint64_t ze_double_live(void) {
  Machine &m = Machine::get();
  const Lock lock(m.mutex);
  return m.live();
}

uint64_t ze_double_commands(void) {
  Machine &m = Machine::get();
  const Lock lock(m.mutex);
  return m.commands;
}
