// device_memory.hpp — memory of a GPU, from a pool with a limit if the device has pools; pinned host memory.
//
// Addresses are plain: base is the device pointer. The pool caches freed blocks, and so does the kernel above.
#pragma once
#include <cstring>

#include "device.hpp"

namespace gpu {

template <class V>
consort_status Device<V>::take(uint64_t bytes, typename V::Stream stream, uint64_t *at) {
  const uint64_t whole = rounded(bytes);
  const std::string what = std::to_string(bytes) + " bytes";
  {
    const std::lock_guard lock(memory_);
    if (whole < bytes || whole > capacity_ - used_)
      return fail(CONSORT_E_NOMEM, "out of memory: " + what + ", " + std::to_string(capacity_ - used_) + " of " +
                                       std::to_string(capacity_) + " are free");
    used_ += whole;
  }
  const int e = pooled_ ? api.pool_alloc(at, whole, pool_, stream) : api.alloc(at, whole);
  if (!e) return CONSORT_OK;
  {
    const std::lock_guard lock(memory_);
    used_ -= whole;
  }
  return failed(e, (V::status_of(e) == CONSORT_E_NOMEM ? "out of memory: " : "cannot allocate ") + what);
}

template <class V>
void Device<V>::give(uint64_t at, uint64_t bytes, typename V::Stream stream) noexcept {
  if (!this->is_lost()) {
    if (pooled_) api.pool_free(at, stream);
    else api.free(at);
  }
  const std::lock_guard lock(memory_);
  used_ -= rounded(bytes);
}

template <class V>
consort_status Device<V>::alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  if (const consort_status s = wake(); s < 0) return s;
  const std::string what = std::to_string(bytes) + " bytes";
  if (!bytes || (align & (align - 1)))
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
  if (align > kAlign)
    return fail(CONSORT_E_UNSUPPORTED, "memory is aligned to " + std::to_string(kAlign) + " bytes at most, not to " +
                                           std::to_string(align) + ": request less");
  const Current<V> current(*this);
  if (const int e = current.error()) return failed(e, "cannot make its context current");
  uint64_t at = 0;
  if (const consort_status s = take(bytes, control_, &at); s < 0) return s;
  int e = flags & CONSORT_AL_ZERO ? api.fill(at, 0, 1, bytes, control_) : 0;
  if (!e) e = api.stream_sync(control_);  // afterwards every stream may use it
  if (e) {
    give(at, bytes, control_);
    return failed(e, "cannot allocate " + what);
  }
  *out = {at, 0};
  return CONSORT_OK;
}

template <class V>
consort_status Device<V>::alloc_pinned(uint64_t bytes, uint32_t flags, consort_addr *out) {
  if (flags & CONSORT_AL_EXPORT) return fail(CONSORT_E_UNSUPPORTED, "pinned memory cannot be exported");
  const Current<V> current(*this);
  if (const int e = current.error()) return failed(e, "cannot make its context current");
  uint64_t at = 0;
  if (const int e = api.host_alloc(&at, bytes)) return failed(e, "cannot allocate pinned memory of " + std::to_string(bytes) + " bytes");
  if (flags & CONSORT_AL_ZERO) std::memset(reinterpret_cast<void *>(at), 0, bytes);
  const std::lock_guard lock(memory_);
  pinned_[at] = {false, 1};
  *out = {at, 0};
  return CONSORT_OK;
}

template <class V>
void Device<V>::free(uint32_t space, consort_addr addr, uint64_t bytes) {
  const Current<V> current(*this, true);
  if (owns(space)) return give(addr.base, bytes, control_);
  {
    const std::lock_guard lock(memory_);
    if (!pinned_.erase(addr.base)) return;
  }
  if (!current.error()) api.host_free(addr.base);
}

// Pins host memory in place. For memory of the device itself (from an application, a library or a graphics buffer) returns its address,
// for use as the home of a datum.
template <class V>
consort_status Device<V>::attach(uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) {
  if (const consort_status s = wake(); s < 0) return s;
  const Current<V> current(*this);
  if (const int e = current.error()) return failed(e, "cannot make its context current");
  const uint64_t at = addr.base + addr.off;
  const typename V::Place place = api.place(at);
  if (!owns(space)) {
    if (space >= 64 || !(hosts_ >> space & 1))
      return fail(CONSORT_E_UNSUPPORTED, "space " + std::to_string(space) + " belongs neither to the device nor to the host: its memory cannot be attached");
    const std::lock_guard lock(memory_);
    if (const auto known = pinned_.find(at); known != pinned_.end() && known->second.registered) {
      ++known->second.holders;
    } else if (!place.pinned) {
      if (const int e = api.host_register(at, bytes)) {
        return fail(CONSORT_E_UNSUPPORTED, "the memory cannot be pinned in place (" + api.words(e) + "): allocate it pinned (AL_PINNED in the host's space)");
      }
      pinned_[at] = {true, 1};
    }
    *local = addr;
    return CONSORT_OK;
  }
  if (!place.device)
    return fail(CONSORT_E_INVAL, "the address is not in this device's memory: pass an address that an allocation on the device returned");
  if (place.number != number)
    return fail(CONSORT_E_INVAL, "the address is in the memory of device " + std::to_string(place.number) + ", not of this one (" +
                                     std::to_string(number) + "): register it in that device's space");
  if (at - place.base > place.size || bytes > place.size - (at - place.base))
    return fail(CONSORT_E_INVAL, "the datum takes " + std::to_string(bytes) + " bytes from offset " + std::to_string(at - place.base) +
                                     ", but the block has " + std::to_string(place.size) + ": pass a larger one");
  *local = addr;
  return CONSORT_OK;
}

template <class V>
void Device<V>::detach(uint32_t space, consort_addr local) {
  if (owns(space)) return;
  {
    const std::lock_guard lock(memory_);
    const auto at = pinned_.find(local.base + local.off);
    if (at == pinned_.end() || !at->second.registered || --at->second.holders) return;
    pinned_.erase(at);
  }
  const Current<V> current(*this, true);
  if (!current.error()) api.host_unregister(local.base + local.off);
}

}  // namespace gpu
