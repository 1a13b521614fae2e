// hints.cpp — Memory, the part that policies wish something of: data ahead of a task, and what may go first.
//
// A policy may call under its own locks, so a hint is put aside (hint_ring.hpp), and taken up under the mutex by whoever
// comes by, a mover at the latest. By then the task may have run and the datum may be gone or in a writer's hands.
// A name that is alive under the mutex stays so until that is let go (forget()). Contents are brought only where a record
// says where they are, for whoever uses such a datum has his replica granted: a writer is a claim until he has
// ended. A datum in its first memory has no record, and nobody knows its writers; it gets one when a task that reads it
// is submitted after its last writer has ended, once there is a policy that prefetches.
#include "graph/access_order.hpp"
#include "graph/reduction.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

// Other layouts of a datum end with it, whatever flies.
bool MemoryState::may_be_hinted(const Datum &d) noexcept {
  const AccessOrder *own = discipline_if_any(d);
  return d.pub.bytes && (!own || !own->format_of);
}

void MemoryState::prefetch(const Task &t, uint32_t space, int32_t priority) noexcept {
  if (!hints_) return;
  if (!prefetching_.load(std::memory_order_relaxed)) prefetching_.store(true, std::memory_order_relaxed);
  if (space >= stores_.size() || !mover_to_[space]) return;
  bool any = false;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    if (!is_fetched(a)) continue;
    const Datum &d = *Datum::of(a.datum);
    const Placement *all = places_shown(d);
    if (!all || !all->valid || ((all->valid | all->arriving) & reach_[space]) || !may_be_hinted(d)) continue;
    any |= hints_->add({{d.pub.id}, t.pub.id, space, priority, Hints::kPrefetch});
  }
  if (any) mover_to_[space]->nudge();
}

void MemoryState::unneeded(consort_data_id datum, uint32_t space) noexcept {
  // It is in no hurry: taken up when the next comes by.
  if (hints_ && space < stores_.size()) hints_->add({datum, 0, space, 0, Hints::kUnneeded});
}

bool MemoryState::take_hints(ThreadState &h) noexcept {
  if (!has_hints()) return false;
  Lock lock(mutex_);
  serve();
  hand_out(h, lock);
  return true;
}

void MemoryState::heed() noexcept {
  Hints::Hint h;
  while (hints_->take(&h)) try {
      Datum *d = rt_.data.find(h.datum);
      if (!d || !DataTable::is(*d, h.datum)) continue;
      Replicas *all = replicas_if_any(*d);
      if (!all || all->retired) continue;
      if (h.what == Hints::kPrefetch) {
        heed_prefetch(h, *d, *all);
      } else if (Replica *r = all->in(h.space); r && r->allocated && !r->stays()) {
        r->unwanted = true;
        if (!r->listed) continue;
        unlist(*r);
        list(*r);
      }
    } catch (const std::bad_alloc &) {  // it was only a hint
    }
}

void MemoryState::heed_prefetch(const Hints::Hint &h, Datum &d, Replicas &all) {
  constexpr size_t kMost = 1024;
  const auto there = coherence::one(h.space);
  if (!is_live(*rt_.tasks.at(static_cast<uint32_t>(h.task)), h.task) || stores_[h.space].wished.size() >= kMost) return;
  if (all.claims || all.held || !all.valid || !has_contents(d)) return;
  if ((all.valid | all.arriving | all.hinted) & there) return;
  MemoryRequest &w =
      *keep({.what = MemoryRequest::kBring, .space = h.space, .priority = h.priority, .task = h.task}, d);
  try {
    enlist(w);
  } catch (const std::bad_alloc &) {
    over(w);
    throw;
  }
  all.hinted |= there;
}

void MemoryState::keep_records(const Task &t) noexcept try {
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    if (!is_fetched(t.pub.access[i])) continue;
    Datum &d = *Datum::of(t.pub.access[i].datum);
    const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
    if (space == data_state::kMany || space == data_state::kNowhere || !has_contents(d) || !d.pub.bytes) continue;
    // One with parts, phases or a recording has others to answer for than its last writer.
    if ((d.generation.load(std::memory_order_relaxed) & Datum::kOdd) || discipline_if_any(d) || d.keeper) continue;
    if (d.writer && is_live(*rt_.tasks.at(static_cast<uint32_t>(d.writer)), d.writer)) continue;
    Lock lock(mutex_);
    replicas_of(d);
  }
} catch (const std::bad_alloc &) {  // then prefetches of it are dropped
}

}  // namespace consort
