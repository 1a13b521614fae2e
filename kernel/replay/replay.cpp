#include "replay/replay.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/access_phase.hpp"
#include "graph/complete.hpp"
#include "graph/link_steps.hpp"
#include "graph/submission_draft.hpp"
#include "replay/replaying.hpp"
#include "sched/context.hpp"

namespace consort {
namespace {

// With the rights over the claims: all steps that may fail. Predecessors that have ended need no link.
consort_status reserve(SubmissionDraft &draft) noexcept {
  TaskGraph &rt = draft.rt;
  uint32_t links = 1;
  for (uint32_t i = 0; i < draft.nclaims; ++i) {
    Datum &d = *draft.claims[i].datum;
    const AccessOrder *discipline = discipline_if_any(d);
    if (shares(draft.claims[i].mode)) {
      links += d.writer && rt.is_live(d.writer);
      if (!rt.data.make_room(rt.tasks, d)) return no_memory();
    } else if (d.nreaders) {
      for (uint32_t k = 0; k < d.nreaders; ++k) links += rt.is_live(d.reader_at(k));
    } else {
      links += d.writer && rt.is_live(d.writer);
    }
    if (discipline) links += static_cast<uint32_t>(discipline->loose.size());
  }
  return links > kInlineLinks && !reserve_more(rt, draft.thread, draft.t, links) ? no_memory() : CONSORT_OK;
}

bool in_tree(const Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  return discipline && discipline->in_tree();
}

struct Wanted { Datum *datum; uint32_t place; };

// One attempt. OK: linked. AGAIN: other tasks have used more of its data meanwhile.
consort_status try_link(SubmissionDraft &draft, Recording &r, std::vector<Wanted> &wanted, bool *ready) {
  TaskGraph &rt = draft.rt;
  ThreadState &thread = draft.thread;
  wanted.clear();
  {
    std::lock_guard lock(r.lock);
    for (const uint32_t place : r.loose) wanted.push_back({r.uses[place].datum, place});
  }
  draft.nclaims = 0;
  if (wanted.size() > kFewUses) {
    if (draft.claims != draft.few) std::free(draft.claims);
    draft.claims = static_cast<Claim *>(std::malloc(wanted.size() * sizeof(Claim)));
    if (!draft.claims) {
      draft.claims = draft.few;
      return no_memory();
    }
  }
  for (const Wanted &w : wanted) draft.claims[draft.nclaims++] = {w.datum, r.uses[w.place].mode};
  const SubmissionRight right(rt, thread, draft.claims, draft.nclaims);
  for (const Wanted &w : wanted) {
    const Recording::Use &use = r.uses[w.place];
    if (!DataTable::is(*use.datum, {use.id})) {
      r.dead = "datum '" + r.name_of(use) + "', which it uses, was unregistered";
      return set_errorf(CONSORT_E_STALE, "the recording is dead: %s", r.dead.c_str());
    }
    if (const AccessOrder *discipline = discipline_if_any(*use.datum); discipline && discipline->formats)
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "datum '%s' has several formats since it was recorded: submit its tasks instead",
                        r.name_of(use).c_str());
    if (use.tokens && !discipline_of(*use.datum)) return no_memory();
  }
  if (const consort_status s = enter_phases(draft); s < 0) return s;
  if (const consort_status s = reserve(draft); s < 0) return s;
  Linker linker(rt, draft.t);
  {
    std::lock_guard lock(r.lock);
    if (r.loose.size() != wanted.size()) return CONSORT_AGAIN;
    for (uint32_t i = 0; i < draft.nclaims; ++i) {
      Datum &d = *draft.claims[i].datum;
      if (const AccessOrder *discipline = discipline_if_any(d))
        for (const TaskName user : discipline->loose) linker.after(user);
      link_one(linker, d, draft.claims[i].mode, draft.t->pub.id);
    }
    linker.after(r.last);
    r.last = draft.t->pub.id;
    r.pending.fetch_add(1, std::memory_order_relaxed);
    r.loose.clear();
    for (const Wanted &w : wanted)
      if (in_tree(*w.datum)) r.loose.push_back(w.place);  // its bytes are also used under other names
  }
  for (const Wanted &w : wanted) {
    if (in_tree(*w.datum)) continue;
    w.datum->keeper = static_cast<uint16_t>(r.number + 1);
    mark_odd(*w.datum);
  }
  count_in(thread, *draft.t->group);
  *ready = let_go(rt, draft.t, linker, pending::kGuard);
  return CONSORT_OK;
}

}  // namespace

consort_status submit_replay(Replaying &rt, ThreadState &thread, consort_recording_id id, Group &group,
                             consort_task_id *out) {
  Recording *r = rt.recordings.find(id);
  Task *t = r ? thread.take_record() : nullptr;  // may run tasks if the window is full
  if (r && !t) return no_memory();
  bool ready = false;
  if (r) {
    blank_special(t, TaskKind::kReplay);
    std::memcpy(t->payload, &r, sizeof r);
    SubmissionDraft draft(rt, thread, t);
    t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | rt.tasks.index(t);
    t->group = &group;
    t->epoch = group.epoch.load(std::memory_order_relaxed);
    if (rt.policy.splits()) [[unlikely]] {
      draft.extra();
      if (const consort_status s = rt.policy.contexts().router().enter(thread, t); s < 0) return s;
    }
    std::lock_guard control(r->control);
    if (r->live && r->id().v == id.v) {
      if (!r->dead.empty()) return set_errorf(CONSORT_E_STALE, "the recording is dead: %s", r->dead.c_str());
      const TaskName name = t->pub.id;
      std::vector<Wanted> wanted;
      consort_status s;
      do s = try_link(draft, *r, wanted, &ready);
      while (s == CONSORT_AGAIN);
      if (s < 0) return s;
      if (out) out->v = name;
      ++r->replays;
      draft.t = nullptr;
    } else {
      r = nullptr;
    }
  }
  if (!r)
    return id.v ? set_error(CONSORT_E_STALE,
                            "the recording was destroyed, or is none of this runtime: its handle is stale")
                : set_error(CONSORT_E_INVAL, "the null handle names no recording: consort_record_end() gives one");
  if (ready) release_ready(rt, thread, t);
  return CONSORT_OK;
}

Recording &begin_replay(TaskGraph &rt, Task *whole) noexcept {
  Recording &r = recording_of(*whole);
  whole->kind = TaskKind::kReplayBegun;
  r.whole = whole;
  Task *const first = rt.tasks.at(r.first);
  if (r.group != whole->group || r.epoch != whole->epoch) {
    r.group = whole->group;
    r.epoch = whole->epoch;
    Task *t = first;
    for (uint32_t i = 0; i < r.nnodes; ++i, ++t) {
      t->group = r.group;
      t->epoch = r.epoch;
    }
  }
  Task *const carrier = r.captured ? r.captured->begin() : nullptr;
  r.carrier.store(carrier, std::memory_order_relaxed);
  r.turn.store(word::generation((carrier ? carrier : first)->word.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  r.running.store(whole->pub.id, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in Recordings::cancel()
  if (whole->word.load(std::memory_order_relaxed) & word::kCancelled) r.cancel_nodes(rt.tasks);
  return r;
}

consort_status end_replay(TaskGraph &rt, Task *whole) noexcept {
  Recording &r = recording_of(*whole);
  r.running.store(0, std::memory_order_relaxed);
  std::shared_ptr<const Failure> cause;
  {
    std::lock_guard lock(rt.data.blame_mutex);
    cause = std::move(r.failure);
    r.failure = nullptr;
  }
  consort_status status = CONSORT_OK;
  if (cause) {
    status = cause->status;
    try {
      auto f = std::make_shared<Failure>();
      f->status = status;
      f->task = whole->pub.id;
      f->worker = cause->worker;
      f->task_name = "replay";
      f->data_name = cause->data_name;
      f->text = "task '" + cause->task_name + "' of the recording failed";
      f->cause = Failure::next_cause(cause);
      f->depth = f->cause->depth + 1;
      rt.failures.add(std::move(f));
    } catch (const std::bad_alloc &) {
      rt.failures.add_lost(whole->pub.id);
    }
  }
  r.pending.fetch_sub(1, std::memory_order_release);  // afterwards the recording may change, or be destroyed
  return status;
}

void release_all_data(Replaying &rt, ThreadState &thread, Recording &r, std::vector<Claim> &claims) noexcept {
  for (const Recording::Use &use : r.uses)
    if (DataTable::is(*use.datum, {use.id})) claims.push_back({use.datum, use.mode});
  const SubmissionRight right(rt, thread, claims.data(), static_cast<uint32_t>(claims.size()));
  for (const Claim &c : claims)
    if (c.datum->keeper == r.number + 1 && !rt.recordings.let_go(*c.datum)) {
      c.datum->keeper = 0;  // no room for another reader, and none is needed: the last replay has ended
      mark_odd(*c.datum);
    }
}

}  // namespace consort
