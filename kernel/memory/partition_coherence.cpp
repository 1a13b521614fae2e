#include "memory/partition_coherence.hpp"

#include <utility>

#include "graph/partition_plan.hpp"
#include "graph/reduction.hpp"
#include "machine/topology.hpp"

namespace consort {

using coherence::one;

// -- what a step has to wait for ------------------------------------------------------------------------------

// Waits until no copy of the datum is in flight, and starts none before settle(): it is about to be written under
// another name.
void PartitionCoherence::stand_still(Datum &d, Needs &needs) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all) return;
  all->held = true;
  if (all->flying) all->next_flying = std::exchange(needs.flying, all);
}

void PartitionCoherence::before_down(const PartitionPlan &plan, bool to_write, Needs &needs) {
  Datum &whole = *plan.whole;
  const bool first = to_write && cache_.is_counted(needs.space) && is_nowhere(whole);
  Replicas *all = first ? &records_.of(whole) : replicas_if_any(whole);
  if (!all) return;  // it lives in one space, and so do its parts
  const bool contents = has_contents(whole);
  Replica &own = records_.in(*all, whole, needs.space);
  own.anchored = true;
  order_.unlist(own);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *its = replicas_if_any(*plan.part[i])) records_.in(*its, *plan.part[i], needs.space);
  bool elsewhere = false;
  for (size_t i = 0; contents && plan.covers() && i < all->all.size(); ++i) {
    Replica &r = *all->all[i];
    if (&r != &own && r.allocated && all->is_valid(r)) elsewhere |= alias_.open_windows(plan, r);
  }
  if (contents && !all->is_valid(own) && !elsewhere)
    needs.items.push_back({&whole, CONSORT_M_R, nullptr});
  else if (!own.allocated || (!contents && own.coming))
    needs.items.push_back({&whole, CONSORT_M_W, nullptr});
  if (to_write) stand_still(whole, needs);
}

// The spaces where a part is valid in memory of its whole.
coherence::Spaces PartitionCoherence::in_place(const Datum &part) const noexcept {
  const auto home = one(topology_.home());
  const Replicas *its = replicas_if_any(part);
  if (!its) return home;
  coherence::Spaces here = its->valid & home;
  for (const auto &r : its->all)
    if (r->base && !r->base->left) here |= its->valid & one(r->space);
  return here;
}

// The spaces where all parts of an open plan are valid.
coherence::Spaces PartitionCoherence::common(const PartitionPlan &plan) const noexcept {
  const Replicas *all = replicas_if_any(*plan.whole);
  const Replica *own = all ? all->in(topology_.home()) : nullptr;
  coherence::Spaces everywhere = !all || (own && own->allocated) ? one(topology_.home()) : 0;
  for (size_t i = 0; all && i < all->all.size(); ++i)
    if (!all->all[i]->windows.empty()) everywhere |= one(all->all[i]->space);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (const Datum &d = *plan.part[i]; d.pub.bytes && has_contents(d)) everywhere &= in_place(d);
  return everywhere;
}

// The bytes to be copied into this memory of a whole until all of it is valid.
uint64_t PartitionCoherence::lacking(const PartitionPlan &plan, const Replica &base) noexcept {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < plan.n; ++i) {
    const Datum &d = *plan.part[i];
    if (!d.pub.bytes || !has_contents(d)) continue;
    const Replicas *its = replicas_if_any(d);
    const Replica *r = its ? its->in(base.space) : nullptr;
    if (!r || r->base != &base) return UINT64_MAX;  // the part has no memory there
    if (!its->is_valid(*r)) bytes += d.pub.bytes;
  }
  return bytes;
}

// The same at home, where all parts have memory; also returns whether a part is used there. Gathered parts must have no
// transfers in flight.
uint64_t PartitionCoherence::lacking_at_home(const PartitionPlan &plan, bool gather, Needs &needs,
                                             bool *used_at_home) const noexcept {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    if (gather) stand_still(d, needs);
    const Replicas *its = replicas_if_any(d);
    const Replica *there = its ? its->in(topology_.home()) : nullptr;
    *used_at_home |= its ? there && (there->coming || there->pins || its->opened) : d.pub.bytes != 0;
    if (has_contents(d) && !(in_place(d) & one(topology_.home()))) bytes += d.pub.bytes;
  }
  return bytes;
}

// Chooses the space of the whole that lacks fewer than `least` bytes, the number at home.
void PartitionCoherence::choose_space(const PartitionPlan &plan, uint64_t least, Needs &needs) const noexcept {
  const Replicas *all = replicas_if_any(*plan.whole);
  for (size_t i = 0; all && i < all->all.size(); ++i) {
    const Replica &r = *all->all[i];
    if (r.space == topology_.home() || r.windows.empty() || !admission_.waiting(r.space).empty()) continue;
    const uint64_t bytes = lacking(plan, r);
    if (bytes >= least) continue;
    least = bytes;
    needs.space = r.space;
  }
}

void PartitionCoherence::need_parts(const PartitionPlan &plan, Needs &needs) const {
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    const Replicas *its = replicas_if_any(d);
    if (!its) continue;
    const Replica *there = its->in(needs.space);
    if (has_contents(d) && !(its->valid & one(needs.space)))
      needs.items.push_back({&d, CONSORT_M_R, nullptr});
    else if (!has_contents(d) && needs.space == topology_.home() && (!there || !there->allocated || there->coming))
      needs.items.push_back({&d, CONSORT_M_W, nullptr});
  }
}

// The whole is to be read, or to be used exclusively: no task uses the parts then. So the space that lacks the fewest
// bytes is used.
void PartitionCoherence::before_up(const PartitionPlan &plan, bool gather, Needs &needs) {
  const auto home = one(topology_.home());
  Replicas *all = replicas_if_any(*plan.whole);
  if (all) {
    all->all.reserve(all->all.size() + all->left_over.size());
    alias_.take_back(*all);
  }
  bool used_at_home = false;
  const uint64_t at_home = lacking_at_home(plan, gather, needs, &used_at_home);
  const coherence::Spaces valid = common(plan);
  if ((valid & home) || (valid && (gather || !used_at_home))) {
    if (!all || (gather && !needs.flying)) return;  // settle() follows at once
    alias_.unshut(*plan.whole, valid);
    all->held = gather;
    return;
  }
  if (gather) choose_space(plan, at_home, needs);
  need_parts(plan, needs);
}

// The parts end, with their reduction copies and the plans below: their contents are discarded.
void PartitionCoherence::before_end(const PartitionPlan &plan, Needs &needs) const noexcept {
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

void PartitionCoherence::before(const PartitionPlan &plan, PartitionTurn turn, Needs &needs) {
  switch (turn) {
    case PartitionTurn::kDown:
    case PartitionTurn::kDownToWrite:
      return before_down(plan, turn == PartitionTurn::kDownToWrite, needs);
    case PartitionTurn::kLetWrite:
      return stand_still(*plan.whole, needs);
    case PartitionTurn::kLetReadWhole:
    case PartitionTurn::kGather:
      return before_up(plan, turn == PartitionTurn::kGather, needs);
    case PartitionTurn::kShut:
      for (uint32_t i = 0; i < plan.n; ++i) stand_still(*plan.part[i], needs);
      return;
    case PartitionTurn::kEnd:
      return before_end(plan, needs);
  }
}

Outcome PartitionCoherence::stage(Task *t, const PartitionPlan &plan, PartitionTurn turn) {
  Needs needs{topology_.home(), t->extra->reserved->items};
  before(plan, turn, needs);
  if (needs.items.empty() && !needs.flying) {
    settle(plan, turn);
    return Outcome::kDone;
  }
  Staging &s = staging_.open(t, needs.space);
  HostStaging::wait_until_landed(s, needs.flying);
  return staging_.admit(s);
}

// -- effects of a step ----------------------------------------------------------------------------------------

// The parts become valid where the whole is.
void PartitionCoherence::settle_down(const PartitionPlan &plan, const Replicas *all, const Replica *own) noexcept {
  if (all && !(own && own->allocated)) return alias_.lose_place(plan);
  const auto home = one(topology_.home());
  for (uint32_t i = 0; i < plan.n; ++i) {
    Replicas *its = replicas_if_any(*plan.part[i]);
    if (!its) continue;
    if (Replica *r = its->in(topology_.home())) r->allocated = r->lasting = true;
    its->valid = all && has_contents(*plan.whole) ? all->valid & home : home;
    for (const auto &r : its->all)
      if (r->base && all->is_valid(*r->base)) its->valid |= one(r->space);
    ++its->version;
  }
}

// The whole becomes valid where all parts are.
void PartitionCoherence::settle_up(const PartitionPlan &plan, bool gather, bool placed) noexcept {
  const coherence::Spaces valid = common(plan);
  if (gather) alias_.close_windows(plan);
  alias_.unshut(*plan.whole, valid || !placed ? valid : one(topology_.home()));
  if (Replicas *all = replicas_if_any(*plan.whole)) all->held = false;
}

void PartitionCoherence::settle(const PartitionPlan &plan, PartitionTurn turn) noexcept {
  using enum PartitionTurn;
  if (turn == kEnd) return;  // also of a whole that may be gone
  Replicas *all = replicas_if_any(*plan.whole);
  Replica *own = all ? all->in(topology_.home()) : nullptr;
  const bool down = turn == kDown || turn == kDownToWrite, placed = !all || (own && own->allocated);
  if (down) settle_down(plan, all, own);
  if (down && all) ++all->opened;
  // Its record may be newer than the opening of its parts.
  if (own && own->allocated && (down || turn == kLetWrite || turn == kLetReadWhole)) {
    own->anchored = true;
    order_.unlist(*own);
  }
  if (turn == kDownToWrite || turn == kLetWrite) alias_.shut(*plan.whole);
  if (turn == kLetReadWhole || turn == kGather) settle_up(plan, turn == kGather, placed);
  if (turn == kShut) alias_.close_windows(plan);
  if ((turn == kGather || turn == kShut) && all && all->opened) --all->opened;
}

}  // namespace consort
