#include "memory/replica_records.hpp"

#include <algorithm>
#include <utility>

#include "base/last_error.hpp"
#include "graph/partition_plan.hpp"
#include "machine/topology.hpp"
#include "plugin/status.hpp"

namespace consort {

uint32_t ReplicaRecords::home() const noexcept { return topology_.home(); }

Replicas &ReplicaRecords::of(Datum &d) {
  DatumExtra *e = data_.extra(d);
  if (!e) throw std::bad_alloc();
  if (e->replicas) return *e->replicas;
  auto all = std::make_unique<Replicas>(d);
  const uint32_t state = d.state.load(std::memory_order_relaxed);
  if (data_state::space(state) != data_state::kNowhere) add_first(*all, d, *e, state);
  e->replicas = std::move(all);
  d.places.known.store(true, std::memory_order_release);  // pairs with placement_of()
  uint32_t now = d.state.load(std::memory_order_relaxed);
  while (!d.state.compare_exchange_weak(
      now, (now & ((1u << data_state::kSpaceShift) - 1)) | data_state::kMany << data_state::kSpaceShift,
      std::memory_order_relaxed)) {
  }
  return *e->replicas;
}

// The memory that the datum had before its record.
Replica &ReplicaRecords::add_first(Replicas &all, Datum &d, DatumExtra &e, uint32_t state) {
  const uint32_t space = data_state::space(state);
  auto r = std::make_unique<Replica>();
  all.all.reserve(1);
  order_.expect(space);  // nothing below fails
  r->datum = &d;
  r->space = space;
  r->allocated = true;
  r->lasting = e.blocks.empty();
  r->unsure = true;
  r->view = d.view;
  r->blocks = std::move(e.blocks);
  e.blocks.clear();
  for (const auto &b : r->blocks) r->bytes += b.bytes;
  cache_.adopt(space, r->bytes);
  order_.entered(space);
  if (state & data_state::kValid) all.valid = coherence::one(space);
  all.all.push_back(std::move(r));
  order_.list(*all.all.back());
  return *all.all.back();
}

Replicas &ReplicaRecords::of_part(Datum &d, Replica &home) {
  DatumExtra *e = data_.extra(d);
  if (!e) throw std::bad_alloc();
  if (!e->replicas) e->replicas = std::make_unique<Replicas>(d);
  Replicas &all = *e->replicas;
  Replica &r = in(all, d, home.space);
  if (r.base) return all;
  home.windows.push_back(&r);
  if (!r.blocks.empty()) release(r);
  order_.unlist(r);
  r.view = d.view;
  r.allocated = r.lasting = true;
  r.base = &home;
  d.places.known.store(true, std::memory_order_release);  // pairs with placement_of()
  return all;
}

Replica &ReplicaRecords::in(Replicas &all, Datum &d, uint32_t space) {
  if (Replica *r = all.in(space)) return *r;
  auto r = std::make_unique<Replica>();
  r->datum = &d;
  r->space = space;
  const bool as_datum = space == home() &&
                        std::none_of(all.all.begin(), all.all.end(), [&](const auto &o) { return o->view == d.view; });
  if (!as_datum) r->own_view.reset(new std::byte[std::max(1u, d.layout->ops->view_size)]());
  r->view = as_datum ? d.view : r->own_view.get();  // at home its view is the datum's own, from which parts are computed
  order_.expect(space);
  all.all.push_back(std::move(r));
  order_.entered(space);
  return *all.all.back();
}

// Takes the blocks that its layout needs there, into its list and addr[0..*n).
consort_status ReplicaRecords::take_blocks(Replica &r, consort_addr *addr, uint32_t *n) {
  const Datum &d = *r.datum;
  const consort_space_desc &space = topology_.spaces()[r.space].desc;
  consort_block wanted[DataTable::kMostBlocks];
  *n = d.layout->ops->blocks(d.shape(), &space, wanted, DataTable::kMostBlocks);
  if (*n > DataTable::kMostBlocks)
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' wants %u blocks of memory, %u are the most: use larger ones",
                      data_.name(d).c_str(), *n, DataTable::kMostBlocks);
  const uint64_t granule = std::max<uint64_t>(space.granule, 1);
  r.blocks.reserve(*n);
  for (uint32_t i = 0; i < *n; ++i) {
    const uint64_t bytes = (wanted[i].bytes + granule - 1) / granule * granule;
    if (const consort_status s = cache_.take(r.space, bytes, wanted[i].align, &addr[i]); s < 0) return s;
    r.blocks.push_back({r.space, addr[i], bytes});
    r.bytes += bytes;
  }
  return CONSORT_OK;
}

consort_status ReplicaRecords::allocate(Replica &r) noexcept try {
  const Datum &d = *r.datum;
  if (lacks_place(r))
    return set_errorf(CONSORT_E_NOMEM, "'%s' lies in its whole's memory, and that has none at home",
                      data_.name(d).c_str());
  consort_addr addr[DataTable::kMostBlocks];
  uint32_t n;
  consort_status s = take_blocks(r, addr, &n);
  if (s >= 0)
    s = plugin_status(d.layout->ops->view(d.shape(), &topology_.spaces()[r.space].desc, addr, n, r.view),
                      d.layout->name.c_str(), "view()");
  if (s < 0) {
    const LastError why;
    r.allocated = true;
    release(r);
    return set_error(s, *why.text() ? why.text() : "the driver has no memory");
  }
  r.allocated = true;
  order_.list(r);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a replica");
}

void ReplicaRecords::release(Replica &r) noexcept {
  order_.unlist(r);
  close_windows(r);
  if (r.base) std::erase(r.base->windows, &r), close_window(r);
  for (const auto &b : r.blocks) cache_.keep(b);
  r.blocks.clear();
  r.bytes = 0;
  r.allocated = r.prefetched = false;
  r.chosen = 0;
}

bool ReplicaRecords::lacks_place(const Replica &r) const noexcept {
  return !r.allocated && r.space == home() && is_part(*r.datum);
}

std::unique_ptr<Replica> ReplicaRecords::scratch(Datum &d, uint32_t space) {
  auto r = std::make_unique<Replica>();
  r->datum = &d;
  r->space = space;
  r->anchored = true;  // freed when its task ends, not before
  r->own_view.reset(new std::byte[std::max(1u, d.layout->ops->view_size)]());
  r->view = r->own_view.get();
  return r;
}

void ReplicaRecords::close_window(Replica &w) noexcept {
  close_windows(w);
  if (w.pins) order_.unpin(*w.base);
  w.base = nullptr;
  if (w.lasting) return;
  w.allocated = false;
  if (!w.left) w.datum->extra()->replicas->valid &= ~coherence::one(w.space);
}

void ReplicaRecords::close_windows(Replica &base) noexcept {
  for (Replica *w : base.windows) close_window(*w);
  base.windows.clear();
}

void ReplicaRecords::clear(Replicas &all) noexcept {
  for (auto *group : {&all.all, &all.left_over})
    for (auto &r : *group) {
      if (r->base) std::erase(r->base->windows, r.get()), close_window(*r);
      close_windows(*r);
      if (r->allocated && !r->lasting) release(*r);
      order_.erase(*r);
    }
}

void ReplicaRecords::invalidate(Datum &d) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all) return;
  all->valid = 0;
  ++all->version;
}

uint32_t ReplicaRecords::state_in(const Datum &d, uint32_t space) noexcept {
  enum : uint32_t { kRoom = 1, kValid = 2, kComing = 4 };  // CONSORT_IN_*
  const uint32_t alone = data_state::space(d.state.load(std::memory_order_relaxed));
  const uint32_t valid = has_contents(d) ? uint32_t{kValid} : 0;
  if (!d.pub.bytes) return kRoom | kValid;
  if (alone != data_state::kMany) return alone == space ? kRoom | valid : 0;
  const Replicas &all = *d.extra()->replicas;
  const Replica *r = all.in(space);
  if (!r || !r->allocated) return 0;
  return kRoom | (all.is_valid(*r) ? valid : 0) | (r->coming ? uint32_t{kComing} : 0);
}

void ReplicaRecords::clear_unsure(Replicas &all) noexcept {
  for (const auto &r : all.all)
    if (std::exchange(r->unsure, false)) order_.list(*r);
}

}  // namespace consort
