#include "memory/policy_hints.hpp"

#include "graph/access_order.hpp"
#include "graph/reduction.hpp"

namespace consort {
namespace {

// Other formats of a datum end with it, whatever is in flight.
bool may_be_hinted(const Datum &d) noexcept {
  const AccessOrder *own = discipline_if_any(d);
  return d.pub.bytes && (!own || !own->format_of);
}

}  // namespace

void PolicyHints::prefetch(const Task &t, uint32_t space, int32_t priority) noexcept {
  if (!ring_) return;
  if (!prefetches()) prefetching_.store(true, std::memory_order_relaxed);
  if (!movers_.has(space)) return;
  bool any = false;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    if (!is_fetched(a)) continue;
    const Datum &d = *Datum::of(a.datum);
    const Placement *all = placement_of(d);
    if (!all || !all->valid || ((all->valid | all->arriving) & cost_.reach(space)) || !may_be_hinted(d)) continue;
    any |= ring_->add({{d.pub.id}, t.pub.id, space, priority, Hints::kPrefetch});
  }
  if (any) movers_.leading_to(space)->nudge();
}

// Not urgent: handled with the next hints.
void PolicyHints::unneeded(consort_data_id datum, uint32_t space) noexcept {
  if (ring_ && space < movers_.spaces()) ring_->add({datum, 0, space, 0, Hints::kUnneeded});
}

void PolicyHints::take_up() noexcept {
  if (!any()) return;
  Hints::Hint h;
  while (ring_->take(&h)) try {
      take_up(h);
    } catch (const std::bad_alloc &) {  // a hint may be lost
    }
}

void PolicyHints::take_up(const Hints::Hint &h) {
  Datum *d = data_.find(h.datum);
  if (!d || !DataTable::is(*d, h.datum)) return;
  Replicas *all = replicas_if_any(*d);
  if (!all || all->retired) return;
  if (h.what == Hints::kPrefetch) return take_up_prefetch(h, *d, *all);
  Replica *r = all->in(h.space);
  if (!r || !r->allocated || r->stays()) return;
  r->unwanted = true;
  order_.relist(*r);
}

void PolicyHints::take_up_prefetch(const Hints::Hint &h, Datum &d, Replicas &all) {
  constexpr size_t kMost = 1024;
  const auto there = coherence::one(h.space);
  if (!is_live(*tasks_.at(static_cast<uint32_t>(h.task)), h.task)) return;
  if (requests_.waiting(h.space).size() >= kMost) return;
  if (all.claims || all.held || !all.valid || !has_contents(d)) return;
  if ((all.valid | all.arriving | all.hinted) & there) return;
  MemoryRequest &w =
      requests_.add({.what = MemoryRequest::kBring, .space = h.space, .priority = h.priority, .task = h.task}, d);
  try {
    requests_.enlist(w);
  } catch (const std::bad_alloc &) {
    requests_.remove(w);
    throw;
  }
  all.hinted |= there;
}

// Its contents are in one space, and only its last writer can change them; that has ended.
bool PolicyHints::may_have_record(const Datum &d) const noexcept {
  const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
  if (space == data_state::kMany || space == data_state::kNowhere || !has_contents(d) || !d.pub.bytes) return false;
  // With parts, phases or a recording, other tasks than its last writer may change it.
  if ((d.generation.load(std::memory_order_relaxed) & Datum::kOdd) || discipline_if_any(d) || d.keeper) return false;
  return !d.writer || !is_live(*tasks_.at(static_cast<uint32_t>(d.writer)), d.writer);
}

void PolicyHints::keep_records(const Task &t, std::mutex &mutex) noexcept try {
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    if (!is_fetched(t.pub.access[i])) continue;
    Datum &d = *Datum::of(t.pub.access[i].datum);
    if (!may_have_record(d)) continue;
    MemoryLock lock(mutex);
    records_.of(d);
  }
} catch (const std::bad_alloc &) {  // then prefetches of it are dropped
}

}  // namespace consort
