#include "memory/eviction.hpp"

#include <algorithm>

#include "graph/partition_plan.hpp"
#include "machine/topology.hpp"
#include "observe/tracer.hpp"

namespace consort {

Eviction::Eviction(const Topology &topology, BlockCache &cache, EvictionOrder &order, NextUse &outlook,
                   ReplicaRecords &records, Transfers &transfers, const MoverSet &movers, EvictionPolicy &policy,
                   const std::unique_ptr<Tracer> &tracer)
    : topology_(topology), cache_(cache), order_(order), outlook_(outlook), records_(records), transfers_(transfers),
      movers_(movers), policy_(policy), tracer_(tracer), stores_(topology.spaces().size()) {
  const auto &units = topology.units();
  for (uint32_t s = 0; s < stores_.size(); ++s)
    stores_[s].refuge = s == topology.home() || std::none_of(units.begin(), units.end(), [s](const Unit &u) {
                          return u.desc.space == s;
                        });
}

bool Eviction::is_stuck(uint32_t space) const noexcept {
  return !transfers_.under_way() && !order_.pinned(space) && !stores_[space].later && !policy_.is_asking(space);
}

Outcome Eviction::make_room(uint32_t space, uint64_t bytes, const Staging *requester) noexcept {
  if (!cache_.is_counted(space)) return Outcome::kDone;
  const Store &store = stores_[space];
  const bool may_ask = requester && requester->worker && !store.clearing;
  if (may_ask && cache_.lacks(space, bytes) && cache_.lacks(space, bytes, store.saving) &&
      policy_.ask(space, bytes) == Outcome::kPending)
    return Outcome::kPending;
  if (cache_.lacks(space, bytes) && !store.clearing) clear(space, bytes, requester);
  if (cache_.lacks(space, bytes)) return Outcome::kPending;
  if (may_ask) policy_.next_asks_anew(space);
  return Outcome::kDone;
}

// Drops and saves until the memory is free, or will be when the saves have ended.
void Eviction::clear(uint32_t space, uint64_t bytes, const Staging *requester) noexcept {
  Store &store = stores_[space];
  store.clearing = true;
  store.later = false;
  order_.look_ahead(space);
  const auto needed = [&](const Replica &r) {
    return requester && std::any_of(requester->items.begin(), requester->items.end(),
                                   [&](const auto &i) { return &holder(*i.replica) == &r; });
  };
  order_.show(space, [&](Replica &r) {
    if (!cache_.lacks(space, bytes, store.saving)) return false;
    if (r.coming || needed(r)) return true;
    order_.evicted_one(space);
    if (order_.must_be_saved(r))
      save(r, Room::kMade);
    else
      drop(r);
    return cache_.lacks(space, bytes, store.saving);
  });
  store.clearing = false;
}

bool Eviction::free_room(uint32_t space, uint64_t bytes) noexcept {
  if (!cache_.is_counted(space)) return true;
  for (Replica *r = order_.oldest(space); r && r->unwanted && cache_.lacks(space, bytes);) {
    Replica *const next = r->newer;
    if (!order_.must_be_saved(*r)) drop(*r);
    r = next;
  }
  return !cache_.lacks(space, bytes);
}

void Eviction::count_on(Transfer &t, bool yes) noexcept {
  if (t.counted_on == yes) return;
  t.counted_on = yes;
  Replica &r = holder(*t.from);
  uint64_t &saving = stores_[r.space].saving;
  if (yes && r.counted_saves++ == 0) saving += r.bytes;
  if (!yes && --r.counted_saves == 0) saving -= r.bytes;
}

// Returns whether there is memory for a copy of `r` in that space, or can be at once.
bool Eviction::has_room(const Replica &r, uint32_t space, Room room) noexcept {
  const Replica *there = r.datum->extra()->replicas->in(space);
  if (there && there->allocated) return true;
  const uint64_t bytes = cache_.bytes_for(*r.datum, space);
  if (room == Room::kFree) return free_room(space, bytes);
  if (make_room(space, bytes, nullptr) == Outcome::kDone) return true;
  stores_[r.space].later |= !is_stuck(space);
  return false;
}

// Returns the space to save its contents to. NONE: no space, or only after other copies have ended (Store::later).
uint32_t Eviction::place_for(Replica &r, Room room) {
  const Datum &d = *r.datum;
  const Replicas &all = *d.extra()->replicas;
  const uint32_t home = topology_.home();
  const Routes &routes = movers_.routes();
  bool &later = stores_[r.space].later;
  uint32_t best = CONSORT_NONE;
  for (uint32_t s = 0; s < stores_.size(); ++s) {
    if (s == r.space || routes.next(r.space, s) != s || !movers_.on(r.space, s)) continue;
    const Replica *there = all.in(s);
    if (!r.windows.empty()) {  // only home has memory for all of them, if the step that opens them has allocated it
      if (s != home) continue;
      if (!there || !there->allocated) return later = true, CONSORT_NONE;
    }
    if (s == home && is_part(d) && !(there && there->allocated)) continue;  // a part has no memory there
    // In use there, although invalid: a task that overwrites it is about to start.
    if (there && (there->coming || there->pins)) return later = true, CONSORT_NONE;
    if (there && (there->lasting || (there->anchored && there->allocated))) return s;
    // Two spaces that both lack memory and save to each other would never end.
    if (!stores_[s].refuge || !has_room(r, s, room)) continue;
    if (best == CONSORT_NONE || routes.cost_ns(r.space, s) < routes.cost_ns(r.space, best)) best = s;
  }
  return best;
}

Outcome Eviction::save(Replica &r, Room room) noexcept try {
  constexpr uint8_t kMostInVain = 3;
  if (!r.windows.empty() && is_apart(r)) {
    bool any = false;
    for (Replica *w : r.windows) any |= order_.must_be_saved(*w) && save(*w, room) == Outcome::kDone;
    return any ? Outcome::kDone : Outcome::kRefused;
  }
  Datum &d = *r.datum;
  Replicas &all = *d.extra()->replicas;
  if (r.vain >= kMostInVain || all.retired) return Outcome::kRefused;
  if (all.held) return stores_[r.space].later = true, Outcome::kRefused;
  const uint32_t space = place_for(r, room);
  if (space == CONSORT_NONE) return Outcome::kRefused;
  Replica &to = records_.in(all, d, space);
  if (!to.allocated && records_.allocate(to) < 0) return Outcome::kRefused;
  auto t = std::make_unique<Transfer>(Transfer{.datum = &d, .from = &r, .to = &to, .last = &to, .saving = true});
  if (transfers_.send(*t) != Outcome::kDone) return Outcome::kRefused;
  count_on(*t.release(), true);
  ++stores_[r.space].statistics.saves;
  stores_[r.space].statistics.saved_bytes += r.base ? d.pub.bytes : r.bytes;
  return Outcome::kDone;
} catch (const std::bad_alloc &) {
  return Outcome::kRefused;
}

void Eviction::drop(Replica &r) noexcept {
  Replicas &all = *r.datum->extra()->replicas;
  SpaceStatistics &count = stores_[r.space].statistics;
  if (r.pins) ++count.needed_evictions;
  if (!r.left) all.valid = coherence::after(all.valid, r.space, coherence::Event::kDrop);
  if (tracer_) tracer_->evicted(*r.datum, r.space, r.bytes);
  records_.release(r);
  ++count.evictions;
}

// The replica stays if parts have begun to use its memory meanwhile.
void Eviction::leave(Replica &r) noexcept {
  if (!r.leaves || r.pins || !r.allocated) return;
  if (r.stays()) {
    r.leaves = false;
    return;
  }
  if (order_.must_be_saved(r)) {
    if (save(r, Room::kMade) != Outcome::kDone) r.leaves = false;
    return;
  }
  r.leaves = false;
  drop(r);
}

void Eviction::set_aside(Datum &d) noexcept {
  Replicas &all = *d.extra()->replicas;
  const bool has_home = all.lasting();
  for (const auto &r : all.all) {
    if (r->stays() || !r->allocated) continue;
    r->unwanted = true;
    if (!r->listed) continue;
    order_.relist(*r);
    if (order_.must_be_saved(*r) && has_contents(d) && has_home) save(*r, Room::kMade);
  }
}

// Saves owned replicas that would go first, except data that the next task overwrites. No memory is freed for the
// copies.
void Eviction::save_ahead(uint32_t space, uint32_t percent) noexcept {
  constexpr int kLooks = 16;  // candidates examined
  if (!cache_.is_counted(space) || transfers_.leaving(space) || stores_[space].clearing) return;
  const uint64_t limit = cache_.limit(space), wanted = limit / 100 * percent, taken = cache_.taken(space);
  if (taken + wanted <= limit || taken > limit) return;
  order_.look_ahead(space);
  uint64_t ready = limit - taken;
  int looks = kLooks;
  order_.show(space, [&](Replica &r) {
    const Replicas &all = *r.datum->extra()->replicas;
    if (!order_.must_be_saved(r))
      ready += r.bytes;
    else if (!r.coming && !all.claims && !outlook_.next(*r.datum).rewritten && save(r, Room::kFree) == Outcome::kDone)
      return false;
    return --looks && ready < wanted;
  });
}

}  // namespace consort
