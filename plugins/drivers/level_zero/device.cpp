#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "../streams/settings.hpp"
#include "lane.hpp"

namespace level_zero {

Device::Device(Driver &d, uint32_t i, uint64_t t)
    : Owner(d.host, Driver::kName, d.devices[i].name, t), driver(d), api(d.api), index(i), id(d.devices[i].device),
      properties(typed<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)),
      compute(typed<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES)) {}

Device::~Device() {
  std::erase(driver.open_devices, this);
  for (auto &[at, bytes] : pinned_) api.zeMemFree(context, reinterpret_cast<void *>(at));
  modules_.reset();
  events.reset();
  if (control_) api.zeCommandListDestroy(control_);
}

consort_status Device::wake() noexcept {
  return wake_by(driver.waking, [&] {
    consort_status s = create_context();
    for (size_t i = 0; s >= 0 && i < queues.size(); ++i) s = queues[i]->lane().open_lists();
    return s;
  });
}

// A device that is used by default sleeps then.
consort_status Device::open() {
  ze_result_t e = api.zeDeviceGetProperties(id, &properties);
  if (e == ZE_RESULT_SUCCESS) e = api.zeDeviceGetComputeProperties(id, &compute);
  if (e != ZE_RESULT_SUCCESS) return fail(status_of(e), std::string("cannot query its properties: ") + name(e));
  unified_ = properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
  if (const consort_status s = engines(); s < 0) return s;

  uint32_t n = 0;
  e = api.zeDeviceGetMemoryProperties(id, &n, nullptr);
  std::vector<ze_device_memory_properties_t> memories(n, typed<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES));
  if (e == ZE_RESULT_SUCCESS && n) e = api.zeDeviceGetMemoryProperties(id, &n, memories.data());
  if (e != ZE_RESULT_SUCCESS || n == 0) return fail(e == ZE_RESULT_SUCCESS ? CONSORT_E_UNSUPPORTED : status_of(e), "it has no local memory");
  capacity_ = memories[0].totalSize;  // ordinal 0, used by alloc
  if (driver.settings.limit && driver.settings.limit < capacity_) capacity_ = driver.settings.limit;
  if (driver.by_default) asleep.store(true, std::memory_order_relaxed);
  else if (const consort_status s = create_context(); s < 0) return s;
  events = std::make_unique<Events>(api, context, id);
  modules_ = std::make_unique<Modules>(*this);
  space_name_ = "level_zero" + std::to_string(index) + ":ram";
  arch_ = "level_zero/" + streams::as_key(driver.devices[index].name);
  driver.open_devices.push_back(this);
  return CONSORT_OK;
}

consort_status Device::create_context() {
  ze_result_t e = driver.context_of(driver.devices[index].driver, &context);
  if (e != ZE_RESULT_SUCCESS) return fail(status_of(e), std::string("cannot create a context: ") + name(e));
  auto desc = typed<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = units.ordinal;
  desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  e = api.zeCommandListCreateImmediate(context, id, &desc, &control_);
  if (e != ZE_RESULT_SUCCESS) return fail(status_of(e), std::string("cannot create a command list: ") + name(e));
  return CONSORT_OK;
}

// Kernels use the first group with compute engines; copies the first copy-only group, if there is one.
consort_status Device::engines() {
  uint32_t n = 0;
  ze_result_t e = api.zeDeviceGetCommandQueueGroupProperties(id, &n, nullptr);
  std::vector<ze_command_queue_group_properties_t> groups(
      n, typed<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES));
  if (e == ZE_RESULT_SUCCESS && n) e = api.zeDeviceGetCommandQueueGroupProperties(id, &n, groups.data());
  if (e != ZE_RESULT_SUCCESS) return fail(status_of(e), std::string("cannot query its engines: ") + name(e));
  const auto take = [&](ze_command_queue_group_property_flags_t mask, ze_command_queue_group_property_flags_t want, Engines *out) {
    for (uint32_t i = 0; i < n; ++i) {
      if ((groups[i].flags & mask) != want || !groups[i].numQueues) continue;
      *out = {i, groups[i].numQueues, groups[i].maxMemoryFillPatternSize};
      return true;
    }
    return false;
  };
  constexpr ze_command_queue_group_property_flags_t run = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE, move = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
  if (!take(run, run, &units)) return fail(CONSORT_E_UNSUPPORTED, "it has no compute engine");
  if (driver.settings.copy_engines == 0 || !take(run | move, move, &copies)) copies = units;
  return CONSORT_OK;
}

consort_status Device::space(uint32_t i, consort_space_desc *out) {
  if (i > 0) return CONSORT_E_INVAL;
  space_ = out->id;
  consort_space_desc d = *out;
  d.flags = 0;
  d.numa = -1;
  d.name = space_name_.c_str();
  d.domain = Driver::kName;
  d.domain_key = reinterpret_cast<uint64_t>(this);
  d.capacity = capacity_;
  d.granule = d.align = kGranule;
  streams::answer(out, d);
  return CONSORT_OK;
}

consort_status Device::unit(uint32_t i, consort_unit_desc *out) const {
  if (i >= driver.settings.units) return CONSORT_E_INVAL;
  consort_unit_desc d = *out;
  d.flags = 0;
  d.space = space_;
  d.depth = driver.settings.depth;
  d.numa = -1;
  d.klass = "level_zero";
  d.arch = arch_.c_str();
  d.cpuset = nullptr;
  d.cpuset_words = d.reserved = 0;
  streams::answer(out, d);
  return CONSORT_OK;
}

// These figures apply until the link is measured.
consort_status Device::link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
  for (const consort_space_desc *s : {src, dst})
    if (streams::is_host_memory(s) && s->id < 64) {
      hosts_ |= uint64_t{1} << s->id;
      reached_.fetch_or(uint64_t{1} << s->id, std::memory_order_relaxed);  // no op is in flight yet
    }
  // A device of the same context, with peer access.
  const auto is_peer = [&](const consort_space_desc *s) {
    if (s->id >= 64 || !s->domain || std::strcmp(s->domain, Driver::kName) != 0) return false;
    for (const Device *d : driver.open_devices) {
      if (reinterpret_cast<uint64_t>(d) != s->domain_key || d == this || driver.devices[d->index].driver != driver.devices[index].driver) continue;
      ze_bool_t can = 0;
      return api.zeDeviceCanAccessPeer(id, d->id, &can) == ZE_RESULT_SUCCESS && can;
    }
    return false;
  };
  const bool from = src->id == space_, to = dst->id == space_;
  if (!from && !to) return CONSORT_E_UNSUPPORTED;
  const consort_space_desc *const other = from ? dst : src;
  const bool host = streams::is_host_memory(other), peer = !(from && to) && !host && is_peer(other);
  if (!(from && to) && !host && !peer) return CONSORT_E_UNSUPPORTED;
  if (peer) reached_.fetch_or(uint64_t{1} << other->id, std::memory_order_relaxed);
  consort_link_desc d{};
  d.size = out->size;
  d.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
  d.bytes_per_s = from && to ? (unified_ ? 20'000'000'000 : 200'000'000'000) : peer ? 20'000'000'000 : unified_ ? 15'000'000'000 : 12'000'000'000;
  d.latency_ns = 10'000;
  d.engines = std::clamp(std::min(copies.count, driver.settings.copy_engines), 1u, 8u);
  d.max_run = UINT64_MAX;
  d.min_align = 1;
  d.bounce_space = CONSORT_NONE;
  streams::answer(out, d);
  return CONSORT_OK;
}

// -- memory -----------------------------------------------------------------------------------------------------------

consort_status Device::refuse_memory(const std::string &what, ze_result_t e) {
  if (means_lost(e)) mark_lost_and_report();
  const consort_status s = status_of(e);
  return fail(s, (s == CONSORT_E_NOMEM ? "out of memory: " : "cannot allocate ") + what + ": " + name(e));
}

ze_result_t Device::fill_zero(void *p, uint64_t bytes) noexcept {
  const unsigned char zero = 0;
  return api.zeCommandListAppendMemoryFill(control_, p, &zero, 1, bytes, nullptr, 0, nullptr);
}

consort_status Device::alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  if (const consort_status s = wake(); s < 0) return s;
  const std::string what = std::to_string(bytes) + " bytes";
  if (bytes == 0 || (align & (align - 1)) != 0)
    return fail(CONSORT_E_INVAL, "cannot allocate " + what + " aligned to " + std::to_string(align) +
                                     ": bytes must not be 0, the alignment a power of two");
  const bool pinned = !owns(space);
  if (pinned && !(space < 64 && (hosts_ >> space & 1) && (flags & CONSORT_AL_PINNED)))
    return fail(CONSORT_E_INVAL, "cannot allocate in space " + std::to_string(space) + ": use its own space, or the host's for pinned memory");
  const uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT | (pinned ? uint32_t{CONSORT_AL_PINNED} : 0u);
  if (flags & ~can)
    return fail(CONSORT_E_UNSUPPORTED, pinned ? "pinned memory cannot be exported: omit that flag"
                                              : "device memory cannot be pinned or exported: omit these flags");
  if (align > kLargestAlign)
    return fail(CONSORT_E_UNSUPPORTED, "memory is aligned to at most " + std::to_string(kLargestAlign) + " bytes, not to " + std::to_string(align) + ": request less");
  if (bytes > UINT64_MAX - kGranule) return fail(CONSORT_E_NOMEM, "out of memory: " + what);
  const uint64_t whole = rounded(bytes), at_least = std::max(align, kGranule);
  if (bytes > properties.maxMemAllocSize && properties.maxMemAllocSize)
    return fail(CONSORT_E_NOMEM, "out of memory: " + what + " in one block, " + std::to_string(properties.maxMemAllocSize) +
                                     " at most (maxMemAllocSize): use smaller blocks");
  void *p = nullptr;
  const auto host_desc = typed<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  const auto device_desc = typed<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  if (pinned) {
    const ze_result_t e = api.zeMemAllocHost(context, &host_desc, whole, at_least, &p);
    if (e != ZE_RESULT_SUCCESS) return refuse_memory("pinned memory of " + what, e);
    if (flags & CONSORT_AL_ZERO) std::memset(p, 0, bytes);
    *out = {reinterpret_cast<uint64_t>(p), 0};
    const std::lock_guard lock(memory_);
    pinned_[out->base] = whole;
    return CONSORT_OK;
  }
  {
    const std::lock_guard lock(memory_);
    if (whole > capacity_ - used_)
      return fail(CONSORT_E_NOMEM, "out of memory: " + what + ", " + std::to_string(capacity_ - used_) + " of " +
                                       std::to_string(capacity_) + " are free");
    used_ += whole;
  }
  ze_result_t e = driver.settings.shared ? api.zeMemAllocShared(context, &device_desc, &host_desc, whole, at_least, id, &p)
                                         : api.zeMemAllocDevice(context, &device_desc, whole, at_least, id, &p);
  if (e == ZE_RESULT_SUCCESS && (flags & CONSORT_AL_ZERO)) {
    e = fill_zero(p, whole);
    if (e != ZE_RESULT_SUCCESS) api.zeMemFree(context, p);
  }
  if (e != ZE_RESULT_SUCCESS) {
    {
      const std::lock_guard lock(memory_);
      used_ -= whole;
    }
    return refuse_memory(what, e);
  }
  *out = {reinterpret_cast<uint64_t>(p), 0};
  return CONSORT_OK;
}

void Device::free(uint32_t space, consort_addr addr, uint64_t bytes) {
  {
    const std::lock_guard lock(memory_);
    if (owns(space)) used_ -= rounded(bytes);
    else if (!pinned_.erase(addr.base)) return;
  }
  api.zeMemFree(context, reinterpret_cast<void *>(addr.base));
}

consort_status Device::attach(uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) {
  if (const consort_status s = wake(); s < 0) return s;
  auto *const p = reinterpret_cast<const void *>(addr.base + addr.off);
  auto about = typed<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
  ze_device_handle_t on = nullptr;
  if (!p || api.zeMemGetAllocProperties(context, p, &about, &on) != ZE_RESULT_SUCCESS) about.type = ZE_MEMORY_TYPE_UNKNOWN;
  if (!owns(space)) {
    if (about.type != ZE_MEMORY_TYPE_HOST)
      return fail(CONSORT_E_UNSUPPORTED, "existing memory cannot be pinned or mapped: allocate it pinned "
                                         "(AL_PINNED in the host's space, or zeMemAllocHost() in the native_context of a call)");
  } else if (about.type == ZE_MEMORY_TYPE_UNKNOWN) {
    return fail(CONSORT_E_INVAL, "the address is not memory of this device's context: allocate it there, in the native_context of a "
                                 "call that runs here (consort_run_on_each() reaches every unit)");
  } else if (about.type == ZE_MEMORY_TYPE_HOST || (about.type == ZE_MEMORY_TYPE_DEVICE && on != id)) {
    return fail(CONSORT_E_INVAL, std::string("the memory is ") + (about.type == ZE_MEMORY_TYPE_HOST ? "the host's" : "another device's") +
                                     ": register it in that space");
  }
  void *base = nullptr;
  size_t size = 0;
  if (const ze_result_t e = api.zeMemGetAddressRange(context, p, &base, &size); e != ZE_RESULT_SUCCESS)
    return fail(status_of(e), std::string("cannot query the extent of the memory: ") + name(e));
  const uint64_t off = reinterpret_cast<uint64_t>(p) - reinterpret_cast<uint64_t>(base);
  if (off > size || bytes > size - off)
    return fail(CONSORT_E_INVAL, "the datum takes " + std::to_string(bytes) + " bytes from " + std::to_string(off) +
                                     ", but the memory there has " + std::to_string(size) + ": pass a larger one");
  *local = addr;
  return CONSORT_OK;
}

consort_status Device::load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  if (const consort_status s = wake(); s < 0) return s;
  std::string why;
  const Code *c = nullptr;
  const consort_status s = modules_->load(format ? format : "spirv", text, n, entry ? entry : "", &c, &why);
  if (s < 0) return fail(s, why);
  *code = reinterpret_cast<uint64_t>(c);
  return CONSORT_OK;
}

// -- time -------------------------------------------------------------------------------------------------------------

// Reads both clocks together every now and then, because they drift. A thread that loses its core between the two reads would
// shift all times until the next one: of several pairs the closest counts. The device's clock wraps: only the distance counts,
// modulo the width of a command's timestamps.
uint64_t Device::host_time(uint64_t ticks) noexcept {
  constexpr uint64_t kFresh = 50'000'000, kClose = 5'000;
  constexpr int kReads = 16;
  const std::lock_guard lock(clock_);
  const uint64_t begin = host->now(host);
  if (!seen_host_ || begin - seen_host_ > kFresh) {
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < kReads && closest > kClose; ++i) {
      uint64_t theirs = 0, now = 0;
      const uint64_t before = host->now(host);
      if (api.zeDeviceGetGlobalTimestamps(id, &theirs, &now) != ZE_RESULT_SUCCESS) return 0;
      const uint64_t took = host->now(host) - before;
      if (took >= closest) continue;
      closest = took;
      seen_host_ = before + took / 2;
      seen_ticks_ = now;
    }
  }
  const uint32_t bits = std::min(properties.kernelTimestampValidBits ? properties.kernelTimestampValidBits : 64u,
                                 properties.timestampValidBits ? properties.timestampValidBits : 64u);
  const auto apart = static_cast<int64_t>((ticks - seen_ticks_) << (64 - bits)) >> (64 - bits);
  const double ns = properties.timerResolution ? 1e9 / static_cast<double>(properties.timerResolution) : 1;
  return seen_host_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(apart) * ns));
}

}  // namespace level_zero
