// partition_coherence.cpp — Memory, the part that steps between a datum and its parts see (graph/partition_order.hpp).
//
// At home parts are windows into their whole's memory; elsewhere too, where the whole was when they were opened and the
// filter has a place there (partition_alias.cpp). So nothing need move: parts become valid where the whole is, the whole
// where all parts are. What else has to be copied goes home, for there every part has its place.
#include <algorithm>

#include "graph/failed_task.hpp"
#include "graph/partition_plan.hpp"
#include "graph/reduction.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

using coherence::one;

// -- what a step has to wait for ------------------------------------------------------------------------------

// Until nothing of it is under way, and nothing new begins before settle(): it is about to be written under another
// name.
void MemoryState::stand_still(Datum &d, Needs &needs) const noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all) return;
  all->held = true;
  if (all->flying) all->next_flying = std::exchange(needs.flying, all);
}

void MemoryState::before_down(const PartitionPlan &plan, bool to_write, Needs &needs) {
  Datum &whole = *plan.whole;
  const bool first = to_write && manages(needs.space) && is_nowhere(whole);
  Replicas *all = first ? replicas_of(whole) : replicas_if_any(whole);
  if (!all) return;  // it lives in one space, and so do its parts
  const bool contents = has_contents(whole);
  Replica &own = *replica_in(*all, whole, needs.space);
  own.anchored = true;
  unlist(own);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *its = replicas_if_any(*plan.part[i])) replica_in(*its, *plan.part[i], needs.space);
  bool elsewhere = false;
  for (size_t i = 0; contents && plan.covers() && i < all->all.size(); ++i) {
    Replica &r = *all->all[i];
    if (&r != &own && r.allocated && all->is_valid(r)) elsewhere |= open_windows(plan, r);
  }
  if (contents && !all->is_valid(own) && !elsewhere)
    needs.items.push_back({&whole, CONSORT_M_R, nullptr});
  else if (!own.allocated || (!contents && own.coming))
    needs.items.push_back({&whole, CONSORT_M_W, nullptr});
  if (to_write) stand_still(whole, needs);
}

// Where a part is valid in memory of its whole.
coherence::Spaces MemoryState::in_place(const Datum &part) const noexcept {
  const auto home = one(rt_.topology->home());
  const Replicas *its = replicas_if_any(part);
  if (!its) return home;
  coherence::Spaces here = its->valid & home;
  for (const auto &r : its->all)
    if (r->base && !r->base->left) here |= its->valid & one(r->space);
  return here;
}

// Where all parts of an open plan are.
coherence::Spaces MemoryState::common(const PartitionPlan &plan) const noexcept {
  const Replicas *all = replicas_if_any(*plan.whole);
  const Replica *own = all ? all->in(rt_.topology->home()) : nullptr;
  coherence::Spaces everywhere = !all || (own && own->allocated) ? one(rt_.topology->home()) : 0;
  for (size_t i = 0; all && i < all->all.size(); ++i)
    if (!all->all[i]->windows.empty()) everywhere |= one(all->all[i]->space);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (const Datum &d = *plan.part[i]; d.pub.bytes && has_contents(d)) everywhere &= in_place(d);
  return everywhere;
}

// How many bytes would have to be brought into this memory of a whole, so that all of it is there.
uint64_t MemoryState::lacking(const PartitionPlan &plan, const Replica &base) const noexcept {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < plan.n; ++i) {
    const Datum &d = *plan.part[i];
    if (!d.pub.bytes || !has_contents(d)) continue;
    const Replicas *its = replicas_if_any(d);
    const Replica *r = its ? its->in(base.space) : nullptr;
    if (!r || r->base != &base) return UINT64_MAX;  // it has no place there
    if (!its->is_valid(*r)) bytes += d.pub.bytes;
  }
  return bytes;
}

// The whole is to be read, or to be used alone: then nobody uses the parts, and the space that lacks least will do.
void MemoryState::before_up(const PartitionPlan &plan, bool gather, Needs &needs) {
  const uint32_t home = needs.space;
  Replicas *all = replicas_if_any(*plan.whole);
  if (all) {
    all->all.reserve(all->all.size() + all->left_over.size());
    take_back(*all);
  }
  bool used_at_home = false;
  uint64_t least = 0;  // of bytes to be brought, where it costs least
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    if (gather) stand_still(d, needs);
    const Replicas *its = replicas_if_any(d);
    const Replica *there = its ? its->in(home) : nullptr;
    used_at_home |= its ? there && (there->coming || there->pins || its->opened) : d.pub.bytes != 0;
    if (has_contents(d) && !(in_place(d) & one(home))) least += d.pub.bytes;
  }
  const coherence::Spaces valid = common(plan);
  if ((valid & one(home)) || (valid && (gather || !used_at_home))) {
    if (!all || (gather && !needs.flying)) return;  // settle() follows at once
    unshut(*plan.whole, valid);
    all->held = gather;
    return;
  }
  for (size_t i = 0; gather && all && i < all->all.size(); ++i) {
    const Replica &r = *all->all[i];
    if (r.space == home || r.windows.empty() || !stores_[r.space].waiting.empty()) continue;
    const uint64_t bytes = lacking(plan, r);
    if (bytes >= least) continue;
    least = bytes;
    needs.space = r.space;
  }
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    const Replicas *its = replicas_if_any(d);
    if (!its) continue;
    const Replica *there = its->in(needs.space);
    if (has_contents(d) && !(its->valid & one(needs.space)))
      needs.items.push_back({&d, CONSORT_M_R, nullptr});
    else if (!has_contents(d) && needs.space == home && (!there || !there->allocated || there->coming))
      needs.items.push_back({&d, CONSORT_M_W, nullptr});
  }
}

// Its parts go, with the copies that they were reduced on and the plans below: what they have is worth nothing.
void MemoryState::before_end(const PartitionPlan &plan, Needs &needs) const noexcept {
  const auto leave_off = [&](Datum &d) {
    Replicas *all = replicas_if_any(d);
    if (!all) return;
    all->valid = 0;
    ++all->version;
    stand_still(d, needs);
  };
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    leave_off(d);
    for_each_copy(d, leave_off);
    for (const PartitionPlan *below = plan.discipline[i].plans; below; below = below->next) before_end(*below, needs);
  }
}

Outcome MemoryState::stage_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept try {
  Lock lock(mutex_);
  Needs needs{rt_.topology->home(), t->extra->reserved->items};
  switch (turn) {
    case Turn::kDown:
    case Turn::kDownToWrite:
      before_down(plan, turn == Turn::kDownToWrite, needs);
      break;
    case Turn::kLetWrite:
      stand_still(*plan.whole, needs);
      break;
    case Turn::kLetReadWhole:
    case Turn::kGather:
      before_up(plan, turn == Turn::kGather, needs);
      break;
    case Turn::kShut:
      for (uint32_t i = 0; i < plan.n; ++i) stand_still(*plan.part[i], needs);
      break;
    case Turn::kEnd:
      before_end(plan, needs);
  }
  if (needs.items.empty() && !needs.flying) {
    settle(plan, turn);
    return Outcome::kDone;
  }
  Staging &s = stage_by_itself(t, needs.space);
  wait_until_landed(s, needs.flying);
  return sent(s);
} catch (const std::bad_alloc &) {  // nobody knows what is where: none is believed
  record_failure(rt_, t, CONSORT_E_NOMEM, "no memory for the records of a datum and its parts", plan.whole,
                 CONSORT_NONE, nullptr);
  const auto blame = rt_.failures.find(t->pub.id);
  const auto doubt = [&](Datum &d) {
    rt_.data.blame(d, blame);
    d.state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
  };
  if (turn != Turn::kEnd) doubt(*plan.whole);  // which may be gone
  const bool up = turn == Turn::kLetReadWhole || turn == Turn::kGather;
  for (uint32_t i = 0; up && i < plan.n; ++i) doubt(*plan.part[i]);
  Lock lock(mutex_);
  settle(plan, turn);
  return Outcome::kDone;
}

// -- what it makes of them ------------------------------------------------------------------------------------

// Its parts are written from now on.
void MemoryState::shut(Datum &d) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all) return;
  all->shut = true;
  all->held = false;
  all->valid = 0;
  ++all->version;
}

// It is read again. Where not all of it is valid its parts keep that memory, and it gets another if it is wanted there.
void MemoryState::unshut(Datum &d, coherence::Spaces valid) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all || !all->shut) return;
  const uint32_t home = rt_.topology->home();
  all->shut = false;
  all->valid = valid;
  ++all->version;
  std::erase_if(all->all, [&](std::unique_ptr<Replica> &r) {
    if (r->windows.empty() || all->is_valid(*r)) return false;
    if (r->space == home || r->lasting) {  // what comes there is the whole, and nobody reads a part there
      for (Replica *w : r->windows) w->datum->extra()->replicas->valid &= ~one(r->space);
      return false;
    }
    r->left = true;
    all->left_over.push_back(std::move(r));  // open_windows() made room
    return true;
  });
}

void MemoryState::parts_have_no_place(const PartitionPlan &plan) noexcept {
  Lock lock(mutex_);
  lose_place(plan);
}

// The whole has no memory at home, for there was no room: nor have they, until they are opened again.
void MemoryState::lose_place(const PartitionPlan &plan) noexcept {
  close_windows(plan);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *its = replicas_if_any(*plan.part[i]))
      if (Replica *r = its->in(rt_.topology->home())) r->allocated = r->lasting = false;
}

void MemoryState::settle(const PartitionPlan &plan, Turn turn) noexcept {
  if (turn == Turn::kEnd) return;  // of a whole that may be gone, too
  const auto home = one(rt_.topology->home());
  Replicas *all = replicas_if_any(*plan.whole);
  Replica *own = all ? all->in(rt_.topology->home()) : nullptr;
  const bool down = turn == Turn::kDown || turn == Turn::kDownToWrite, placed = !all || (own && own->allocated);
  if (down && !placed) lose_place(plan);
  for (uint32_t i = 0; down && placed && i < plan.n; ++i) {
    Replicas *its = replicas_if_any(*plan.part[i]);
    if (!its) continue;
    if (Replica *r = its->in(rt_.topology->home())) r->allocated = r->lasting = true;
    its->valid = all && has_contents(*plan.whole) ? all->valid & home : home;
    for (const auto &r : its->all)
      if (r->base && all->is_valid(*r->base)) its->valid |= one(r->space);
    ++its->version;
  }
  if (down && all) ++all->opened;
  // It may have got its record since its parts were opened.
  if (own && own->allocated && (down || turn == Turn::kLetWrite || turn == Turn::kLetReadWhole)) {
    own->anchored = true;
    unlist(*own);
  }
  if (turn == Turn::kDownToWrite || turn == Turn::kLetWrite) shut(*plan.whole);
  if (turn == Turn::kLetReadWhole || turn == Turn::kGather) {
    const coherence::Spaces valid = common(plan);
    if (turn == Turn::kGather) close_windows(plan);
    unshut(*plan.whole, valid || !placed ? valid : home);
    if (all) all->held = false;
  }
  if (turn == Turn::kShut) close_windows(plan);
  if ((turn == Turn::kGather || turn == Turn::kShut) && all && all->opened) --all->opened;
}

void MemoryState::settle_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept {
  const Staging *s = t->extra ? t->extra->staging : nullptr;
  if (!s) return;  // stage_step() did
  {
    Lock lock(mutex_);
    settle(plan, turn);
  }
  if (s->status >= 0) return;
  record_failure(rt_, t, s->status, s->text, s->items.empty() ? nullptr : s->items[0].datum, CONSORT_NONE, nullptr);
  for (const auto &item : s->items) {  // any of them may not have come: none is believed
    rt_.data.blame(*item.datum, rt_.failures.find(t->pub.id));
    item.datum->state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
  }
}

}  // namespace consort
