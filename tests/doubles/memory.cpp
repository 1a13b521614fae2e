#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "code.hpp"
#include "machine.hpp"

namespace gpu {

namespace {

constexpr size_t grain = 512;  // blocks begin at multiples of it
constexpr int fresh = 0xa5, gone = 0xdd, guard = 0xfd;

size_t whole(size_t size) {  // with the guard
  return (size + grain - 1) / grain * grain + grain;
}

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

}  // namespace

void poison(uint64_t address, size_t size, int byte) {
  constexpr size_t most = size_t{16} << 20, end = size_t{1} << 20;
  if (size <= most) {
    std::memset(pointer(address), byte, size);
  } else {  // large ones would cost their pages
    std::memset(pointer(address), byte, end);
    std::memset(pointer(address + size - end), byte, end);
  }
}

std::string Block::words() const {
  char text[96];
  const char *kind = where == Where::device   ? "device block"
                     : where == Where::pinned ? "pinned block"
                                              : "registered memory";
  std::snprintf(text, sizeof text, "%s 0x%llx of %zu bytes", kind, static_cast<unsigned long long>(address), size);
  return text;
}

Arena::Arena(size_t memory) : length(4 * memory + (size_t{1} << 28)) {
  void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    throw std::bad_alloc();
  }
  base = cursor = reinterpret_cast<uint64_t>(at);
  holes.emplace(base, length);
}

Arena::~Arena() { munmap(pointer(base), length); }

uint64_t Arena::take(size_t size) {
  size_t need = whole(size);
  auto fits = [need](const auto &hole) { return hole.second >= need; };
  auto at = std::find_if(holes.lower_bound(cursor), holes.end(), fits);
  if (at == holes.end()) {
    at = std::find_if(holes.begin(), holes.end(), fits);
  }
  if (at == holes.end()) {
    return 0;
  }
  auto [address, room] = *at;
  holes.erase(at);
  if (room > need) {
    holes.emplace(address + need, room - need);
  }
  cursor = address + need;
  auto old = freed.lower_bound(address);
  if (old != freed.begin() && std::prev(old)->first + std::prev(old)->second > address) {
    --old;
  }
  while (old != freed.end() && old->first < address + need) {
    old = freed.erase(old);
  }
  poison(address, size, fresh);
  std::memset(pointer(address + size), guard, need - size);
  return address;
}

void Arena::give(uint64_t address, size_t size) {
  size_t need = whole(size);
  const auto *behind = static_cast<const unsigned char *>(pointer(address + size));
  if (std::any_of(behind, behind + (need - size), [](unsigned char byte) { return byte != guard; })) {
    machine().violate("bytes behind the end of a device block of " + std::to_string(size) + " bytes were written");
  }
  if (size > size_t{1} << 20) {
    uint64_t page = (address + 4095) & ~uint64_t{4095};
    madvise(pointer(page), (address + size - page) & ~uint64_t{4095}, MADV_DONTNEED);
  }
  poison(address, size, gone);
  freed[address] = need;
  auto after = holes.emplace(address, need).first;
  auto next = std::next(after);
  if (next != holes.end() && after->first + after->second == next->first) {
    after->second += next->second;
    holes.erase(next);
  }
  if (after != holes.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == after->first) {
      before->second += after->second;
      holes.erase(after);
    }
  }
}

bool Arena::was_freed(uint64_t address) const {
  auto at = freed.upper_bound(address);
  return at != freed.begin() && std::prev(at)->first + std::prev(at)->second > address;
}

std::shared_ptr<Block> Memory::find(uint64_t address) const {
  auto at = blocks.upper_bound(address);
  if (at == blocks.begin()) {
    return nullptr;
  }
  const auto &block = std::prev(at)->second;
  return address < block->address + block->size ? block : nullptr;
}

bool Memory::free_range(uint64_t address, size_t size) const {
  auto at = blocks.lower_bound(address + size);
  return at == blocks.begin() || std::prev(at)->second->address + std::prev(at)->second->size <= address;
}

size_t Memory::used(const Device &device) const {
  size_t sum = device.plain;
  for (const auto &[handle, pool] : machine().pools.all) {
    sum += pool->device == device.index ? pool->reserved : 0;
  }
  return sum;
}

std::shared_ptr<Block> Memory::take(Device &device, size_t size, const std::shared_ptr<Pool> &pool) {
  const auto &refused = machine().settings.oom;
  ++device_takes;
  if (std::find(refused.begin(), refused.end(), device_takes) != refused.end() || size > device.memory ||
      (pool && pool->most && pool->used + size > pool->most)) {
    fail(out_of_memory);
  }
  size_t more = pool ? std::max(pool->used + size, pool->reserved) - pool->reserved : size;
  if (used(device) + more > device.memory) {
    for (auto &[handle, other] : machine().pools.all) {
      if (other->device == device.index && other != pool) {
        trim(*other, 0);
      }
    }
    if (used(device) + more > device.memory) {
      fail(out_of_memory);
    }
  }
  auto block = std::make_shared<Block>();
  block->address = device.arena->take(size);
  if (!block->address) {
    fail(out_of_memory);
  }
  block->size = size;
  block->device = device.index;
  block->id = ++next_id;
  block->pool = pool;
  if (pool) {
    pool->used += size;
    pool->reserved += more;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  } else {
    device.plain += size;
  }
  blocks.emplace(block->address, block);
  return block;
}

std::shared_ptr<Block> Memory::take_pinned(size_t size) {
  const auto &refused = machine().settings.pinned_oom;
  if (std::find(refused.begin(), refused.end(), ++pinned_takes) != refused.end() || size > SIZE_MAX / 2) {
    fail(out_of_memory);
  }
  void *at = nullptr;
  if (posix_memalign(&at, 4096, std::max(size, size_t{1})) != 0) {
    fail(out_of_memory);
  }
  auto block = std::make_shared<Block>();
  block->address = reinterpret_cast<uint64_t>(at);
  block->size = size;
  block->where = Where::pinned;
  block->id = ++next_id;
  poison(block->address, size, fresh);
  blocks.emplace(block->address, block);
  return block;
}

std::shared_ptr<Block> Memory::take_registered(void *address, size_t size) {
  auto block = std::make_shared<Block>();
  block->address = reinterpret_cast<uint64_t>(address);
  block->size = size;
  block->where = Where::registered;
  block->id = ++next_id;
  blocks.emplace(block->address, block);
  return block;
}

void Memory::give(const std::shared_ptr<Block> &block) {
  auto at = blocks.find(block->address);
  if (at == blocks.end() || at->second != block) {
    return;
  }
  blocks.erase(at);
  block->accesses.clear();
  if (block->where == Where::device) {
    Device &device = *machine().devices[block->device];
    device.arena->give(block->address, block->size);
    if (!block->pool) {
      device.plain -= block->size;
    }
  } else if (block->where == Where::pinned) {
    poison(block->address, block->size, gone);
    std::free(pointer(block->address));
  }
  block->context.reset();
  block->pool.reset();
}

void trim(Pool &pool, size_t keep) { pool.reserved = std::max(pool.used, std::min(pool.reserved, keep)); }

}  // namespace gpu
