// requests.cpp — Memory, the part that the application asks: data ahead of time, room given back, write-through.
#include <algorithm>

#include "base/last_error.hpp"
#include "graph/complete.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

using coherence::Event;

bool MemoryState::leads_to(uint32_t space) const noexcept {
  const auto n = static_cast<uint32_t>(stores_.size());
  for (uint32_t from = 0; from < n; ++from)
    if (from != space && mover_of_[from * n + space]) return true;
  return false;
}

MemoryRequest *MemoryState::keep(const MemoryRequest &wanted, Datum &d) {
  auto w = std::make_unique<MemoryRequest>(wanted);
  w->memory = &rt_.memory;
  w->id = ++last_wish_;
  w->datum = &d;
  return wishes_.emplace(w->id, std::move(w)).first->second.get();
}

MemoryRequest *MemoryState::wish(const MemoryRequest &wanted, Datum &d) {
  Lock lock(mutex_);
  return keep(wanted, d);
}

void MemoryState::over(MemoryRequest &w) noexcept {
  if (w.transfer) w.transfer->wish = nullptr;
  if (w.begun) std::erase(stores_[w.space].wished, &w);
  if (w.begun && w.task) w.datum->extra()->replicas->hinted &= ~coherence::one(w.space);
  wishes_.erase(w.id);
}

void MemoryState::forget(MemoryRequest *w) noexcept {
  Lock lock(mutex_);
  over(*w);
}

// Before those that are less urgent. May throw.
void MemoryState::enlist(MemoryRequest &w) {
  auto &all = stores_[w.space].wished;
  const auto less_urgent = [](int32_t priority, const MemoryRequest *other) { return priority > other->priority; };
  all.insert(std::upper_bound(all.begin(), all.end(), w.priority, less_urgent), &w);
  w.begun = true;
  w.version = w.datum->extra()->replicas->version;
}

void MemoryState::turn(MemoryRequest *w) noexcept {
  Lock lock(mutex_);
  take_turn(*w);
  serve();  // some may have been dropped, or may be now
  hand_out(*rt_.this_thread(), lock);
}

void MemoryState::take_turn(MemoryRequest &w) noexcept try {
  Datum &d = *w.datum;
  const uint32_t alone = data_state::space(d.state.load(std::memory_order_relaxed));  // where it lives, if in one space
  const bool many = alone == data_state::kMany;
  // Where nothing moves no record says where contents are: holds would not keep it up to date.
  if (!in_use() || w.cancelled || !d.pub.bytes || (w.what == MemoryRequest::kBring && !has_contents(d))) return over(w);
  switch (w.what) {
    case MemoryRequest::kBring:
    case MemoryRequest::kRoom:
      if (alone == w.space) break;
      replicas_of(d);
      return enlist(w);  // serve() looks at it
    case MemoryRequest::kWontUse:
      if (many) set_aside(d);
      break;
    case MemoryRequest::kEvict:
      if (!many && alone != w.space) break;
      nobody_else(*replicas_of(d));
      if (Replica *r = d.extra()->replicas->in(w.space); r && r->allocated && !r->stays()) {
        r->leaves = true;
        leave(*r);
      }
      break;
    case MemoryRequest::kThrough:
      if (!many && !w.spaces) break;
      nobody_else(*replicas_of(d));
      d.extra()->replicas->through = w.spaces;
      write_through(d);
      break;
  }
  over(w);
} catch (const std::bad_alloc &) {  // it was only a wish
  over(w);
}

consort_status MemoryState::cancel(ThreadState &thread, uint64_t id) noexcept {
  Lock lock(mutex_);
  const auto found = wishes_.find(id);
  if (found == wishes_.end()) {
    if (id && id <= last_wish_) return CONSORT_AGAIN;
    return set_error(CONSORT_E_INVAL, "no prefetch of this runtime: consort_prefetch() gives its name");
  }
  MemoryRequest &w = *found->second;
  if (!w.begun) {
    w.cancelled = true;
    return CONSORT_OK;
  }
  Transfer *t = w.transfer;
  if (!t) {
    over(w);
    return CONSORT_OK;
  }
  if (!t->waiters.empty() || !mover_of(*t)->take_back(t)) return CONSORT_AGAIN;
  landed(t, CONSORT_E_CANCELLED);
  serve();
  hand_out(thread, lock);
  under_way_.fetch_sub(1, std::memory_order_release);
  return CONSORT_OK;
}

// Room that costs nobody anything: what is free, and what nobody wants.
bool MemoryState::free_room(Store &store, uint64_t bytes) noexcept {
  if (!store.counted) return true;
  const auto enough = [&] { return store.used - store.spare_bytes + bytes <= store.limit; };
  for (Replica *r = store.oldest; r && r->unwanted && !enough();) {
    Replica *const next = r->newer;
    if (!is_only(*r)) drop(*r);
    r = next;
  }
  return enough();
}

// The wishes of a space, the most urgent first, as far as there is room. Tasks that wait for room go first.
void MemoryState::pursue(uint32_t space) noexcept try {
  Store &store = stores_[space];
  for (size_t i = 0; i < store.wished.size();) {
    MemoryRequest &w = *store.wished[i];
    Datum &d = *w.datum;
    Replicas &all = *d.extra()->replicas;
    const Replica *there = all.in(space);
    const bool done =
        w.what == MemoryRequest::kRoom ? there && there->allocated : (all.valid & coherence::one(space)) != 0;
    const bool in_vain = w.task && !is_live(*rt_.tasks.at(static_cast<uint32_t>(w.task)), w.task);
    if (done || in_vain || all.retired || all.held || all.claims || all.version != w.version ||
        (w.what == MemoryRequest::kBring && !all.valid) || (there && there->coming)) {
      over(w);
      continue;
    }
    if (!store.waiting.empty()) return;
    Replica &r = *replica_in(all, d, space);
    if (!r.allocated) {
      if (!free_room(store, bytes_in(d, space))) return;
      if (allocate(r) < 0) {
        over(w);
        continue;
      }
    }
    switch (w.what == MemoryRequest::kRoom ? Sent::kNever : fetch(r, nullptr, &w)) {
      case Sent::kYes:
        store.wished.erase(store.wished.begin() + static_cast<ptrdiff_t>(i));
        break;
      case Sent::kLater:
        ++i;
        break;
      case Sent::kNever:
        over(w);
        break;
    }
  }
} catch (const std::bad_alloc &) {  // they are looked at again
}

// All its replicas to the end where room is taken; the only valid one home, if it has memory there.
void MemoryState::set_aside(Datum &d) noexcept {
  Replicas &all = *d.extra()->replicas;
  const bool has_home = all.lasting();
  for (const auto &r : all.all) {
    if (r->stays() || !r->allocated) continue;
    r->unwanted = true;
    if (!r->listed) continue;
    unlist(*r);
    list(*r);
    if (is_only(*r) && has_contents(d) && has_home) save(*r, Room::kMade);
  }
}

void MemoryState::drop(Replica &r) noexcept {
  Replicas &all = *r.datum->extra()->replicas;
  if (r.pins) ++stores_[r.space].needed_evictions;
  if (!r.left) all.valid = coherence::after(all.valid, r.space, Event::kDrop);
  release(r);
  ++stores_[r.space].evictions;
}

// One that was asked to go: now, or when it has been saved. It stays if parts have begun to use its memory meanwhile.
void MemoryState::leave(Replica &r) noexcept {
  if (!r.leaves || r.pins || !r.allocated) return;
  if (r.stays()) {
    r.leaves = false;
    return;
  }
  if (is_only(r)) {
    if (!save(r, Room::kMade)) r.leaves = false;
    return;
  }
  r.leaves = false;
  drop(r);
}

void MemoryState::nobody_else(Replicas &all) noexcept {
  for (const auto &r : all.all)
    if (std::exchange(r->unsure, false)) list(*r);
}

void MemoryState::write_through(Datum &d) noexcept try {
  const Replicas &all = *d.extra()->replicas;
  if (!has_contents(d) || all.retired) return;
  for (uint32_t s = 0; s < stores_.size(); ++s) {
    if (!(all.through >> s & 1) || (all.valid & coherence::one(s))) continue;
    MemoryRequest &w = *keep({.what = MemoryRequest::kBring, .space = s}, d);
    try {
      enlist(w);
    } catch (const std::bad_alloc &) {
      return over(w);
    }
  }
} catch (const std::bad_alloc &) {  // as many copies as there is memory for their records
}

uint32_t MemoryState::state_in(const Datum &d, uint32_t space) noexcept {
  enum : uint32_t { kRoom = 1, kValid = 2, kComing = 4 };  // CONSORT_IN_*
  Lock lock(mutex_);
  const uint32_t alone = data_state::space(d.state.load(std::memory_order_relaxed));
  const uint32_t valid = has_contents(d) ? uint32_t{kValid} : 0;
  if (!d.pub.bytes) return kRoom | kValid;
  if (alone != data_state::kMany) return alone == space ? kRoom | valid : 0;
  const Replicas &all = *d.extra()->replicas;
  const Replica *r = all.in(space);
  if (!r || !r->allocated) return 0;
  return kRoom | (all.is_valid(*r) ? valid : 0) | (r->coming ? uint32_t{kComing} : 0);
}

}  // namespace consort
