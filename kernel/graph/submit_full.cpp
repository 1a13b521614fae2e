// submit_full.cpp — the slow path of submission: options, arguments, many data, and all error texts.
#include <cstdlib>
#include <cstring>

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
#include "graph/reduction.hpp"
#include "graph/submission_draft.hpp"
#include "graph/submission_options.hpp"
#include "graph/submission_recorder.hpp"
#include "graph/submit_special.hpp"
#include "graph/task_options.hpp"
#include "sched/context.hpp"
#include "task/eligibility.hpp"
#include "task/idle_stepper.hpp"
#include "task/packed_args.hpp"

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

consort_status stale_datum(const consort_use &use, uint32_t i) {
  return set_errorf(use.data.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                    use.data.v ? "datum %u of the task is not registered (any more): its handle is stale"
                               : "datum %u of the task is the null handle: register it first",
                    i);
}

consort_status check_mode(uint32_t mode, uint32_t i) {
  if (!is_mode(mode))
    return set_errorf(CONSORT_E_INVAL,
                      "datum %u of the task: mode 0x%x is none of R, W, RW, SCRATCH, REDUX, RW|COMMUTE", i, mode);
  if ((mode & ~kHints) == CONSORT_M_REDUX || !(mode & CONSORT_M_FIXED_TREE)) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL, "datum %u of the task: FIXED_TREE goes with REDUX only", i);
}

// Finds the task's data, checks them as far as possible without the right, and merges repeated ones.
consort_status read_uses(SubmissionDraft &draft, const consort_task_desc &d, const Codelet *c) noexcept {
  if (d.nuses > kFewUses / 2) {  // each may add a hidden one
    draft.claims = static_cast<Claim *>(std::malloc(2 * d.nuses * sizeof(Claim)));
    if (!draft.claims) {
      draft.claims = draft.few;
      return no_memory();
    }
  }
  consort_access *out = draft.t->accesses();
  for (uint32_t i = 0; i < d.nuses; ++i) {
    const consort_use &use = d.uses[i];
    Datum *datum = draft.rt.data.find(use.data);
    if (!datum || !DataTable::is(*datum, use.data)) [[unlikely]] return stale_datum(use, i);
    if (const consort_status s = check_mode(use.mode, i); s < 0) [[unlikely]] return s;
    if (use.reserved) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "datum %u of the task: reserved has 0x%x, which has no meaning: it must be 0",
                        i, use.reserved);
    if (c && !c->modes.empty() && c->modes[i] != (use.mode & ~kHints)) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "codelet '%s' declares mode 0x%x for datum %u, the task gives 0x%x",
                        c->name.c_str(), c->modes[i], i, use.mode);
    const bool as_tree = (use.mode & CONSORT_M_REDUX) && copies_are_moved(draft.rt);
    const uint32_t mode = use.mode | (as_tree ? uint32_t{CONSORT_M_FIXED_TREE} : 0);
    out[i] = {&datum->pub, mode, 0};
    if (mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX)) draft.t->bits |= kScratch;
    if (mode & CONSORT_M_SCRATCH) continue;
    uint32_t k = 0;
    while (k < draft.nclaims && draft.claims[k].datum != datum) ++k;
    if (k == draft.nclaims) draft.claims[draft.nclaims++] = {datum, mode};
    else if (((draft.claims[k].mode | mode) & (CONSORT_M_REDUX | CONSORT_M_COMMUTE)) && draft.claims[k].mode != mode)
      return set_errorf(CONSORT_E_INVAL,
                        "datum '%s' is named twice with different modes, one of them REDUX or COMMUTE: use one",
                        draft.rt.data.name(*datum).c_str());
    else draft.claims[k].mode |= mode;
  }
  return CONSORT_OK;
}

// Finds space for accesses and arguments: in the record, beside it, or on the heap.
consort_status place_payload(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  const uint64_t args = d.nargs ? packed_bytes(d.args, d.nargs) : 0;
  if (args == ~uint64_t{0})
    return set_error(
        CONSORT_E_INVAL,
        "an argument is neither SCALAR (up to 8 bytes) nor BYTES with an address: pass large values by address");
  const uint64_t bytes = d.nuses * sizeof(consort_access) + args;
  std::byte *at = draft.t->payload;
  if (bytes > kPayload && !(at = draft.rt.tasks.payload(draft.rt.tasks.index(draft.t), bytes))) {
    at = static_cast<std::byte *>(draft.extra().spill = std::malloc(bytes));
    if (!at) return no_memory();
  }
  draft.t->pub.access = reinterpret_cast<consort_access *>(at);
  if (d.nargs) pack_args(d.args, d.nargs, at + d.nuses * sizeof(consort_access));
  return CONSORT_OK;
}

consort_status check_team(const Task *t, const Team &team) noexcept {
  const Codelet *c = t->codelet;
  const char *const name = c ? c->name.c_str() : "an empty task";
  if (!c || !c->for_teams())
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "team %s was named for a task of '%s', which no team may run: add the codelet with CL_FORKJOIN or "
                      "CL_SPMD, or name a worker",
                      team.name.c_str(), name);
  if (!(c->where >> team.klass & 1))
    return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' has no implementation for the workers of team %s", name,
                      team.name.c_str());
  if (!may_run(t->pub, team))
    return set_errorf(CONSORT_E_UNSUPPORTED, "team %s has %u workers, but tasks of codelet '%s' run on %u at most (max_team)",
                      team.name.c_str(), team.size(), name, t->pub.team_max);
  return CONSORT_OK;
}

consort_status read_rare(SubmissionDraft &draft, const consort_task_desc &d, RepeatState *again) noexcept {
  Task *t = draft.t;
  if (d.worker != CONSORT_NONE) {
    const Team *team = draft.rt.topology->team(d.worker);
    if (d.worker >= draft.rt.workers.size() && !team)
      return set_errorf(CONSORT_E_INVAL,
                        "worker %u does not exist: there are %zu, numbered from 0, and %zu teams, numbered from there",
                        d.worker, draft.rt.workers.size(), draft.rt.topology->teams().size());
    const uint32_t worker = team ? team->members.front() : d.worker;
    if (team)
      if (const consort_status s = check_team(t, *team); s < 0) return s;
    if (t->codelet && !(t->codelet->where >> draft.rt.workers[worker]->klass & 1))
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "codelet '%s' has no implementation for worker %s, to which the task is bound",
                        t->codelet->name.c_str(), draft.rt.workers[worker]->unit.name.c_str());
    draft.extra().worker = worker;
    t->extra->team = team ? team->id : CONSORT_NONE;
    t->bits |= kBound;
  }
  if ((d.flags & CONSORT_TASK_REPEAT) || (d.size != CONSORT_TASK_BRIEF && d.more))
    if (const consort_status s = read_more(draft, d, again); s < 0) return s;
  if (d.size == CONSORT_TASK_BRIEF) return CONSORT_OK;
  if (d.footprint) store_relaxed(t->pub.footprint, d.footprint);
  if (!d.nafter && !d.done && !d.done_arg && !d.name && !d.work) return CONSORT_OK;
  if (d.nafter && !d.after) return set_error(CONSORT_E_INVAL, "nafter is not 0, but after is NULL");
  Extra &e = draft.extra();
  e.done = d.done;
  e.done_arg = d.done_arg;
  e.work = d.work;
  if (d.done && draft.rt.virtual_time) draft.rt.idle_stepper->begin();
  if (d.name && !e.set_name(d.name)) return no_memory();
  if (!d.nafter) return CONSORT_OK;
  if (!e.make_room_after(d.nafter)) return no_memory();
  for (uint32_t i = 0; i < d.nafter; ++i) {
    const TaskName name = d.after[i].v;
    if (recorded::is(name))
      return set_errorf(
          CONSORT_E_INVAL,
          "predecessor %u is a recorded task, which did not run: only tasks of its recording come after it", i);
    if (!name || !draft.rt.tasks.holds(static_cast<uint32_t>(name)))
      return set_errorf(CONSORT_E_INVAL, "predecessor %u is no task of this runtime", i);
    e.after[i] = name;
  }
  e.nafter = d.nafter;
  t->bits |= kAfter;
  return CONSORT_OK;
}

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
consort_status refuse_codelet(const TaskGraph &rt, const Codelet &c) {
  std::string wants, has;
  for (const auto &impl : c.impls) {  // an implementation for a class of this machine was of no use: find the reason
    const int bit = rt.topology->class_bit(impl.klass_name.c_str());
    if (bit < 0) continue;
    const std::string &runs = rt.topology->runs(static_cast<uint32_t>(bit));
    if (!runs.empty())
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "codelet '%s' runs on %s, but what plays %s here calls its function for %s, and it has none: "
                        "add an implementation for %s",
                        c.name.c_str(), impl.klass_name.c_str(), impl.klass_name.c_str(), runs.c_str(), runs.c_str());
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "codelet '%s' has a kernel as text for %s, and the units of that class take none: give a function",
                      c.name.c_str(), impl.klass_name.c_str());
  }
  for (const auto &impl : c.impls) wants += (wants.empty() ? "" : ", ") + impl.klass_name;
  for (const char *klass : rt.topology->classes()) has += (has.empty() ? "" : ", ") + std::string(klass);
  return set_errorf(
      CONSORT_E_UNSUPPORTED,
      "codelet '%s' runs on %s only, this runtime has %s: add an implementation, or the driver to `drivers`",
      c.name.c_str(), wants.c_str(), has.c_str());
}

consort_status enter_context(SubmissionDraft &draft) noexcept {
  draft.extra();
  return draft.rt.policy.contexts().enter(draft.thread, draft.t);
}

void take_names(SubmissionDraft &draft, Group &group) noexcept {
  Task *t = draft.t;
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | draft.rt.tasks.index(t);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
}
}  // namespace

[[gnu::noinline]] consort_status submit_any(TaskGraph &rt, const consort_task_desc &given, consort_task_id *out,
                                            RepeatState *again, SubmissionRecorder *recorder) noexcept {
  ThreadState *const found = rt.this_thread();
  if (!found) [[unlikely]] return CONSORT_E_NOMEM;
  ThreadState &thread = *found;
  consort_task_desc whole;
  // Programs built with an older header have fewer fields. A brief description that repeats counts as such: a repeating
  // one has a consort_task_more, and the brief one ends before `more`.
  const bool is_brief = given.size == CONSORT_TASK_BRIEF && !(given.flags & CONSORT_TASK_REPEAT);
  const bool is_copied = !is_brief && given.size < sizeof whole;
  if (is_copied) {
    whole = CONSORT_TASK_INIT;
    std::memcpy(&whole, &given, given.size);
  }
  const consort_task_desc &d = is_copied ? whole : given;
  constexpr uint32_t kKnown = CONSORT_TASK_UNORDERED | CONSORT_TASK_REPEAT;
  if (d.flags & ~kKnown) [[unlikely]]
    return set_errorf(CONSORT_E_INVAL, "task->flags has 0x%x, which this runtime does not know", d.flags & ~kKnown);

  if (d.size != CONSORT_TASK_BRIEF && d.reserved) [[unlikely]]
    return set_errorf(CONSORT_E_INVAL,
                      "task->reserved has 0x%x, which has no meaning: it must be 0, as CONSORT_TASK_INIT makes it",
                      d.reserved);

  Codelet *c = nullptr;
  if (d.codelet.v) {
    c = rt.codelets.find(d.codelet);
    if (!c || !c->live.load(std::memory_order_relaxed)) [[unlikely]]
      return c || rt.codelets.ever_gave(d.codelet)
                 ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
                 : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
    if (!c->where) [[unlikely]] return refuse_codelet(rt, *c);
    if (c->nmodes != CONSORT_NONE && c->nmodes != d.nuses) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "codelet '%s' wants %u data, the task gives %u", c->name.c_str(), c->nmodes,
                        d.nuses);
  }
  if ((d.nuses && !d.uses) || (d.nargs && !d.args)) [[unlikely]]
    return set_error(CONSORT_E_INVAL, "uses or args is NULL, but their number is not 0");
  if (d.nuses > kMostUses || d.nargs > 255) [[unlikely]]
    return set_errorf(CONSORT_E_INVAL, "%u data and %u arguments: a task takes up to %u data and 255 arguments",
                      d.nuses, d.nargs, kMostUses);
  Group *group;
  if (!d.group.v) {
    group = thread.task ? thread.task->group : &rt.groups.standard();
  } else if (!(group = rt.groups.find(d.group))) [[unlikely]] {
    return set_error(CONSORT_E_STALE, "the group was destroyed: its handle is stale");
  }

  Task *t = thread.take_record();
  if (!t) [[unlikely]] return no_memory();
  if (c) blank(t, c->blank, c, c->bits);
  else blank_special(t, TaskKind::kEmpty);
  t->pub.priority = d.priority;
  SubmissionDraft draft(rt, thread, t);
  // Published first, then checked again: either the remover of the codelet sees the record, or this thread sees that it
  // is removed.
  fence::light(rt.asymmetric);
  if (c && !c->live.load(std::memory_order_relaxed)) [[unlikely]]
    return set_error(CONSORT_E_STALE, "the codelet was removed");
  if (d.worker != CONSORT_NONE || d.size != CONSORT_TASK_BRIEF || d.flags) [[unlikely]]
    if (const consort_status s = read_rare(draft, d, again); s < 0) return s;
  if ((c && c->for_teams()) || rt.shared_domains) draft.extra();
  draft.unordered = d.flags & CONSORT_TASK_UNORDERED;
  if (d.nuses | d.nargs) {
    t->pub.naccess = static_cast<uint16_t>(d.nuses);
    t->nargs = static_cast<uint8_t>(d.nargs);
    if (const consort_status s = place_payload(draft, d); s < 0) [[unlikely]] return s;
    if (const consort_status s = read_uses(draft, d, c); s < 0) [[unlikely]] return s;
  }
  take_names(draft, *group);
  if (c && c->can_execute) [[unlikely]]
    if (const consort_status s = check_able(rt, t); s < 0) return s;
  if (recorder) [[unlikely]]
    if (const consort_status s = recorder->take(draft, out); s != CONSORT_AGAIN) return s;
  if (rt.policy.splits()) [[unlikely]]
    if (const consort_status s = enter_context(draft); s < 0) return s;
  if (t->bits & kMore) [[unlikely]]
    if (const consort_status s = enter_order(draft, d); s < 0) return s;
  if (!thread.seat && !thread.lease) look_for_lease(rt, thread);

  bool ready;
  {
    const SubmissionRight right(rt, thread, draft.claims, draft.nclaims);
    if (draft.nclaims | (t->bits & kAfter)) {
      for (uint32_t i = 0; i < d.nuses; ++i)
        if (!DataTable::is(*Datum::of(t->pub.access[i].datum), d.uses[i].data)) [[unlikely]]
          return stale_datum(d.uses[i], i);
      if (const consort_status s = enter_phases(draft); s < 0) [[unlikely]] return s;
      if (const consort_status s = reserve_links(draft); s < 0) [[unlikely]] return s;
      if (!list_tokens(draft)) [[unlikely]] return no_memory();
      if (draft.formatted) [[unlikely]] settle_formats(draft);
    }
    count_in(thread, *group);
    if (out) out->v = t->pub.id;
    if (rt.policy.looks_ahead() && !(t->bits & (kSpecial | kBound))) [[unlikely]] rt.policy.submitted(t);
    if (rt.graph_observer) [[unlikely]]
      rt.graph_observer->submitted(*t, draft.claims, draft.nclaims + draft.nhidden, t->extra ? t->extra->after : nullptr,
                                   t->extra ? t->extra->nafter : 0);
    if (c && rt.codelets.is_foreseen(*c)) [[unlikely]] rt.graph_memory->foresee(*t);
    if (t->bits & kMore) [[unlikely]] settle_order(draft, d);
    Linker linker(rt, t);
    link(draft, linker);
    ready = let_go(rt, t, linker, pending::kGuard);
    age_kept(rt, thread);
    draft.t = nullptr;  // sent: unless it is ready, it no longer belongs to this thread
    if (ready && !(t->bits & (kSpecial | kBound | kMore))) [[likely]] {
      push_ready(rt, thread, t);
      return CONSORT_OK;
    }
  }
  if (draft.guard) release_ready(rt, thread, draft.guard);
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
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
    if (retires) {  // invalid for all threads from here on
      if (const consort_status s = end_plans(draft, *d); s < 0) return s;
      d->home.store(0, std::memory_order_release);  // pairs with find_home()
      d->generation.store((d->generation.load(std::memory_order_relaxed) + 1) & ~Datum::kOdd,
                          std::memory_order_release);
    }
    if (draft.formatted) settle_formats(draft);
    count_in(thread, *t->group);
    Linker linker(rt, t);
    link(draft, linker);
    ready = let_go(rt, t, linker, pending::kGuard);
    draft.t = nullptr;
  }
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
}
}  // namespace consort
