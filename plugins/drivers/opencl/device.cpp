#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "../streams/settings.hpp"
#include "lane.hpp"

namespace opencl {

Device::Device(Driver &d, uint32_t i, uint64_t t)
    : Owner(d.host, Driver::kName, d.devices[i].name, t), driver(d), api(d.api), index(i), id(d.devices[i].device) {}

Device::~Device() {
  for (auto &[at, p] : pinned_) api.clReleaseMemObject(p.mem);
  programs_.reset();
  if (control_) api.clReleaseCommandQueue(control_);
  if (context) api.clReleaseContext(context);
}

consort_status Device::create_context() {
  const Found &found = driver.devices[index];
  const cl_context_properties of[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int e = CL_SUCCESS;
  context = api.clCreateContext(of, 1, &id, nullptr, nullptr, &e);
  if (e != CL_SUCCESS) return fail(status_of(e), std::string("cannot create a context: ") + name(e));
  control_ = api.clCreateCommandQueue(context, id, 0, &e);
  if (e != CL_SUCCESS) return fail(status_of(e), std::string("cannot create a command queue: ") + name(e));
  return CONSORT_OK;
}

consort_status Device::wake() noexcept {
  return wake_by(driver.waking, [&] {
    consort_status s = create_context();
    for (size_t i = 0; s >= 0 && i < queues.size(); ++i) s = queues[i]->lane().open_queue();
    return s;
  });
}

// A device that is used by default sleeps then.
consort_status Device::open() {
  if (driver.by_default) asleep.store(true, std::memory_order_relaxed);
  else if (const consort_status s = create_context(); s < 0) return s;
  const auto number = [&](cl_uint what) { return value_of<cl_ulong>(api.clGetDeviceInfo, id, what); };
  const uint64_t all = number(CL_DEVICE_GLOBAL_MEM_SIZE), limit = driver.settings.limit;
  capacity_ = limit && limit < all ? limit : all;
  largest_ = number(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  base_align = value_of<cl_uint>(api.clGetDeviceInfo, id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  if (base_align < 64 || (base_align & (base_align - 1))) base_align = 128;
  unified_ = value_of<cl_bool>(api.clGetDeviceInfo, id, CL_DEVICE_HOST_UNIFIED_MEMORY);
  space_name_ = "opencl" + std::to_string(index) + ":ram";
  arch_ = "opencl/" + streams::as_key(text_of(api.clGetDeviceInfo, id, CL_DEVICE_NAME));
  programs_ = std::make_unique<Programs>(*this);
  return CONSORT_OK;
}

consort_status Device::space(uint32_t i, consort_space_desc *out) {
  if (i > 0) return CONSORT_E_INVAL;
  space_ = out->id;
  consort_space_desc d = *out;
  d.flags = 0;
  d.numa = -1;
  d.name = space_name_.c_str();
  d.domain = "opencl";
  d.domain_key = reinterpret_cast<uint64_t>(this);
  d.capacity = capacity_;
  d.granule = d.align = base_align;
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
  d.klass = "opencl";
  d.arch = arch_.c_str();
  d.cpuset = nullptr;
  d.cpuset_words = d.reserved = 0;
  streams::answer(out, d);
  return CONSORT_OK;
}

// These figures apply until the link is measured.
consort_status Device::link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
  for (const consort_space_desc *s : {src, dst})
    if (streams::is_host_memory(s) && s->id < 64) hosts_ |= uint64_t{1} << s->id;
  const bool from = src->id == space_, to = dst->id == space_;
  if (!(from && to) && !(from && streams::is_host_memory(dst)) && !(to && streams::is_host_memory(src))) return CONSORT_E_UNSUPPORTED;
  consort_link_desc d{};
  d.size = out->size;
  d.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
  d.bytes_per_s = from && to ? (unified_ ? 10'000'000'000 : 200'000'000'000) : unified_ ? 8'000'000'000 : 12'000'000'000;
  d.latency_ns = unified_ ? 20'000 : 10'000;
  // If the host's cores copy, several copies run concurrently.
  d.engines = unified_ ? std::clamp<uint32_t>(value_of<cl_uint>(api.clGetDeviceInfo, id, CL_DEVICE_MAX_COMPUTE_UNITS), 1, 4) : 1;
  d.max_run = UINT64_MAX;
  d.min_align = 1;
  d.bounce_space = CONSORT_NONE;
  streams::answer(out, d);
  return CONSORT_OK;
}

// -- memory -----------------------------------------------------------------------------------------------------------

uint64_t Device::rounded(uint64_t bytes) const noexcept { return (bytes + base_align - 1) / base_align * base_align; }

consort_status Device::alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  if (const consort_status s = wake(); s < 0) return s;
  const std::string what = std::to_string(bytes) + " bytes";
  if (bytes == 0 || (align & (align - 1)) != 0)
    return fail(CONSORT_E_INVAL, "cannot allocate " + what + " aligned to " + std::to_string(align) +
                                     ": bytes must not be 0, the alignment a power of two");
  if (!owns(space)) {
    if (space < 64 && (hosts_ >> space & 1) && (flags & CONSORT_AL_PINNED)) return alloc_pinned(bytes, flags, out);
    return fail(CONSORT_E_INVAL, "cannot allocate in space " + std::to_string(space) +
                                     ": use its own space, or the host's for pinned memory");
  }
  constexpr uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT;
  if (flags & ~can)
    return fail(CONSORT_E_UNSUPPORTED, "device memory cannot be pinned or exported: omit these flags");
  if (align > base_align)
    return fail(CONSORT_E_UNSUPPORTED, "buffers are aligned to " + std::to_string(base_align) + " bytes at most, not to " +
                                           std::to_string(align) + ": request less");
  if (bytes > UINT64_MAX - base_align) return fail(CONSORT_E_NOMEM, "out of memory: " + what);
  const uint64_t whole = rounded(bytes);
  if (largest_ && bytes > largest_)
    return fail(CONSORT_E_NOMEM, "out of memory: " + what + " in one buffer, " + std::to_string(largest_) +
                                     " at most (CL_DEVICE_MAX_MEM_ALLOC_SIZE): use smaller blocks");
  {
    const std::lock_guard lock(memory_);
    if (whole > capacity_ - used_)
      return fail(CONSORT_E_NOMEM, "out of memory: " + what + ", " + std::to_string(capacity_ - used_) + " of " +
                                       std::to_string(capacity_) + " are free");
    used_ += whole;
  }
  cl_int e = CL_SUCCESS;
  cl_mem mem = api.clCreateBuffer(context, CL_MEM_READ_WRITE, whole, nullptr, &e);
  if (e == CL_SUCCESS) {
    // Many implementations allocate at first use: touches the memory now, so that a lack of memory is reported here.
    const cl_uchar zero = 0;
    const size_t touched = flags & CONSORT_AL_ZERO ? whole : base_align;
    e = api.clEnqueueFillBuffer(control_, mem, &zero, 1, 0, touched, 0, nullptr, nullptr);
    if (e == CL_SUCCESS) e = api.clFinish(control_);
    if (e != CL_SUCCESS) api.clReleaseMemObject(mem);
  }
  if (e != CL_SUCCESS) {
    {
      const std::lock_guard lock(memory_);
      used_ -= whole;
    }
    if (means_lost(e)) mark_lost_and_report();
    const consort_status s = status_of(e);
    return fail(s, (s == CONSORT_E_NOMEM ? "out of memory: " : "cannot allocate ") + what + ": " + name(e));
  }
  *out = {reinterpret_cast<uint64_t>(mem), 0};
  return CONSORT_OK;
}

// Pinned host memory: a buffer of the context, mapped for its lifetime.
consort_status Device::alloc_pinned(uint64_t bytes, uint32_t flags, consort_addr *out) {
  if (flags & CONSORT_AL_EXPORT) return fail(CONSORT_E_UNSUPPORTED, "pinned memory cannot be exported");
  cl_int e = CL_SUCCESS;
  cl_mem mem = api.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &e);
  void *p = nullptr;
  if (e == CL_SUCCESS) {
    p = api.clEnqueueMapBuffer(control_, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &e);
    if (e != CL_SUCCESS) api.clReleaseMemObject(mem);
  }
  if (e != CL_SUCCESS) return fail(status_of(e), "cannot allocate pinned memory of " + std::to_string(bytes) + " bytes: " + name(e));
  if (flags & CONSORT_AL_ZERO) std::memset(p, 0, bytes);
  *out = {reinterpret_cast<uint64_t>(p), 0};
  const std::lock_guard lock(memory_);
  pinned_[out->base] = {mem, bytes};
  return CONSORT_OK;
}

void Device::free(uint32_t space, consort_addr addr, uint64_t bytes) {
  if (owns(space)) {
    api.clReleaseMemObject(reinterpret_cast<cl_mem>(addr.base));
    const std::lock_guard lock(memory_);
    used_ -= rounded(bytes);
    return;
  }
  cl_mem mem = nullptr;
  {
    const std::lock_guard lock(memory_);
    const auto at = pinned_.find(addr.base);
    if (at == pinned_.end()) return;
    mem = at->second.mem;
    pinned_.erase(at);
  }
  if (!is_lost() &&
      api.clEnqueueUnmapMemObject(control_, mem, reinterpret_cast<void *>(addr.base), 0, nullptr, nullptr) == CL_SUCCESS)
    api.clFinish(control_);
  api.clReleaseMemObject(mem);
}

consort_status Device::attach(uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) {
  if (!owns(space))
    return fail(CONSORT_E_UNSUPPORTED, "existing memory cannot be pinned or mapped: allocate it pinned "
                                       "(AL_PINNED in the host's space)");
  if (const consort_status s = wake(); s < 0) return s;
  auto *mem = reinterpret_cast<cl_mem>(addr.base);
  if (!mem || value_of<cl_mem_object_type>(api.clGetMemObjectInfo, mem, CL_MEM_TYPE) != CL_MEM_OBJECT_BUFFER)
    return fail(CONSORT_E_INVAL, "the address is not a buffer: pass a cl_mem from clCreateBuffer() or clCreateSubBuffer()");
  if (value_of<cl_context>(api.clGetMemObjectInfo, mem, CL_MEM_CONTEXT) != context)
    return fail(CONSORT_E_INVAL, "the buffer belongs to another context: create it in this device's context, the native_context of a call "
                                 "that runs here (consort_run_on_each() reaches every unit)");
  const uint64_t size = value_of<size_t>(api.clGetMemObjectInfo, mem, CL_MEM_SIZE);
  if (addr.off > size || bytes > size - addr.off)
    return fail(CONSORT_E_INVAL, "the datum takes " + std::to_string(bytes) + " bytes from offset " + std::to_string(addr.off) +
                                     ", but the buffer has " + std::to_string(size) + ": pass a larger one");
  constexpr cl_mem_flags no_copies = CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY;
  if (value_of<cl_mem_flags>(api.clGetMemObjectInfo, mem, CL_MEM_FLAGS) & no_copies)
    return fail(CONSORT_E_INVAL, "the host may not copy to and from the buffer: create it without CL_MEM_HOST_ flags");
  if (const cl_int e = api.clRetainMemObject(mem); e != CL_SUCCESS)
    return fail(status_of(e), std::string("cannot retain the buffer: ") + name(e));
  *local = addr;
  return CONSORT_OK;
}

void Device::detach(uint32_t space, consort_addr local) {
  if (owns(space)) api.clReleaseMemObject(reinterpret_cast<cl_mem>(local.base));
}

consort_status Device::load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  if (const consort_status s = wake(); s < 0) return s;
  std::string why;
  const Code *c = nullptr;
  const consort_status s = programs_->load(format ? format : "cl", text, n, entry ? entry : "", &c, &why);
  if (s < 0) return fail(s, why);
  *code = reinterpret_cast<uint64_t>(c);
  return CONSORT_OK;
}

}  // namespace opencl
