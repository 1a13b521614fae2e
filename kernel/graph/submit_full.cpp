// submit_full.cpp — the slow path of submission, with any options and any number of data.
//
// The steps of a submission stand in submit_any(): the fields are checked and written to a record, then the record is
// linked and sent under the submission right.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/access_phase.hpp"
#include "graph/commute.hpp"
#include "graph/complete.hpp"
#include "graph/eligible_worker.hpp"
#include "graph/formats.hpp"
#include "graph/graph_observer.hpp"
#include "graph/internal_task.hpp"
#include "graph/link_steps.hpp"
#include "graph/partition_order.hpp"
#include "graph/submission_draft.hpp"
#include "graph/submission_fields.hpp"
#include "graph/submission_options.hpp"
#include "graph/submission_recorder.hpp"
#include "graph/submit_special.hpp"
#include "graph/task_options.hpp"
#include "sched/context.hpp"

namespace consort {

// Lends the task records for links beyond its own. Returns false if out of memory; records lent so far stay with the
// task.
[[gnu::noinline]] bool reserve_more(TaskGraph &rt, ThreadState &thread, Task *t, uint32_t links) noexcept {
  return Linker::reserve(rt, thread, t, links);
}

SubmissionDraft::~SubmissionDraft() {
  while (Task *over = ended) {
    ended = static_cast<Task *>(over->pub.sched[0]);
    release_ready(rt, thread, over);
  }
  if (claims != few) std::free(claims);
  if (t) drop();
}

void SubmissionDraft::drop() noexcept {
  if (t->bits & kMore) leave_order(*this);
  if (guard) drop_record(guard);
  drop_record(t);
  t = nullptr;
}

void SubmissionDraft::drop_record(Task *t) noexcept {
  store_relaxed(t->codelet, nullptr);
  if (t->extra) free_lent(rt, thread, t);
  thread.give_record(t);
}

consort_status no_memory() {
  return set_error(CONSORT_E_NOMEM, "no memory for another task: set `window`, or wait before submitting more");
}

namespace {

// With the right: checks that names are still valid, and reserves memory for every reader and link. Nothing is visible
// yet.
consort_status reserve_links(SubmissionDraft &draft) noexcept {
  const uint32_t nafter = draft.t->extra ? draft.t->extra->nafter : 0;
  uint32_t links = nafter;
  for (uint32_t i = 0; i < draft.nclaims + draft.nhidden; ++i) {
    Datum &d = *draft.claims[i].datum;
    const uint32_t mode = draft.claims[i].mode;
    AccessOrder *const discipline = discipline_if_any(d);
    if (mode & Claim::kLoose) {
      if (!note_loose(draft.rt, *discipline)) return no_memory();
      continue;
    }
    links += links_for(d, mode);
    if (discipline && (draft.t->bits & kSpecial)) links += static_cast<uint32_t>(discipline->loose.size());
    if (shares(mode) && !draft.rt.data.make_room(draft.rt.tasks, d)) return no_memory();
  }
  if (links > kInlineLinks) [[unlikely]]
    if (!reserve_more(draft.rt, draft.thread, draft.t, links)) return no_memory();
  return CONSORT_OK;
}

void link(SubmissionDraft &draft, Linker &linker) noexcept {
  Task *t = draft.t;
  for (uint32_t i = 0; i < draft.nclaims + draft.nhidden; ++i) {
    Datum &d = *draft.claims[i].datum;
    const uint32_t mode = draft.claims[i].mode;
    AccessOrder *const discipline = discipline_if_any(d);
    if (mode & Claim::kLoose) {
      discipline->loose.push_back(t->pub.id);  // capacity is reserved
      continue;
    }
    if (discipline && (t->bits & kSpecial))
      for (const TaskName user : discipline->loose) linker.after(user);
    if (shares(mode)) link_shared(linker, d, t->pub.id);
    else link_alone(linker, d, t->pub.id);
  }
  if (t->bits & kAfter)
    for (uint32_t i = 0; i < t->extra->nafter; ++i) linker.after(t->extra->after[i]);
}

consort_status enter_context(SubmissionDraft &draft) noexcept {
  draft.extra();
  return draft.rt.policy.contexts().router().enter(draft.thread, draft.t);
}

void take_names(SubmissionDraft &draft, Group &group) noexcept {
  Task *t = draft.t;
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | draft.rt.tasks.index(t);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
}

// Takes a record and makes it the task's. From then on the codelet counts as used. nullptr: no memory.
Task *take_blank(ThreadState &thread, const consort_task_desc &d, Codelet *c) noexcept {
  Task *const t = thread.take_record();
  if (!t) [[unlikely]] return nullptr;
  if (c) blank(t, c->blank, c, c->bits);
  else blank_special(t, TaskKind::kEmpty);
  t->pub.priority = d.priority;
  return t;
}

// Precondition: a record of this thread has the codelet. Either its remover sees that record, or this thread sees that
// it is removed.
bool was_removed(const TaskGraph &rt, const Codelet &c) noexcept {
  fence::light(rt.asymmetric);
  return !c.live.load(std::memory_order_relaxed);
}

// With the right: the last step that can fail. Checks that handles are still valid, and reserves all memory for links.
consort_status reserve_all(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  for (uint32_t i = 0; i < d.nuses; ++i)
    if (!DataTable::is(*Datum::of(draft.t->pub.access[i].datum), d.uses[i].data)) [[unlikely]]
      return stale_datum(d.uses[i], i);
  if (const consort_status s = enter_phases(draft); s < 0) [[unlikely]] return s;
  if (const consort_status s = reserve_links(draft); s < 0) [[unlikely]] return s;
  if (!list_tokens(draft)) [[unlikely]] return no_memory();
  if (draft.formatted) [[unlikely]] settle_formats(draft);
  return CONSORT_OK;
}

// With the right: counts the task in its group, and reports it to the scheduler, the observer and the memory.
void announce(SubmissionDraft &draft) noexcept {
  TaskGraph &rt = draft.rt;
  Task *const t = draft.t;
  count_in(draft.thread, *t->group);
  if (rt.policy.looks_ahead() && !(t->bits & (kSpecial | kBound))) [[unlikely]] rt.policy.submitted(t);
  if (rt.graph_observer) [[unlikely]]
    rt.graph_observer->submitted(*t, draft.claims, draft.nclaims + draft.nhidden, t->extra ? t->extra->after : nullptr,
                                 t->extra ? t->extra->nafter : 0);
  if (t->codelet && rt.codelets.is_foreseen(*t->codelet)) [[unlikely]] rt.graph_memory->foresee(*t);
}

// With the right: links the task behind its predecessors. Returns whether none of them is left. Otherwise the last one
// releases the task, which no longer belongs to this thread.
[[gnu::always_inline]] inline bool link_and_let_go(SubmissionDraft &draft) noexcept {
  Linker linker(draft.rt, draft.t);
  link(draft, linker);
  return let_go(draft.rt, std::exchange(draft.t, nullptr), linker, pending::kGuard);
}

// Takes the right and links the task; a task that is ready goes on its way.
consort_status send_draft(SubmissionDraft &draft, const consort_task_desc &d, consort_task_id *out) noexcept {
  TaskGraph &rt = draft.rt;
  ThreadState &thread = draft.thread;
  Task *const t = draft.t;
  bool ready;
  {
    const SubmissionRight right(rt, thread, draft.claims, draft.nclaims);
    if (draft.nclaims | (t->bits & kAfter))
      if (const consort_status s = reserve_all(draft, d); s < 0) [[unlikely]] return s;
    if (out) out->v = t->pub.id;
    announce(draft);
    if (t->bits & kMore) [[unlikely]] settle_order(draft, d);
    ready = link_and_let_go(draft);
    age_kept(rt, thread);
    if (ready && !(t->bits & (kSpecial | kBound | kMore))) [[likely]] {
      push_ready(rt, thread, t);
      return CONSORT_OK;
    }
  }
  if (draft.guard) release_ready(rt, thread, draft.guard);
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
}

// With the right, all memory reserved: ends the datum's plans and makes its handle invalid for all threads.
consort_status retire(SubmissionDraft &draft, Datum &d) noexcept {
  if (const consort_status s = end_plans(draft, d); s < 0) return s;
  d.home.store(0, std::memory_order_release);  // pairs with find_home()
  d.generation.store((d.generation.load(std::memory_order_relaxed) + 1) & ~Datum::kOdd, std::memory_order_release);
  return CONSORT_OK;
}

}  // namespace

[[gnu::noinline]] consort_status submit_any(TaskGraph &rt, const consort_task_desc &given, consort_task_id *out,
                                            RepeatState *again, SubmissionRecorder *recorder) noexcept {
  ThreadState *const thread = rt.this_thread();
  if (!thread) [[unlikely]] return CONSORT_E_NOMEM;
  consort_task_desc whole;
  const consort_task_desc &d = with_all_fields(given, whole);
  Codelet *c;
  Group *group;
  if (const consort_status s = check_flags(d); s < 0) [[unlikely]] return s;
  if (const consort_status s = find_codelet(rt, d, &c); s < 0) [[unlikely]] return s;
  if (const consort_status s = check_counts(d); s < 0) [[unlikely]] return s;
  if (const consort_status s = find_group(rt, *thread, d, &group); s < 0) [[unlikely]] return s;

  Task *const t = take_blank(*thread, d, c);
  if (!t) [[unlikely]] return no_memory();
  SubmissionDraft draft(rt, *thread, t);
  if (c && was_removed(rt, *c)) [[unlikely]] return set_error(CONSORT_E_STALE, "the codelet was removed");
  if (const consort_status s = read_fields(draft, d, again); s < 0) [[unlikely]] return s;
  take_names(draft, *group);
  if (c && c->can_execute) [[unlikely]]
    if (const consort_status s = check_able(rt, t); s < 0) return s;
  if (recorder) [[unlikely]]
    if (const consort_status s = recorder->take(draft, out); s != CONSORT_AGAIN) return s;
  if (rt.policy.splits()) [[unlikely]]
    if (const consort_status s = enter_context(draft); s < 0) return s;
  if (t->bits & kMore) [[unlikely]]
    if (const consort_status s = enter_order(draft, d); s < 0) return s;
  if (!thread->seat && !thread->lease) look_for_lease(rt, *thread);
  return send_draft(draft, d, out);
}

consort_status submit_watched(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                              consort_task_id *out) noexcept {
  if ((thread.watched & ThreadState::kWatchedForRepeats) && !thread.task && !thread.in_callback) {
    if (!thread.watch) thread.watch.reset(new (std::nothrow) SequenceDetector);
    if (thread.watch) thread.watch->note(d);
  }
  return thread.recorder ? thread.recorder->submit(thread, d, out) : submit_any(rt, d, out);
}

consort_status submit_special(TaskGraph &rt, ThreadState &thread, consort_data_id id, uint32_t mode, TaskKind kind,
                              TaskName *name, consort_granted_fn *granted, void *arg, const Turn *turn) noexcept {
  Datum *d = rt.data.find(id);
  if (!d || !DataTable::is(*d, id)) return refuse_datum(id);
  Task *t = thread.take_lent();
  if (!t) return no_memory();
  const bool retires = kind == TaskKind::kRetire;
  blank_special(t, kind);
  SubmissionDraft draft(rt, thread, t);
  if (granted) {
    TaskOptions *more = more_of(thread, t);
    if (!more) return no_memory();
    more->granted = granted;
    more->granted_arg = arg;
  }
  if (turn) {
    Extra &e = draft.extra();
    if (!e.set_name(turn->name)) return no_memory();
    e.done = turn->fn;
    e.done_arg = turn->arg;
    t->pub.flags |= CONSORT_TK_INTERNAL;
  }
  const bool comes_home = kind == TaskKind::kHold || retires;
  if (comes_home && rt.data.placement) {
    draft.extra();
    if (!rt.graph_memory->reserve(t, 1)) return no_memory();
  }
  t->pub.naccess = 1;
  *t->accesses() = {&d->pub, mode, 0};
  draft.few[0] = {d, mode};
  draft.nclaims = 1;
  take_names(draft, thread.task ? *thread.task->group : rt.groups.standard());

  bool ready;
  if (name) *name = t->pub.id;
  {
    const SubmissionRight right(rt, thread, draft.claims, draft.nclaims);
    if (!DataTable::is(*d, id))
      return set_error(CONSORT_E_STALE, "the datum is not registered any more: its handle is stale");
    if (retires && is_part(*d))
      return set_errorf(CONSORT_E_INVAL, "'%s' is a part and ends with its plan: consort_plan_destroy()",
                        rt.data.name(*d).c_str());
    if (const consort_status s = enter_phases(draft); s < 0) return s;
    if (reserve_links(draft) < 0) return no_memory();
    if (retires)
      if (const consort_status s = retire(draft, *d); s < 0) return s;
    if (draft.formatted) settle_formats(draft);
    count_in(thread, *t->group);
    ready = link_and_let_go(draft);
  }
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
}

consort_status submit_message(TaskGraph &rt, ThreadState &thread, const MessageTask &m, TaskName *name) noexcept {
  Datum *const d = m.data.v ? rt.data.find(m.data) : nullptr;
  if (m.data.v && (!d || !DataTable::is(*d, m.data))) return refuse_datum(m.data);
  Group *group = thread.task ? thread.task->group : &rt.groups.standard();
  if (m.group.v && !(group = rt.groups.find(m.group)))
    return set_error(CONSORT_E_STALE, "the group was destroyed: its handle is stale");
  Task *t = thread.take_lent();
  if (!t) return no_memory();
  blank_special(t, m.kind);
  t->pub.flags |= CONSORT_TK_INTERNAL;
  std::memcpy(t->payload + m.own_at, &m.own, sizeof m.own);
  SubmissionDraft draft(rt, thread, t);
  if (m.done) {
    draft.extra().done = m.done;
    draft.extra().done_arg = m.done_arg;
  }
  if (d && rt.data.placement) {
    draft.extra();
    if (!rt.graph_memory->reserve(t, 1)) return no_memory();
  }
  if (d) {
    t->pub.naccess = 1;
    *t->accesses() = {&d->pub, m.mode, 0};
    draft.few[0] = {d, m.mode};
    draft.nclaims = 1;
  }
  take_names(draft, *group);
  if (name) *name = t->pub.id;
  bool ready;
  {
    const SubmissionRight right(rt, thread, draft.claims, draft.nclaims);
    if (d) {
      if (!DataTable::is(*d, m.data))
        return set_error(CONSORT_E_STALE, "the datum is not registered any more: its handle is stale");
      if (const consort_status s = enter_phases(draft); s < 0) return s;
      if (reserve_links(draft) < 0) return no_memory();
      if (draft.formatted) settle_formats(draft);
    }
    count_in(thread, *group);
    Linker linker(rt, t);
    link(draft, linker);
    ready = let_go(rt, t, linker, pending::kGuard);
    draft.t = nullptr;
  }
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
}

}  // namespace consort
