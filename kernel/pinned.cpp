#include "pinned.hpp"

#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "error_slot.hpp"
#include "runtime.hpp"
#include "topology.hpp"

namespace consort {

Result<void *> PinnedMemory::take(uint64_t bytes, uint32_t flags) {
  constexpr uint64_t kPage = 4096;
  const Topology &topology = *rt_.topology;
  const uint32_t home = topology.home();
  const uint32_t zero = flags & CONSORT_MALLOC_ZERO ? uint32_t{CONSORT_AL_ZERO} : 0;
  const auto reaches = [&](const Device &d) {  // it has a memory of its own, and copies between that and the host's
    return std::any_of(topology.spaces().begin(), topology.spaces().end(), [&](const Space &s) {
      return s.device == &d && s.desc.id != home && topology.link(home, s.desc.id).device == &d;
    });
  };
  std::lock_guard lock(mutex_);
  Block block{nullptr, bytes, {}};
  consort_addr at{};
  consort_status status = CONSORT_E_UNSUPPORTED;
  clear_error();
  for (const auto &d : topology.devices()) {
    if (!reaches(*d)) continue;
    std::lock_guard one_at_a_time(topology.control());
    status = d->ops->alloc(d->dev, home, bytes, kPage, CONSORT_AL_PINNED | zero, &at);
    if (status < 0) continue;
    block.device = d.get();
    break;
  }
  if (!block.device && (flags & CONSORT_MALLOC_PINNED))
    return error(status == CONSORT_E_NOMEM ? status : CONSORT_E_UNSUPPORTED,
                 "no pinned memory of " + std::to_string(bytes) + " bytes: " +
                     (*error_text() ? error_text() : "no driver here offers any") +
                     "; leave CONSORT_MALLOC_PINNED out where ordinary memory will do");
  if (!block.device) {
    const Device *host = topology.spaces()[home].device;
    clear_error();
    std::lock_guard one_at_a_time(topology.control());
    status = host->ops->alloc(host->dev, home, bytes, kPage, zero, &at);
    if (status < 0) return error(status, "no memory of " + std::to_string(bytes) + " bytes: " + error_text());
    block.device = host;
  }
  try {
    for (const auto &d : topology.devices()) {
      if (d.get() == block.device || !reaches(*d)) continue;
      block.shown.reserve(block.shown.size() + 1);
      Shown s{d.get(), {}};
      std::lock_guard one_at_a_time(topology.control());
      if (d->ops->attach(d->dev, home, at, bytes, &s.local) >= 0) block.shown.push_back(s);
    }
    clear_error();
    const uint64_t address = at.base + at.off;
    blocks_.emplace(address, block);
    return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  } catch (const std::bad_alloc &) {
    release(at.base + at.off, block);
    throw;
  }
}

void PinnedMemory::release(uint64_t at, const Block &b) noexcept {
  const uint32_t home = rt_.topology->home();
  std::lock_guard one_at_a_time(rt_.topology->control());
  for (const Shown &s : b.shown) s.device->ops->detach(s.device->dev, home, s.local);
  b.device->ops->free(b.device->dev, home, {at, 0}, b.bytes);
}

bool PinnedMemory::give_back(void *p) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = blocks_.find(reinterpret_cast<uint64_t>(p));
  if (it == blocks_.end()) return false;
  release(it->first, it->second);
  blocks_.erase(it);
  return true;
}

void PinnedMemory::close() noexcept {
  std::lock_guard lock(mutex_);
  for (const auto &[at, block] : blocks_) release(at, block);
  blocks_.clear();
}

}  // namespace consort

using namespace consort;

extern "C" {

consort_status consort_malloc(consort_runtime *shell, uint64_t bytes, uint32_t flags, void **out) {
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL: where shall the address go?");
  *out = nullptr;
  Runtime *rt = enter(shell);
  if (!rt) return refuse_shell(shell);
  if (const uint32_t unknown = flags & ~uint32_t{CONSORT_MALLOC_ZERO | CONSORT_MALLOC_PINNED})
    return refuse_bits("flags", unknown, "CONSORT_MALLOC_ZERO and CONSORT_MALLOC_PINNED are what there is");
  if (bytes == 0) return set_error(CONSORT_E_INVAL, "0 bytes are no memory: ask for one at least");
  return guarded([&] {
    auto p = rt->pinned.take(bytes, flags);
    if (!p) return set_error(p.error());
    *out = *p;
    return consort_status{CONSORT_OK};
  });
}

consort_status consort_free(consort_runtime *shell, void *ptr) {
  Runtime *rt = enter(shell);
  if (!rt) return refuse_shell(shell);
  if (!ptr || rt->pinned.give_back(ptr)) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL,
                    "%p did not come from consort_malloc() of this runtime, or was given back already", ptr);
}

}  // extern "C"
