#include "memory/pinned.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "base/last_error.hpp"
#include "machine/topology.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

constexpr uint64_t kPinnedPage = 4096;

// Returns whether the device has memory of its own and copies between that and host memory.
bool reaches_host(const Topology &topology, const Device &d) {
  const uint32_t home = topology.home();
  return std::any_of(topology.spaces().begin(), topology.spaces().end(), [&](const Space &s) {
    return s.device == &d && s.desc.id != home && topology.link(home, s.desc.id).device == &d;
  });
}

}  // namespace

// Allocates from the first driver that offers memory for its copies; sets block.device.
consort_status PinnedMemory::take_pinned(uint64_t bytes, uint32_t flags, consort_addr *at, Block &block) {
  const Topology &topology = *topology_;
  consort_status status = CONSORT_E_UNSUPPORTED;
  clear_error();
  for (const auto &d : topology.devices()) {
    if (!reaches_host(topology, *d)) continue;
    std::lock_guard one_at_a_time(topology.control());
    status = plugin_status(d->ops->alloc(d->dev, topology.home(), bytes, kPinnedPage, CONSORT_AL_PINNED | flags, at),
                           d->plugin->manifest->name, "alloc()");
    if (status < 0) continue;
    block.device = d.get();
    break;
  }
  return status;
}

Result<void *> PinnedMemory::take(uint64_t bytes, uint32_t flags) {
  const Topology &topology = *topology_;
  const uint32_t home = topology.home();
  const uint32_t zero = flags & CONSORT_MALLOC_ZERO ? uint32_t{CONSORT_AL_ZERO} : 0;
  std::lock_guard lock(mutex_);
  Block block{nullptr, bytes, {}};
  consort_addr at{};
  consort_status status = take_pinned(bytes, zero, &at, block);
  if (!block.device && (flags & CONSORT_MALLOC_PINNED))
    return error(status == CONSORT_E_NOMEM ? status : CONSORT_E_UNSUPPORTED,
                 "no pinned memory of " + std::to_string(bytes) + " bytes: " +
                     (*error_text() ? error_text() : "no driver here offers any") +
                     "; leave CONSORT_MALLOC_PINNED out where ordinary memory will do");
  if (!block.device) {
    const Device *host = topology.spaces()[home].device;
    clear_error();
    std::lock_guard one_at_a_time(topology.control());
    status = plugin_status(host->ops->alloc(host->dev, home, bytes, kPinnedPage, zero, &at), host->plugin->manifest->name,
                           "alloc()");
    if (status < 0) return error(status, "no memory of " + std::to_string(bytes) + " bytes: " + error_text());
    block.device = host;
  }
  try {
    show(at, block);
    const uint64_t address = at.base + at.off;
    blocks_.emplace(address, block);
    return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  } catch (const std::bad_alloc &) {
    release(at.base + at.off, block);
    throw;
  }
}

Result<uint32_t> PinnedMemory::pin(uint64_t at, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto next = blocks_.lower_bound(at);
  const auto over = [&](auto it) { return it->first < at + bytes && at < it->first + it->second.bytes; };
  if ((next != blocks_.end() && over(next)) || (next != blocks_.begin() && over(std::prev(next))))
    return error(CONSORT_E_INVAL, "some of these " + std::to_string(bytes) + " bytes are pinned already, or came from "
                                  "consort_malloc(): pin a buffer once, whole");
  Block block{nullptr, bytes, {}};
  try {
    show({at, 0}, block);
    blocks_.emplace(at, block);
  } catch (const std::bad_alloc &) {
    release(at, block);
    throw;
  }
  return static_cast<uint32_t>(block.shown.size());
}

void PinnedMemory::show(consort_addr at, Block &block) {
  const Topology &topology = *topology_;
  for (const auto &d : topology.devices()) {
    if (d.get() == block.device || !reaches_host(topology, *d)) continue;
    block.shown.reserve(block.shown.size() + 1);
    RelaxedValue s{d.get(), {}};
    std::lock_guard one_at_a_time(topology.control());
    if (d->ops->attach(d->dev, topology.home(), at, block.bytes, &s.local) >= 0) block.shown.push_back(s);
  }
  clear_error();  // a device without registration copies from it all the same
}

void PinnedMemory::release(uint64_t at, const Block &b) noexcept {
  const uint32_t home = topology_->home();
  std::lock_guard one_at_a_time(topology_->control());
  for (const RelaxedValue &s : b.shown) s.device->ops->detach(s.device->dev, home, s.local);
  if (b.device) b.device->ops->free(b.device->dev, home, {at, 0}, b.bytes);
}

bool PinnedMemory::give_back(void *p, bool ours) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = blocks_.find(reinterpret_cast<uint64_t>(p));
  if (it == blocks_.end() || (it->second.device != nullptr) != ours) return false;
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
