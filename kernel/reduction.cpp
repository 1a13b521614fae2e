#include "reduction.hpp"

#include <algorithm>

#include "able.hpp"
#include "error_slot.hpp"
#include "internal.hpp"
#include "prepare.hpp"

namespace consort {
namespace {

Reduction &reduction_of(const Datum &d) noexcept { return *discipline_if_any(d)->reduction; }

bool is_valid(const Datum &d) noexcept { return d.state.load(std::memory_order_relaxed) & data_state::kValid; }

void set_contents(Datum &d, uint32_t plain) noexcept {
  d.state.store((d.state.load(std::memory_order_relaxed) & ~data_state::kPlain) | plain, std::memory_order_relaxed);
}

Codelet *alive(const Runtime &rt, consort_codelet_id id) noexcept {
  Codelet *c = rt.codelets.find(id);
  return c && c->live.load(std::memory_order_relaxed) ? c : nullptr;
}

// From open_phase() to end_union(): nobody can have removed it.
Codelet &held(const Runtime &rt, consort_codelet_id id) noexcept { return *rt.codelets.find(id); }

template <class F>
void for_each_method(const Reduction &r, F f) noexcept {
  for (const consort_codelet_id id : {r.init, r.combine}) f(held(r.rt, id));
}

// One of the datum's codelets, called where we are. views: what it is given.
consort_status call_here(Runtime &rt, const Worker &w, consort_codelet_id id, const void *const *views,
                         uint32_t n) noexcept {
  const Codelet &c = held(rt, id);
  Codelet::Entry entry = c.entry[w.klass];
  if (!entry.is_function())
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "codelet '%s', of a datum's reduction, has no implementation for class '%s': add one",
                      c.name.c_str(), w.unit.desc.klass);
  if (c.can_execute) {
    const uint64_t can = consort::able(rt, c, w.klass, w.id, 0);
    if (!can)
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "codelet '%s', of a datum's reduction, cannot run on worker %s: its can_execute() refuses",
                        c.name.c_str(), w.unit.name.c_str());
    const auto impl = static_cast<uint32_t>(__builtin_ctzll(can));
    entry = {c.impls[impl].fn, c.impls[impl].user, impl};
  }
  Frame frame(w);
  frame.call.views = views;
  frame.call.nviews = n;
  frame.call.impl = entry.impl;
  frame.call.user = entry.user;
  return guarded_call(entry.fn, &frame.call);
}

// Memory for a datum that has none, and contents for one that has none: the neutral element.
consort_status begin_with_nothing(Reduction &r, const Worker &w, Datum &d, const void *view) noexcept {
  Runtime &rt = r.rt;
  if (d.pub.bytes && data_state::space(d.state.load(std::memory_order_relaxed)) == data_state::kNowhere)
    if (const consort_status s = rt.data.give_memory(d, w.unit.desc.space); s < 0) return s;
  if (const consort_status s = call_here(rt, w, r.init, &view, 1); s < 0) return s;
  set_contents(d, data_state::kValid);
  return CONSORT_OK;
}

// Adds `from` to `to`, and leaves `from` without contents.
consort_status add(Reduction &r, const Worker &w, Datum &to, const void *to_view, Datum &from,
                   const void *from_view) noexcept {
  const uint32_t state = from.state.load(std::memory_order_relaxed);
  if (state & data_state::kPoisoned) return set_error(CONSORT_E_POISONED, "a part of the reduction failed");
  if (!(state & data_state::kValid)) return CONSORT_OK;
  if (!is_valid(to))
    if (const consort_status s = begin_with_nothing(r, w, to, to_view); s < 0) return s;
  const void *views[] = {to_view, from_view};
  if (const consort_status s = call_here(r.rt, w, r.combine, views, 2); s < 0) return s;
  set_contents(from, 0);
  return CONSORT_OK;
}

consort_status send_union(Draft &draft, const Claim *claims, uint32_t n, TaskName first) noexcept {
  Runtime &rt = draft.rt;
  const Reduction &r = *draft.reduction;
  Task *t = make_internal(rt, draft.h, *draft.t->group, kUnite, &held(rt, r.combine));
  if (!t) return CONSORT_E_NOMEM;
  t->pub.where &= rt.inline_classes;
  return send_internal(draft, t, claims, n, first);
}

// Copies 0 … n-1 into copy 0, pairs first.
consort_status send_tree(Draft &draft, uint32_t n, TaskName first) noexcept {
  Reduction &r = *draft.reduction;
  for (uint32_t i = 0; i < n; ++i)
    if (!r.copy(i)) return CONSORT_E_NOMEM;
  for (uint32_t step = 1; step < n; step *= 2)
    for (uint32_t a = 0; a + step < n; a += 2 * step) {
      const Claim claims[] = {{r.copy(a), CONSORT_M_RW}, {r.copy(a + step), CONSORT_M_RW}};
      if (const consort_status s = send_union(draft, claims, 2, first); s < 0) return s;
    }
  return CONSORT_OK;
}

}  // namespace

Reduction::~Reduction() {
  for (Copy &c : copies)
    if (Datum *d = c.datum.load(std::memory_order_relaxed)) rt.data.remove(*d);
}

Datum *Reduction::copy(uint32_t i) noexcept {
  Datum *d = copies[i].datum.load(std::memory_order_acquire);  // pairs with the release below
  if (d) return d;
  std::lock_guard lock(growing);
  if ((d = copies[i].datum.load(std::memory_order_relaxed))) return d;
  auto made = rt.data.add_like(like, DataTable::kHidden);
  if (!made) {
    set_error(made.error());
    return nullptr;
  }
  auto *discipline = new (std::nothrow) Discipline;
  if (!discipline) {
    rt.data.remove(**made);
    no_memory();
    return nullptr;
  }
  discipline->copy_of = this;
  (*made)->lock_at.store(static_cast<int32_t>(&like - *made) + like.lock_at.load(std::memory_order_relaxed),
                         std::memory_order_release);
  (*made)->discipline.store(discipline, std::memory_order_relaxed);  // shown by the release below
  copies[i].datum.store(*made, std::memory_order_release);
  return *made;
}

// -- under the right ------------------------------------------------------------------------------------------

consort_status check_reduction(const Draft &draft, const Datum &d) noexcept {
  const Discipline *discipline = discipline_if_any(d);
  if (!discipline || !discipline->reduction)
    return set_errorf(CONSORT_E_INVAL,
                      "datum '%s' is to be reduced, but nobody said how: consort_data_set_reduction() first",
                      draft.rt.data.name(d).c_str());
  const Reduction &r = *discipline->reduction;
  const Codelet *init = alive(draft.rt, r.init), *combine = alive(draft.rt, r.combine);
  if (!init || !combine)
    return set_errorf(CONSORT_E_STALE, "datum '%s': the codelet that %s its reduction was removed: set another",
                      draft.rt.data.name(d).c_str(), init ? "combines" : "begins");
  if (!(combine->where & draft.rt.inline_classes) || !(init->where & draft.rt.inline_classes))
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "datum '%s': codelet '%s' of its reduction has no implementation for a unit that runs host code",
                      draft.rt.data.name(d).c_str(),
                      (combine->where & draft.rt.inline_classes ? init : combine)->name.c_str());
  return CONSORT_OK;
}

consort_status open_phase(Draft &draft, Datum &d) noexcept {
  const Reduction &r = reduction_of(d);
  for_each_method(r, [](Codelet &c) {
    c.unions.fetch_add(1, std::memory_order_relaxed);
    c.phases.fetch_add(1, std::memory_order_relaxed);
  });
  // Pairs with heavy() in consort_codelet_remove(): it sees the phase, or we see that it is removed.
  fence::light(draft.rt.asymmetric);
  if (alive(draft.rt, r.init) && alive(draft.rt, r.combine)) return CONSORT_OK;
  close_phase(d);
  end_union(d);
  return set_errorf(CONSORT_E_STALE, "datum '%s': a codelet of its reduction was removed: set another",
                    draft.rt.data.name(d).c_str());
}

void close_phase(Datum &d) noexcept {
  for_each_method(reduction_of(d), [](Codelet &c) { c.phases.fetch_sub(1, std::memory_order_relaxed); });
}

void end_union(Datum &d) noexcept {
  for_each_method(reduction_of(d), [](Codelet &c) { c.unions.fetch_sub(1, std::memory_order_release); });
}

Result<Reduction::Able> Reduction::who_can(Runtime &rt, const Codelet &init, const Codelet &combine) {
  const auto can = [&](const Codelet &c, const Worker &w) {
    return c.entry[w.klass].is_function() && (!c.can_execute || consort::able(rt, c, w.klass, w.id, 0));
  };
  auto able = std::make_unique<bool[]>(rt.workers.size());
  bool all = true, some[3] = {};  // can some host unit begin, combine, both?
  for (const auto &w : rt.workers) {
    const bool begins = can(init, *w), combines = can(combine, *w);
    all &= able[w->id] = begins && combines;
    if (w->queue) continue;
    some[0] |= begins, some[1] |= combines, some[2] |= begins && combines;
  }
  if (all) return Able{};
  // What has no implementation for them is told when it is needed: units of another class may be all that it lacks.
  if (some[2] || !(init.where & rt.inline_classes) || !(combine.where & rt.inline_classes)) return able;
  const Codelet &blame = some[0] ? combine : init;
  const char *what = !some[0] ? "begins" : !some[1] ? "combines" : "combines, where the other one can begin,";
  return error(CONSORT_E_UNSUPPORTED, "codelet '" + blame.name + "', which " + what +
                                          " the reduction, can run on none of the " +
                                          std::to_string(rt.workers.size()) +
                                          " workers: its can_execute() refuses each");
}

bool reductions_allow(const Task &t, uint32_t worker) noexcept {
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    const bool calls = (a.mode & CONSORT_M_REDUX) && !(a.mode & CONSORT_M_FIXED_TREE);  // init, for its copy
    if (!calls && !(t.bits & kUnite)) continue;
    const Discipline *discipline = discipline_if_any(*Datum::of(a.datum));
    const Reduction *r = discipline->copy_of ? discipline->copy_of : discipline->reduction.get();
    if (r && ((r->able && !r->able[worker]) || r->rt.workers[worker]->queue)) return false;
  }
  return true;
}

Datum *datum_for(const consort_access &a) noexcept {
  Datum *d = Datum::of(a.datum);
  if (!(a.mode & CONSORT_M_REDUX) || !(a.mode & CONSORT_M_FIXED_TREE)) return d;
  return reduction_of(*d).copies[a.reserved - 1].datum.load(std::memory_order_acquire);
}

bool changes_kind(const Discipline &discipline, uint32_t mode) noexcept {
  return discipline.reduction->fixed != bool(mode & CONSORT_M_FIXED_TREE);
}

consort_status enter_reduction(Draft &draft, Claim &claim) noexcept {
  Reduction &r = reduction_of(*claim.datum);
  r.fixed = claim.mode & CONSORT_M_FIXED_TREE;
  if (!r.fixed) return CONSORT_OK;
  const uint32_t i = static_cast<uint32_t>(r.members % Reduction::kFixed);
  Datum *copy = r.copy(i);
  if (!copy) return CONSORT_E_NOMEM;
  if (r.members < Reduction::kFixed) {
    Task *t = make_internal(draft.rt, draft.h, *draft.t->group, 0, &held(draft.rt, r.init));
    if (!t) return CONSORT_E_NOMEM;
    const Claim all{copy, CONSORT_M_W};
    // Behind the phase before: whoever unites that looks at every copy.
    if (const consort_status s = send_internal(draft, t, &all, 1, claim.datum->writer); s < 0) return s;
  }
  ++r.members;
  draft.claims[draft.nclaims + draft.nhidden++] = {copy, CONSORT_M_RW};
  for (uint32_t k = 0; k < draft.t->pub.naccess; ++k)
    if (Datum::of(draft.t->pub.access[k].datum) == claim.datum) draft.t->accesses()[k].reserved = i + 1;
  return CONSORT_OK;
}

consort_status unite(Draft &draft, Datum &d) noexcept {
  Reduction &r = reduction_of(d);
  draft.reduction = &r;
  Claim claims[] = {{&d, CONSORT_M_RW}, {nullptr, CONSORT_M_RW}};
  uint32_t n = 1;
  if (r.fixed) {
    if (const consort_status s =
            send_tree(draft, static_cast<uint32_t>(std::min<uint64_t>(r.members, Reduction::kFixed)), 0);
        s < 0)
      return s;
    claims[n++].datum = r.copy(0);
  } else if (draft.rt.workers.size() > 2) {
    if (const consort_status s = insert_junction(draft, d, 0); s < 0) return s;
    const auto own = static_cast<uint32_t>(std::min<size_t>(draft.rt.workers.size(), Reduction::kMost));
    if (const consort_status s = send_tree(draft, own, d.writer); s < 0) return s;
    claims[n++].datum = r.copy(0);  // behind the tree; whatever else has contributions is added by the same task
  }
  const consort_status s = send_union(draft, claims, n, 0);
  if (s >= 0) r.members = 0;
  return s;
}

consort_status forget_copies(Draft &draft, Datum &d) noexcept {
  Reduction &r = reduction_of(d);
  const consort_status s = insert_junction(draft, d, kUnite);
  if (s >= 0) r.members = 0;
  return s;
}

// -- running --------------------------------------------------------------------------------------------------

consort_status take_copy(Runtime &rt, Worker &w, Task *, consort_access &access, const void **view) noexcept {
  Reduction &r = reduction_of(*Datum::of(access.datum));
  const auto own = static_cast<uint32_t>(std::min<size_t>(rt.workers.size(), Reduction::kMost));
  for (uint32_t k = 0; k < Reduction::kMost; ++k) {
    const uint32_t i = k < own ? (w.id + k) % own : k;
    Reduction::Copy &c = r.copies[i];
    if (c.taken.load(std::memory_order_relaxed) || c.taken.exchange(true, std::memory_order_acquire)) continue;
    Datum *d = r.copy(i);
    const uint32_t space = d ? data_state::space(d->state.load(std::memory_order_relaxed)) : data_state::kNowhere;
    if (d && d->pub.bytes && space != data_state::kNowhere && !(w.reach >> (space & 63) & 1)) {
      c.taken.store(false, std::memory_order_release);
      continue;
    }
    consort_status s = d ? CONSORT_OK : CONSORT_E_NOMEM;
    if (d && !is_valid(*d)) s = begin_with_nothing(r, w, *d, d->view);
    if (s < 0) {
      c.taken.store(false, std::memory_order_release);
      return s;
    }
    access.reserved = i + 1;
    *view = d->view;
    return CONSORT_OK;
  }
  return set_errorf(CONSORT_E_BUSY, "more than %u tasks that reduce datum '%s' run at once, inside one another",
                    Reduction::kMost, rt.data.name(*Datum::of(access.datum)).c_str());
}

void give_copy(consort_access &access) noexcept {
  if (!access.reserved || (access.mode & CONSORT_M_FIXED_TREE)) return;
  reduction_of(*Datum::of(access.datum)).copies[access.reserved - 1].taken.store(false, std::memory_order_release);
  access.reserved = 0;
}

consort_status unite_body(const consort_call *call) noexcept {
  const Task &t = *static_cast<const Task *>(call->user);
  Datum &to = *Datum::of(t.pub.access[0].datum);
  const Discipline *discipline = discipline_if_any(to);
  const Worker &w = *current_hand.hand->seat;
  Datum *const brought = t.pub.naccess > 1 ? Datum::of(t.pub.access[1].datum) : nullptr;
  if (discipline->copy_of) return add(*discipline->copy_of, w, to, call->views[0], *brought, call->views[1]);
  Reduction &r = *discipline->reduction;
  for (Reduction::Copy &c : r.copies)
    if (Datum *from = c.datum.load(std::memory_order_acquire))
      if (const consort_status s = add(r, w, to, call->views[0], *from, from == brought ? call->views[1] : from->view);
          s < 0)
        return s;
  return CONSORT_OK;
}

void drop_copies(Datum &d) noexcept {
  for_each_copy(d, [](Datum &copy) { set_contents(copy, 0); });
}

}  // namespace consort
