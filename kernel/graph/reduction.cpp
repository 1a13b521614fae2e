#include "graph/reduction.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "graph/internal_task.hpp"
#include "task/eligibility.hpp"
#include "task/frame.hpp"
#include "task/guarded_call.hpp"

namespace consort {
namespace {

Reduction &reduction_of(const Datum &d) noexcept { return *discipline_if_any(d)->reduction; }

bool is_valid(const Datum &d) noexcept { return d.state.load(std::memory_order_relaxed) & data_state::kValid; }

bool is_poisoned(const Datum &d) noexcept { return d.state.load(std::memory_order_relaxed) & data_state::kPoisoned; }

void set_contents(Datum &d, uint32_t plain) noexcept {
  d.state.store((d.state.load(std::memory_order_relaxed) & ~data_state::kPlain) | plain, std::memory_order_relaxed);
}

Codelet *alive(const TaskGraph &rt, consort_codelet_id id) noexcept {
  Codelet *c = rt.codelets.find(id);
  return c && c->live.load(std::memory_order_relaxed) ? c : nullptr;
}

// Precondition: between open_phase() and end_union(), so the codelet cannot be removed.
Codelet &held(const TaskGraph &rt, consort_codelet_id id) noexcept { return *rt.codelets.find(id); }

template <class F>
void for_each_method(const Reduction &r, F f) noexcept {
  for (const consort_codelet_id id : {r.init, r.combine}) f(held(r.rt, id));
}

// Calls one of the datum's codelets on this thread. views: its arguments.
consort_status call_here(TaskGraph &rt, const Worker &w, consort_codelet_id id, const void *const *views,
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

// Gives memory to a datum without memory, and the neutral element to one without contents.
consort_status begin_with_nothing(Reduction &r, const Worker &w, Datum &d, const void *view) noexcept {
  TaskGraph &rt = r.rt;
  if (is_nowhere(d))
    if (const consort_status s = rt.data.give_memory(d, w.unit.desc.space); s < 0) return s;
  if (const consort_status s = call_here(rt, w, r.init, &view, 1); s < 0) return s;
  set_contents(d, data_state::kValid);
  return CONSORT_OK;
}

// Adds `from` to `to`, and discards the contents of `from`.
consort_status add(Reduction &r, const Worker &w, Datum &to, const void *to_view, Datum &from,
                   const void *from_view) noexcept {
  if (is_poisoned(from)) return set_error(CONSORT_E_POISONED, "a part of the reduction failed");
  if (!is_valid(from)) return CONSORT_OK;
  if (!is_valid(to))
    if (const consort_status s = begin_with_nothing(r, w, to, to_view); s < 0) return s;
  const void *views[] = {to_view, from_view};
  if (const consort_status s = call_here(r.rt, w, r.combine, views, 2); s < 0) return s;
  set_contents(from, 0);
  return CONSORT_OK;
}

consort_status send_union(SubmissionDraft &draft, const Claim *claims, uint32_t n, TaskName first) noexcept {
  TaskGraph &rt = draft.rt;
  const Reduction &r = *draft.reduction;
  Task *t = make_internal(rt, draft.thread, *draft.t->group, kUnite, held(rt, r.combine));
  if (!t) return CONSORT_E_NOMEM;
  t->pub.where &= rt.inline_classes;
  return send_internal(draft, t, claims, n, first);
}

// Calls f for each pair of 0 … n-1 whose second is added to the first: at the end all is in 0.
template <class F>
consort_status for_each_pair(uint32_t n, F f) {
  for (uint32_t step = 1; step < n; step *= 2)
    for (uint32_t a = 0; a + step < n; a += 2 * step)
      if (const consort_status s = f(a, a + step); s < 0) return s;
  return CONSORT_OK;
}

// Unites free copies 0 … n-1, behind `first`.
consort_status send_tree(SubmissionDraft &draft, uint32_t n, TaskName first) noexcept {
  Reduction &r = *draft.reduction;
  for (uint32_t i = 0; i < n; ++i)
    if (!r.copy(i)) return CONSORT_E_NOMEM;
  return for_each_pair(n, [&](uint32_t a, uint32_t b) {
    const Claim claims[] = {{r.copy(a), CONSORT_M_RW}, {r.copy(b), CONSORT_M_RW}};
    return send_union(draft, claims, 2, first);
  });
}

// Behind all contributions: runs init if the datum turns out to have no contents. If it is known to have contents, only
// inserts a junction.
consort_status send_begin(SubmissionDraft &draft, Datum &d) noexcept {
  // no writer is left: the datum's contents do not change before the union
  if ((!d.writer || !draft.rt.is_live(d.writer)) && is_valid(d)) return d.nreaders ? insert_junction(draft, d) : 0;
  Task *t = make_internal(draft.rt, draft.thread, *draft.t->group, kUnite, held(draft.rt, draft.reduction->init));
  if (!t) return CONSORT_E_NOMEM;
  const Claim all{&d, CONSORT_M_W};
  return send_internal(draft, t, &all, 1, 0);
}

// Sends a fixed tree of ordinary tasks. All or none, because a contribution added twice would be wrong.
consort_status send_fixed(SubmissionDraft &draft, Datum &d) noexcept {
  Reduction &r = *draft.reduction;
  const auto n = static_cast<uint32_t>(std::min<uint64_t>(r.members, Reduction::kFixed));
  if (!n) return forget_copies(draft, d);
  if (const consort_status s = send_begin(draft, d); s < 0) return s;
  Task *made[Reduction::kFixed];  // chains are short here, so linking allocates nothing
  for (uint32_t i = 0; i < n; ++i) {
    made[i] = make_internal(draft.rt, draft.thread, *draft.t->group, i ? 0 : kUnite, held(draft.rt, r.combine));
    if (made[i]) continue;
    while (i) draft.drop_record(made[--i]);
    return CONSORT_E_NOMEM;
  }
  uint32_t left = n;
  const auto add = [&](Datum &to, Datum &from) {
    const Claim claims[] = {{&to, CONSORT_M_RW}, {&from, CONSORT_M_R}};
    return send_internal(draft, made[--left], claims, 2, 0);
  };
  if (const consort_status s = for_each_pair(n, [&](uint32_t a, uint32_t b) { return add(*r.copy(a), *r.copy(b)); });
      s < 0)
    return s;
  return add(d, *r.copy(0));
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
  auto *discipline = new (std::nothrow) AccessOrder;
  if (!discipline) {
    rt.data.remove(**made);
    no_memory();
    return nullptr;
  }
  discipline->copy_of = this;
  (*made)->lock_at.store(static_cast<int32_t>(&like - *made) + like.lock_at.load(std::memory_order_relaxed),
                         std::memory_order_release);
  (*made)->discipline.store(discipline, std::memory_order_relaxed);  // published by the release below
  copies[i].datum.store(*made, std::memory_order_release);
  return *made;
}

// -- under the right ------------------------------------------------------------------------------------------

consort_status check_reduction(const SubmissionDraft &draft, const Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->reduction)
    return set_errorf(CONSORT_E_INVAL,
                      "datum '%s' is to be reduced, but has no reduction: consort_data_set_reduction() first",
                      draft.rt.data.name(d).c_str());
  const Reduction &r = *discipline->reduction;
  const Codelet *init = alive(draft.rt, r.init), *combine = alive(draft.rt, r.combine);
  if (!init || !combine)
    return set_errorf(CONSORT_E_STALE, "datum '%s': the codelet that %s its reduction was removed: set another",
                      draft.rt.data.name(d).c_str(), init ? "combines" : "begins");
  const bool moved = copies_are_moved(draft.rt);
  const uint64_t classes = moved ? ~uint64_t{0} : draft.rt.inline_classes;
  if (!(combine->where & classes) || !(init->where & classes))
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "datum '%s': codelet '%s' of its reduction has no implementation for a unit of this machine%s",
                      draft.rt.data.name(d).c_str(), (combine->where & classes ? init : combine)->name.c_str(),
                      moved ? "" : " that runs host code");
  return CONSORT_OK;
}

consort_status open_phase(SubmissionDraft &draft, Datum &d) noexcept {
  const Reduction &r = reduction_of(d);
  for_each_method(r, [](Codelet &c) {
    c.unions.fetch_add(1, std::memory_order_relaxed);
    c.phases.fetch_add(1, std::memory_order_relaxed);
  });
  // Pairs with heavy() in consort_codelet_remove(): it sees the phase, or this thread sees that the codelet is removed.
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

bool copies_are_moved(const TaskGraph &rt) noexcept { return rt.copies_are_moved; }

Result<Reduction::Able> Reduction::eligible_workers(TaskGraph &rt, const Codelet &init, const Codelet &combine) {
  const bool moved = copies_are_moved(rt);
  const auto can = [&](const Codelet &c, const Worker &w) {
    const Codelet::Entry &e = c.entry[w.klass];
    return (moved ? e.fn != nullptr : e.is_function()) &&
           (!c.can_execute || consort::able(rt, c, w.klass, w.id, 0));
  };
  auto able = std::make_unique<bool[]>(rt.workers.size());
  bool all = true, some[3] = {};  // whether some unit can begin, combine, or both
  for (const auto &w : rt.workers) {
    const bool begins = can(init, *w), combines = can(combine, *w);
    all &= able[w->id] = begins && combines;
    some[0] |= begins, some[1] |= combines, some[2] |= begins && combines;
  }
  if (all || (moved && some[0] && some[1])) return Able{};  // moved: each method runs where it can
  // A missing implementation is reported when it is needed: only units of another class may be missing.
  const uint64_t classes = moved ? ~uint64_t{0} : rt.inline_classes;
  if (some[2] || !(init.where & classes) || !(combine.where & classes)) return able;
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
    if (!calls && !unites_by_itself(t)) continue;
    const AccessOrder *discipline = discipline_if_any(*Datum::of(a.datum));
    const Reduction *r = discipline->copy_of ? discipline->copy_of : discipline->reduction.get();
    if (r && r->able && !r->able[worker]) return false;
  }
  return true;
}

Datum *datum_for(const consort_access &a) noexcept {
  Datum *d = Datum::of(a.datum);
  if (!(a.mode & CONSORT_M_REDUX) || !(a.mode & CONSORT_M_FIXED_TREE)) return d;
  return reduction_of(*d).copies[a.reserved - 1].datum.load(std::memory_order_acquire);
}

bool changes_kind(const AccessOrder &discipline, uint32_t mode) noexcept {
  return discipline.reduction->fixed != bool(mode & CONSORT_M_FIXED_TREE);
}

consort_status enter_reduction(SubmissionDraft &draft, Claim &claim) noexcept {
  Reduction &r = reduction_of(*claim.datum);
  r.fixed = claim.mode & CONSORT_M_FIXED_TREE;
  if (!r.fixed) return CONSORT_OK;
  const uint32_t i = static_cast<uint32_t>(r.members % Reduction::kFixed);
  Datum *copy = r.copy(i);
  if (!copy) return CONSORT_E_NOMEM;
  if (r.members < Reduction::kFixed) {
    Task *t = make_internal(draft.rt, draft.thread, *draft.t->group, 0, held(draft.rt, r.init));
    if (!t) return CONSORT_E_NOMEM;
    const Claim all{copy, CONSORT_M_W};
    // Behind the phase before, whose uniting task reads every copy.
    if (const consort_status s = send_internal(draft, t, &all, 1, claim.datum->writer); s < 0) return s;
  }
  ++r.members;
  draft.claims[draft.nclaims + draft.nhidden++] = {copy, CONSORT_M_RW};
  for (uint32_t k = 0; k < draft.t->pub.naccess; ++k)
    if (Datum::of(draft.t->pub.access[k].datum) == claim.datum) draft.t->accesses()[k].reserved = i + 1;
  return CONSORT_OK;
}

consort_status unite(SubmissionDraft &draft, Datum &d) noexcept {
  Reduction &r = reduction_of(d);
  draft.reduction = &r;
  if (r.fixed) {
    const consort_status s = send_fixed(draft, d);
    if (s >= 0) r.members = 0;
    return s;
  }
  Claim claims[] = {{&d, CONSORT_M_RW}, {nullptr, CONSORT_M_RW}};
  uint32_t n = 1;
  if (draft.rt.workers.size() > 2) {
    if (const consort_status s = insert_junction(draft, d); s < 0) return s;
    const auto own = static_cast<uint32_t>(std::min<size_t>(draft.rt.workers.size(), Reduction::kMost));
    if (const consort_status s = send_tree(draft, own, d.writer); s < 0) return s;
    claims[n++].datum = r.copy(0);  // behind the tree; the same task adds any other copies with contributions
  }
  return send_union(draft, claims, n, 0);
}

consort_status forget_copies(SubmissionDraft &draft, Datum &d) noexcept {
  Reduction &r = reduction_of(d);
  const consort_status s = insert_junction(draft, d, TaskKind::kDropCopies);
  if (s >= 0) r.members = 0;
  return s;
}

// -- running --------------------------------------------------------------------------------------------------

consort_status take_copy(TaskGraph &rt, Worker &w, Task *, consort_access &access, const void **view) noexcept {
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
  const AccessOrder *discipline = discipline_if_any(to);
  Reduction &r = discipline->copy_of ? *discipline->copy_of : *discipline->reduction;
  // Not current_thread: a body may have called another runtime on this thread before.
  const Worker &w = *r.rt.this_thread_if_any()->seat;
  Datum *const brought = t.pub.naccess > 1 ? Datum::of(t.pub.access[1].datum) : nullptr;
  if (discipline->copy_of) return add(r, w, to, call->views[0], *brought, call->views[1]);
  for (Reduction::Copy &c : r.copies)
    if (Datum *from = c.datum.load(std::memory_order_acquire))
      if (const consort_status s = add(r, w, to, call->views[0], *from, from == brought ? call->views[1] : from->view);
          s < 0)
        return s;
  return CONSORT_OK;
}

bool begins_in_vain(const Task &t) noexcept {
  const Datum &d = *Datum::of(t.pub.access[0].datum);
  return is_valid(d) || is_poisoned(d);  // poisoned: the uniting task reports it
}

consort_status begun_already(const consort_call *) noexcept { return CONSORT_OK; }

void drop_copies(Datum &d) noexcept {
  for_each_copy(d, [](Datum &copy) { copy.state.fetch_and(~data_state::kPlain, std::memory_order_relaxed); });
}

}  // namespace consort
