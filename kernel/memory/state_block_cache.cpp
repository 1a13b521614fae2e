// What a driver gives, kept for the next who wants as much: allocation, and what is left of it (memory.hpp).
#include <algorithm>
#include <iterator>

#include "base/last_error.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"
#include "plugin/status.hpp"

namespace consort {

// Memory for a replica whose room was made. Spares of the same sizes first.
consort_status MemoryState::allocate(Replica &r) noexcept try {
  const Datum &d = *r.datum;
  if (has_no_place(r))
    return set_errorf(CONSORT_E_NOMEM, "'%s' lies in its whole's memory, and that has none at home",
                      rt_.data.name(d).c_str());
  const Space &space = rt_.topology->spaces()[r.space];
  consort_block wanted[DataTable::kMostBlocks];
  consort_addr addr[DataTable::kMostBlocks];
  const uint32_t n = d.layout->ops->blocks(d.shape(), &space.desc, wanted, DataTable::kMostBlocks);
  if (n > DataTable::kMostBlocks)
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' wants %u blocks of memory, %u are the most: use larger ones",
                      rt_.data.name(d).c_str(), n, DataTable::kMostBlocks);
  const uint64_t granule = std::max<uint64_t>(space.desc.granule, 1);
  r.blocks.reserve(n);
  consort_status s = CONSORT_OK;
  for (uint32_t i = 0; i < n && s >= 0; ++i) {
    const uint64_t bytes = (wanted[i].bytes + granule - 1) / granule * granule;
    s = take(space, bytes, wanted[i].align, &addr[i]);
    if (s < 0) break;
    r.blocks.push_back({r.space, addr[i], bytes});
    r.bytes += bytes;
  }
  if (s >= 0)
    s = plugin_status(d.layout->ops->view(d.shape(), &space.desc, addr, n, r.view), d.layout->name.c_str(), "view()");
  if (s < 0) {
    const LastError why;
    r.allocated = true;
    release(r);
    return set_error(s, *why.text() ? why.text() : "the driver has no memory");
  }
  r.allocated = true;
  list(r);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a replica");
}

// A spare of that size, or more from the driver. Where it has less than it said, spares of other sizes go first.
consort_status MemoryState::take(const Space &space, uint64_t bytes, uint64_t align, consort_addr *out) noexcept {
  Store &store = stores_[space.desc.id];
  if (take_spare(store, space.desc, bytes, align, out)) return CONSORT_OK;
  drop_spares_for(store, bytes);
  const auto ask = [&] {
    clear_error();
    std::lock_guard one_at_a_time(rt_.topology->control());
    return plugin_status(space.device->ops->alloc(space.device->dev, space.desc.id, bytes, align, 0, out),
                         space.device->plugin->manifest->name, "alloc()");
  };
  consort_status s = ask();
  if (s == CONSORT_E_NOMEM && drop_spares(store)) s = ask();
  if (s >= 0) store.used += bytes;
  return s;
}

// Its memory becomes spare. It is not pinned, and not the only valid one of its datum unless that has no contents.
void MemoryState::release(Replica &r) noexcept {
  unlist(r);
  close_windows(r);
  if (r.base) std::erase(r.base->windows, &r), close_window(r);
  Store &store = stores_[r.space];
  for (const auto &b : r.blocks) {
    try {
      store.spare[b.bytes].push_back(b);
      store.spare_bytes += b.bytes;
    } catch (const std::bad_alloc &) {
      const auto none = store.spare.find(b.bytes);
      if (none != store.spare.end() && none->second.empty()) store.spare.erase(none);
      give_back(b);
    }
  }
  r.blocks.clear();
  r.bytes = 0;
  r.allocated = r.prefetched = false;
  r.chosen = 0;
}

void MemoryState::give_back(const DatumExtra::Block &b) noexcept {
  const Space &space = rt_.topology->spaces()[b.space];
  std::lock_guard one_at_a_time(rt_.topology->control());
  space.device->ops->free(space.device->dev, b.space, b.addr, b.bytes);
  stores_[b.space].used -= b.bytes;
}

void MemoryState::drop_spare(Store &store, Spares::iterator of_its_size) noexcept {
  const DatumExtra::Block b = of_its_size->second.back();
  of_its_size->second.pop_back();
  if (of_its_size->second.empty()) store.spare.erase(of_its_size);
  store.spare_bytes -= b.bytes;
  give_back(b);
}

bool MemoryState::take_spare(Store &store, const consort_space_desc &space, uint64_t bytes, uint64_t align,
                        consort_addr *out) noexcept {
  const auto of_its_size = store.spare.find(bytes);
  if (of_its_size == store.spare.end()) return false;
  auto &spares = of_its_size->second;
  const auto fits = [&](const auto &b) {  // of an opaque one the base is a name
    return align <= 1 || ((space.flags & CONSORT_SP_OPAQUE ? 0 : b.addr.base) + b.addr.off) % align == 0;
  };
  const auto found = std::find_if(spares.rbegin(), spares.rend(), fits);  // the last one may be in a cache still
  if (found == spares.rend()) return false;
  *out = found->addr;
  *found = spares.back();
  spares.pop_back();
  if (spares.empty()) store.spare.erase(of_its_size);
  store.spare_bytes -= bytes;
  return true;
}

// As few as leave so many bytes below the limit: one that is large enough, else the largest. The others are for who
// comes next; memory given back and taken again is paid for page by page. Where there is no limit they are no more than
// what is in use then: sizes that nobody wants again would else pile up.
void MemoryState::drop_spares_for(Store &store, uint64_t bytes) noexcept {
  while (store.limit == UINT64_MAX && store.spare_bytes > store.used - store.spare_bytes + bytes)
    drop_spare(store, std::prev(store.spare.end()));
  while (store.used + bytes > store.limit && !store.spare.empty()) {
    const auto enough = store.spare.lower_bound(store.used + bytes - store.limit);
    drop_spare(store, enough != store.spare.end() ? enough : std::prev(store.spare.end()));
  }
}

bool MemoryState::drop_spares(Store &store) noexcept {
  const bool any = !store.spare.empty();
  while (!store.spare.empty()) drop_spare(store, store.spare.begin());
  return any;
}

}  // namespace consort
