#include "memory/block_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/last_error.hpp"
#include "machine/topology.hpp"
#include "plugin/config.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {

BlockCache::BlockCache(const Topology &topology) : topology_(topology), stores_(topology.spaces().size()) {}

void BlockCache::close() noexcept {
  for (uint32_t s = 0; s < stores_.size(); ++s) drop_spares(s);
}

Result<void> BlockCache::open(const Config &config) {
  for (const Space &s : topology_.spaces())
    if (s.desc.id != topology_.home() && !(s.desc.flags & CONSORT_SP_CPU)) {
      counted_ |= uint64_t{1} << s.desc.id;
      if (s.desc.capacity) stores_[s.desc.id].limit = s.desc.capacity;
    }
  for (const std::string &entry : config.list("limits"))
    if (auto r = read_limit(entry); !r) return r;
  scratch_ = uint64_t{counted_};
  return {};
}

// Parses one entry of "NAME=64M, NAME=50%".
Result<void> BlockCache::read_limit(const std::string &entry) {
  const auto &spaces = topology_.spaces();
  const size_t eq = entry.find('=');
  const auto bad = [&](const char *why) {
    std::string have;
    for (const Space &s : spaces) have += (have.empty() ? "" : ", ") + std::string(s.desc.name);
    return error(CONSORT_E_INVAL,
                 "setting limits: '" + entry + "' " + why + "; write NAME=64M or NAME=50%, the spaces are " + have);
  };
  if (eq == std::string::npos) return bad("has no =");
  const std::string name = entry.substr(0, eq);
  const auto space = std::find_if(spaces.begin(), spaces.end(), [&](const Space &s) { return name == s.desc.name; });
  if (space == spaces.end()) return bad("names no space");
  char *end = nullptr;
  const double value = std::strtod(entry.c_str() + eq + 1, &end);
  static constexpr std::string_view kUnits = "BKMGT";
  double factor = 1;
  if (*end == '%')
    factor = static_cast<double>(space->desc.capacity) / 100, ++end;
  else if (const size_t u = kUnits.find(*end); *end && u != kUnits.npos)
    factor = static_cast<double>(uint64_t{1} << 10 * u), ++end;
  if (*end || end == entry.c_str() + eq + 1 || !(value >= 0)) return bad("is no size");
  if (factor == 0) return bad("is a share of a size that the driver does not tell");
  Store &store = stores_[space->desc.id];
  counted_ |= uint64_t{1} << space->desc.id;
  store.limit = std::min<uint64_t>(store.limit, static_cast<uint64_t>(value * factor));
  return {};
}

uint64_t BlockCache::bytes_for(const Datum &d, uint32_t space) const noexcept {
  consort_block blocks[DataTable::kMostBlocks];
  const auto &desc = topology_.spaces()[space].desc;
  const uint32_t n = d.layout->ops->blocks(d.shape(), &desc, blocks, DataTable::kMostBlocks);
  uint64_t sum = 0;
  const uint64_t granule = std::max<uint64_t>(desc.granule, 1);
  for (uint32_t i = 0; i < n && i < DataTable::kMostBlocks; ++i)
    sum += (blocks[i].bytes + granule - 1) / granule * granule;
  return sum;
}

consort_status BlockCache::take(uint32_t id, uint64_t bytes, uint64_t align, consort_addr *out) noexcept {
  const Space &space = topology_.spaces()[id];
  Store &store = stores_[id];
  if (take_spare(store, space.desc, bytes, align, out)) return CONSORT_OK;
  drop_spares_for(store, bytes);
  const auto ask = [&] {
    clear_error();
    std::lock_guard one_at_a_time(topology_.control());
    return plugin_status(space.device->ops->alloc(space.device->dev, id, bytes, align, 0, out),
                         space.device->plugin->manifest->name, "alloc()");
  };
  consort_status s = ask();
  if (s == CONSORT_E_NOMEM && drop_spares(id)) s = ask();
  if (s >= 0) store.used += bytes;
  return s;
}

void BlockCache::keep(const Block &b) noexcept {
  Store &store = stores_[b.space];
  try {
    store.spare[b.bytes].push_back(b);
    store.spare_bytes += b.bytes;
  } catch (const std::bad_alloc &) {
    const auto none = store.spare.find(b.bytes);
    if (none != store.spare.end() && none->second.empty()) store.spare.erase(none);
    give_back(b);
  }
}

void BlockCache::found_full(uint32_t space, uint64_t bytes) noexcept {
  Store &store = stores_[space];
  counted_ |= uint64_t{1} << space;
  store.limit = std::min<uint64_t>(store.limit, store.used + bytes - 1);
}

// Returns the block to its driver.
void BlockCache::give_back(const Block &b) noexcept {
  const Space &space = topology_.spaces()[b.space];
  std::lock_guard one_at_a_time(topology_.control());
  space.device->ops->free(space.device->dev, b.space, b.addr, b.bytes);
  stores_[b.space].used -= b.bytes;
}

void BlockCache::drop_spare(Store &store, Spares::iterator of_its_size) noexcept {
  const Block b = of_its_size->second.back();
  of_its_size->second.pop_back();
  if (of_its_size->second.empty()) store.spare.erase(of_its_size);
  store.spare_bytes -= b.bytes;
  give_back(b);
}

bool BlockCache::take_spare(Store &store, const consort_space_desc &space, uint64_t bytes, uint64_t align,
                            consort_addr *out) noexcept {
  const auto of_its_size = store.spare.find(bytes);
  if (of_its_size == store.spare.end()) return false;
  auto &spares = of_its_size->second;
  const auto fits = [&](const auto &b) {  // the base of an opaque block is only a name
    return align <= 1 || ((space.flags & CONSORT_SP_OPAQUE ? 0 : b.addr.base) + b.addr.off) % align == 0;
  };
  const auto found = std::find_if(spares.rbegin(), spares.rend(), fits);  // the last one may still be in a processor cache
  if (found == spares.rend()) return false;
  *out = found->addr;
  *found = spares.back();
  spares.pop_back();
  if (spares.empty()) store.spare.erase(of_its_size);
  store.spare_bytes -= bytes;
  return true;
}

// Frees as few spare blocks as leave `bytes` below the limit: one that is large enough, else the largest. The others
// are kept for the next replica, since returning and taking memory costs time for each page. Without a limit, spare
// blocks never exceed the memory in use, so sizes that are no longer needed do not accumulate.
void BlockCache::drop_spares_for(Store &store, uint64_t bytes) noexcept {
  while (store.limit == UINT64_MAX && store.spare_bytes > store.used - store.spare_bytes + bytes)
    drop_spare(store, std::prev(store.spare.end()));
  while (store.used + bytes > store.limit && !store.spare.empty()) {
    const auto enough = store.spare.lower_bound(store.used + bytes - store.limit);
    drop_spare(store, enough != store.spare.end() ? enough : std::prev(store.spare.end()));
  }
}

bool BlockCache::drop_spares(uint32_t space) noexcept {
  Store &store = stores_[space];
  const bool any = !store.spare.empty();
  while (!store.spare.empty()) drop_spare(store, store.spare.begin());
  return any;
}

}  // namespace consort
