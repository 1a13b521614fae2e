#include "memory/requests.hpp"

#include <bit>

#include "base/last_error.hpp"

namespace consort {

void Requests::turn(MemoryRequest &w) noexcept try {
  // Without movers no record holds the location of contents, since holds would not update it.
  if (!movers_.any() || w.cancelled || !w.datum->pub.bytes ||
      (w.what == MemoryRequest::kBring && !has_contents(*w.datum)))
    return queue_.remove(w);
  carry_out(w);
  if (!w.begun) queue_.remove(w);
} catch (const std::bad_alloc &) {  // a request may be dropped
  queue_.remove(w);
}

// Carries the request out, or queues it if it has to wait.
void Requests::carry_out(MemoryRequest &w) {
  Datum &d = *w.datum;
  // the space where it lives, if it is one
  const uint32_t alone = data_state::space(d.state.load(std::memory_order_relaxed));
  const bool many = alone == data_state::kMany;
  switch (w.what) {
    case MemoryRequest::kBring:
    case MemoryRequest::kRoom:
      if (alone == w.space) return;
      records_.of(d);
      return queue_.enlist(w);  // pursue() handles it
    case MemoryRequest::kWontUse:
      if (many) eviction_.set_aside(d);
      return;
    case MemoryRequest::kEvict:
      if (!many && alone != w.space) return;
      records_.clear_unsure(records_.of(d));
      if (Replica *r = d.extra()->replicas->in(w.space); r && r->allocated && !r->stays()) {
        r->leaves = true;
        eviction_.leave(*r);
      }
      return;
    case MemoryRequest::kThrough:
      if (!many && !w.spaces) return;
      records_.clear_unsure(records_.of(d));
      d.extra()->replicas->through = w.spaces;
      return write_through(d);
  }
}

Outcome Requests::cancel(uint64_t id, Transfer **taken_back) noexcept {
  MemoryRequest *const w = queue_.find(id);
  if (!w) {
    if (queue_.was_given(id)) return Outcome::kPending;
    set_error(CONSORT_E_INVAL, "no prefetch of this runtime: consort_prefetch() gives its name");
    return Outcome::kRefused;
  }
  if (!w->begun) {
    w->cancelled = true;
    return Outcome::kDone;
  }
  Transfer *const t = w->transfer;
  if (!t) {
    queue_.remove(*w);
    return Outcome::kDone;
  }
  if (!t->waiters.empty() || !transfers_.take_back(*t)) return Outcome::kPending;
  *taken_back = t;
  return Outcome::kDone;
}

// Returns whether it is fulfilled, its contents were overwritten, or are about to change.
bool Requests::is_over(const MemoryRequest &w, const Replicas &all) const noexcept {
  const Replica *there = all.in(w.space);
  const bool done =
      w.what == MemoryRequest::kRoom ? there && there->allocated : (all.valid & coherence::one(w.space)) != 0;
  const bool in_vain = w.task && !is_live(*tasks_.at(static_cast<uint32_t>(w.task)), w.task);
  return done || in_vain || all.retired || all.held || all.claims || all.version != w.version ||
         (w.what == MemoryRequest::kBring && !all.valid) || (there && there->coming);
}

// kDone: a transfer carries it out. kPending: not possible now. kRefused: it has ended.
Outcome Requests::try_to_carry_out(MemoryRequest &w) {
  Replica &r = records_.in(*w.datum->extra()->replicas, *w.datum, w.space);
  if (!r.allocated && records_.allocate(r) < 0) return Outcome::kRefused;
  return w.what == MemoryRequest::kRoom ? Outcome::kRefused : fetches_.fetch(r, nullptr, &w);
}

void Requests::pursue(uint32_t space) noexcept try {
  auto &waiting = queue_.waiting(space);
  for (size_t i = 0; i < waiting.size();) {
    MemoryRequest &w = *waiting[i];
    Replicas &all = *w.datum->extra()->replicas;
    if (is_over(w, all)) {
      queue_.remove(w);
      continue;
    }
    if (!admission_.waiting(space).empty()) return;
    const Replica &r = records_.in(all, *w.datum, space);
    if (!r.allocated && !eviction_.free_room(space, cache_.bytes_for(*w.datum, space))) return;
    switch (try_to_carry_out(w)) {
      case Outcome::kDone:
        waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
        break;
      case Outcome::kPending:
        ++i;
        break;
      case Outcome::kRefused:
        queue_.remove(w);
        break;
    }
  }
} catch (const std::bad_alloc &) {  // they are retried
}

void Requests::write_through(Datum &d) noexcept try {
  const Replicas &all = *d.extra()->replicas;
  if (!has_contents(d) || all.retired) return;
  for (coherence::Spaces left = all.through & ~all.valid; left; left &= left - 1) {
    MemoryRequest &w = queue_.add(
        {.what = MemoryRequest::kBring, .space = static_cast<uint32_t>(std::countr_zero(left))}, d);
    try {
      queue_.enlist(w);
    } catch (const std::bad_alloc &) {
      return queue_.remove(w);
    }
  }
} catch (const std::bad_alloc &) {  // as many copies as records can be allocated
}

}  // namespace consort
