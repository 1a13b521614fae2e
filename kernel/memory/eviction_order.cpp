#include "memory/eviction_order.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "memory/window.hpp"
#include "sched/policy.hpp"

namespace consort {

void EvictionOrder::list(Replica &r) noexcept {
  if (r.listed || r.stays() || r.pins || !r.allocated) return;
  Store &store = stores_[r.space];
  r.listed = true;
  store.evictable += r.bytes;
  r.newer = r.unwanted ? store.oldest : nullptr;
  r.older = r.unwanted ? nullptr : store.newest;
  (r.older ? r.older->newer : store.oldest) = &r;
  (r.newer ? r.newer->older : store.newest) = &r;
  r.age = ++store.uses;
  if (!store.tight || r.looked_at) return;
  rank(r);
  store.victims.add(r);
}

void EvictionOrder::unlist(Replica &r) noexcept {
  if (!r.listed) return;
  Store &store = stores_[r.space];
  (r.older ? r.older->newer : store.oldest) = r.newer;
  (r.newer ? r.newer->older : store.newest) = r.older;
  r.listed = false;
  store.evictable -= r.bytes;
  store.victims.remove(r);
}

void EvictionOrder::pin(Replica &r) noexcept {
  if (r.pins++) return;
  unlist(r);
  stores_[r.space].pinned += r.bytes;
  if (r.base) pin(*r.base);
}

void EvictionOrder::unpin(Replica &r) noexcept {
  if (--r.pins) return;
  stores_[r.space].pinned -= r.bytes;
  r.last_use_ns = policy_.chooses_victims() ? clock_.now() : 0;
  list(r);
  if (r.base) unpin(*r.base);
}

// The position of the next task that reads it or one of its windows.
uint64_t EvictionOrder::next_use(const Replica &r) noexcept {
  uint64_t place = outlook_.next(*r.datum).place;
  for (const Replica *w : r.windows) place = std::min(place, next_use(*w));
  return place;
}

// The order of eviction: worthless contents; then the latest next use; then replicas that need no save; then the
// longest unused. Replicas that are to be kept go last.
void EvictionOrder::rank(Replica &r) noexcept {
  enum : uint64_t { kWorthless, kOrdinary, kKept };
  const Replicas &all = *r.datum->extra()->replicas;
  const bool kept = all.through & coherence::one(r.space);
  const uint64_t level = r.unwanted || is_worthless(r) ? kWorthless : kept ? kKept : kOrdinary;
  static_assert(NextUse::kNever < uint64_t{1} << 62);
  if (level == kOrdinary && r.chosen && r.chosen >> Replica::kPlaceBits == stores_[r.space].choices) {
    r.rank = 1 + (r.chosen & ((1u << Replica::kPlaceBits) - 1));  // after all worthless contents, before the rest
    return;
  }
  const uint64_t nearness = level == kWorthless ? 0 : NextUse::kNever - next_use(r);
  r.rank = level << 62 | (nearness << 1 & NextUse::kNever) | is_only(r, home_);
}

void EvictionOrder::look_ahead(uint32_t space) noexcept {
  Store &store = stores_[space];
  outlook_.refresh();
  if (!store.tight) {
    store.tight = true;
    for (Replica *r = store.oldest; r; r = r->newer) rank(*r), store.victims.add(*r);
  } else if (!store.evictions_until_ranked) {  // tasks may have used them elsewhere, or were cancelled
    store.victims.rank_all([&](Replica &r) noexcept { rank(r); });
  } else {
    return;
  }
  store.evictions_until_ranked = store.victims.size();
}

Replica *EvictionOrder::next_victim(Store &store) noexcept {
  for (;;) {
    Replica *const r = store.victims.first();
    if (!r) return nullptr;
    const uint64_t before = r->rank;
    rank(*r);
    if (r->rank == before) return r;
    store.victims.moved(*r);  // each at most once, since nothing changes meanwhile
  }
}

void EvictionOrder::begin_choice(uint32_t space) noexcept {
  ++stores_[space].choices;
  stores_[space].evictions_until_ranked = 0;
  look_ahead(space);
}

void EvictionOrder::choose(Replica &r, uint64_t place) noexcept {
  Store &store = stores_[r.space];
  r.chosen = store.choices << Replica::kPlaceBits | place;
  rank(r);
  store.victims.moved(r);
}

}  // namespace consort
