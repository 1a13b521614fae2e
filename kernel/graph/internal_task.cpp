#include "graph/internal_task.hpp"

#include "base/last_error.hpp"
#include "graph/complete.hpp"
#include "graph/graph_observer.hpp"
#include "graph/link_steps.hpp"
#include "sched/context.hpp"

namespace consort {
namespace {

consort_status drop_internal(SubmissionDraft &draft, Task *t) noexcept {
  if (t->extra) free_lent(draft.rt, draft.thread, t);
  store_relaxed(t->codelet, nullptr);
  draft.thread.give_record(t);
  return no_memory();
}

void take_name(TaskGraph &rt, Task *t, Group &group) noexcept {
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | rt.tasks.index(t);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
}

}  // namespace

Task *make_internal(TaskGraph &rt, ThreadState &thread, Group &group, TaskKind kind) noexcept {
  Task *t = thread.take_lent();
  if (!t) {
    no_memory();
    return nullptr;
  }
  blank_special(t, kind);
  t->pub.flags |= CONSORT_TK_INTERNAL;
  take_name(rt, t, group);
  return t;
}

Task *make_internal(TaskGraph &rt, ThreadState &thread, Group &group, uint16_t bits, Codelet &c) noexcept {
  Task *t = thread.take_lent();
  if (!t) {
    no_memory();
    return nullptr;
  }
  blank(t, c.blank, &c, bits | c.bits);
  t->pub.flags |= CONSORT_TK_INTERNAL;
  take_name(rt, t, group);
  // The Extra holds tickets, if it may be issued behind others, or its context, which is the submitter's.
  if (rt.shared_domains || rt.policy.splits()) {
    rt.tasks.make_extra(t);
    if (rt.policy.splits()) (void)rt.policy.contexts().router().enter(thread, t);  // if that is destroyed: the runtime's own
  }
  return t;
}

bool reserve_internal(SubmissionDraft &draft, Task *t, uint32_t links) noexcept {
  if (links <= kInlineLinks || reserve_more(draft.rt, draft.thread, t, links)) return true;
  drop_internal(draft, t);
  return false;
}

bool reserve_staging(SubmissionDraft &draft, Task *t, size_t data) noexcept {
  if (!t->extra) draft.rt.tasks.make_extra(t);
  if (draft.rt.graph_memory->reserve(t, data)) return true;
  drop_internal(draft, t);
  return false;
}

void let_internal_go(SubmissionDraft &draft, Task *t, Linker &linker) noexcept {
  const bool may_wait = t->kind == TaskKind::kStep && draft.rt.data.placement;  // for data on their way home
  if (!linker.hung() && (t->bits & kSpecial) && !may_wait) return end_uncounted(draft.rt, draft.thread, t);
  count_in(draft.thread, *t->group);
  if (!let_go(draft.rt, t, linker, pending::kGuard)) return;
  if (!(t->bits & kSpecial)) return push_ready(draft.rt, draft.thread, t);
  // the predecessors have ended meanwhile. Its own end may run a callback: not under the right
  t->pub.sched[0] = draft.ended;
  draft.ended = t;
}

consort_status send_internal(SubmissionDraft &draft, Task *t, const Claim *claims, uint32_t n,
                             TaskName first) noexcept {
  uint32_t links = first != 0;
  bool room = true;
  t->pub.naccess = static_cast<uint16_t>(n);
  for (uint32_t i = 0; i < n; ++i) {
    Datum &d = *claims[i].datum;
    t->accesses()[i] = {&d.pub, claims[i].mode, 0};
    links += links_for(d, claims[i].mode);
    if (shares(claims[i].mode)) room &= draft.rt.data.make_room(draft.rt.tasks, d);
  }
  if (!room) return drop_internal(draft, t);
  if (!reserve_internal(draft, t, links)) return CONSORT_E_NOMEM;
  Linker linker(draft.rt, t);
  linker.after(first);
  if (draft.rt.graph_observer) [[unlikely]]
    draft.rt.graph_observer->submitted(*t, claims, n, &first, 1);
  for (uint32_t i = 0; i < n; ++i) link_one(linker, *claims[i].datum, claims[i].mode, t->pub.id);
  let_internal_go(draft, t, linker);
  return CONSORT_OK;
}

consort_status insert_junction(SubmissionDraft &draft, Datum &d, TaskKind kind) noexcept {
  Task *t = make_internal(draft.rt, draft.thread, *draft.t->group, kind);
  if (!t) return CONSORT_E_NOMEM;
  const Claim claim{&d, CONSORT_M_W};
  return send_internal(draft, t, &claim, 1, 0);
}

}  // namespace consort
