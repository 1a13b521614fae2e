// link_steps.hpp — the steps common to all submissions, inline: blank record, edges, release, push.
//
// Under the submission right, except blank(). Nothing here fails: what could fail was reserved before.
#pragma once
#include "base/store_relaxed.hpp"
#include "graph/submission_right.hpp"
#include "sched/kept_tasks.hpp"
#include "sched/policy_push.hpp"
#include "task/edges.hpp"

namespace consort {

struct RepeatState;
class SubmissionRecorder;

// Makes a task the end of its datum's chain: beside others of its kind, or alone.
[[gnu::always_inline]] inline void end_chain_shared(Datum &d, TaskName name) noexcept { d.reader_at(d.nreaders++) = name; }
[[gnu::always_inline]] inline void end_chain_alone(Datum &d, TaskName name) noexcept {
  d.nreaders = 0;
  d.writer = name;
}

// Adds one access to its datum's chain: shared with others of its kind, or exclusive.
[[gnu::always_inline]] inline void link_shared(Linker &linker, Datum &d, TaskName name) noexcept {
  linker.after(d.writer);
  end_chain_shared(d, name);
}
[[gnu::always_inline]] inline void link_alone(Linker &linker, Datum &d, TaskName name) noexcept {
  if (d.nreaders) {  // each reader follows the last writer
    for (uint32_t r = 0; r < d.nreaders; ++r) linker.after(d.reader_at(r));
  } else {
    linker.after(d.writer);
  }
  end_chain_alone(d, name);
}
[[gnu::always_inline]] inline void link_one(Linker &linker, Datum &d, uint32_t mode, TaskName name) noexcept {
  if (mode & CONSORT_M_W) link_alone(linker, d, name);
  else link_shared(linker, d, name);
}

// Returns whether the queue of this ticket may take `s` once all its predecessors are issued. `s` cannot run yet.
bool may_follow(const TaskGraph &, const Task &s, uint64_t place) noexcept;

// Subtracts what `pending` was given beyond the links added. Returns true if no predecessor is left.
[[gnu::always_inline]] inline bool let_go(TaskGraph &rt, Task *t, Linker &linker, uint64_t given) noexcept {
  if (linker.hung() == given && !linker.issued()) return given == 0;  // exact: the task may already be running
  if (!linker.hung()) return true;
  const uint64_t sub =
      (given - linker.hung()) * pending::kComplete + (given - (linker.hung() - linker.issued())) * pending::kIssue;
  // evaluated first: after the next line it may be running
  const bool may = linker.issued() && may_follow(rt, *t, linker.place());
  // release: the thread that decrements last sees the whole record. acquire: if that is this thread, the predecessors'
  // stores.
  const uint64_t left = t->pending.fetch_sub(sub, std::memory_order_acq_rel) - sub;
  if ((left & 0xffffffff) == 0) return true;
  if (may && left >> 32 == 0) [[unlikely]]
    if (IssueQueue *q = claim_follower(rt, t, linker.place())) q->offer(t);
  return false;
}

// Returns the worker that this thread leases, if it still does; under the right, so that the lease cannot be taken
// meanwhile.
inline Worker *leased(ThreadState &thread) noexcept {
  Worker *w = thread.lease;
  if (!w) return nullptr;
  if (!w->leased_to(thread)) [[unlikely]] return thread.lease = nullptr;
  if (!w->watched.load(std::memory_order_relaxed)) [[unlikely]] w->wake_duty();
  return w;
}

// Pushes a ready task, under the right. A thread that submits with a lease holds a few back, so that they are pushed
// together and successors can be linked to them undisturbed. Not while a worker sleeps, which could start at once, and
// not a task that is more urgent than all that wait. They are held until there are enough, the thread waits, or it is
// silent for a watch tick.
[[gnu::always_inline]] inline void push_ready(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (thread.seat) return rt.policy.push_one(rt, thread, thread.seat->id, t);
  Worker *const w = leased(thread);
  if (!w) return rt.policy.push_one(rt, thread, CONSORT_NONE, t);
  const int32_t priority = t->pub.priority;
  if (!rt.keep_back.load(std::memory_order_relaxed) || rt.sleepers[0].load(std::memory_order_relaxed) ||
      (priority && !rt.policy.has_as_urgent(w->id, priority))) {
    if (w->nkept) push_kept(rt, *w);
    return rt.policy.push_one(rt, thread, w->id, t);
  }
  w->kept[w->nkept++] = t;
  if (w->nkept == Worker::kKept) push_kept(rt, *w);
}

// After a task that is not ready: several held tasks age. A single one is held while no worker sleeps and the submitter
// goes on. Its successors form a chain, which runs best where it was written.
[[gnu::always_inline]] inline void age_kept(TaskGraph &rt, ThreadState &thread) noexcept {
  if (thread.seat || !thread.lease || !thread.lease->leased_to(thread)) return;
  Worker &w = *thread.lease;
  if (w.nkept && (rt.sleepers[0].load(std::memory_order_relaxed) || (w.nkept > 1 && ++w.kept_age >= Worker::kKeptFor)))
    push_kept(rt, w);
}

inline void look_for_lease(TaskGraph &rt, ThreadState &thread) noexcept {
  if (rt.manual || (thread.lease_tries++ & 31)) return;
  for (auto &w : rt.workers)
    if (w->try_lease(thread)) return rt.pass_on_wake(*w);
  // Varies the worker, since the token of one may belong to a waiting caller, which leases it to no thread.
  rt.workers[(thread.id + (thread.lease_tries >> 8)) % rt.workers.size()]->ask_for_lease(thread);
}

inline constexpr consort_task kBlank = {{nullptr, nullptr}, 0, 0, 0, CONSORT_NONE, 0, 0, 0, 1, 1, nullptr};

// All but the place of the accesses. guard: 0 where the number of links is known before the first is added.
inline void blank_all_but_accesses(Task *t, const consort_task &pub, Codelet *c, uint16_t bits, TaskKind kind,
                                   uint64_t guard) noexcept {
  t->pub = pub;
  store_relaxed(t->codelet, c);
  t->extra = nullptr;
  t->bits = bits;
  t->nargs = 0;
  t->kind = kind;
  t->follow.store(0, std::memory_order_relaxed);
  t->pending.store(guard * pending::kBoth, std::memory_order_relaxed);
}

inline void blank(Task *t, const consort_task &pub, Codelet *c, uint16_t bits,
                  TaskKind kind = TaskKind::kPlain) noexcept {
  blank_all_but_accesses(t, pub, c, bits, kind, pending::kGuard);
  t->pub.access = reinterpret_cast<consort_access *>(t->payload);
}

// A record without a body.
inline void blank_special(Task *t, TaskKind kind) noexcept {
  const bool uncounted = kind == TaskKind::kRetire || kind == TaskKind::kGate;
  blank(t, kBlank, nullptr, uncounted ? kSpecial | kUncounted : kSpecial, kind);
}

// Lends the task records for links beyond its own. Returns false if out of memory; records lent so far stay with the
// task.
bool reserve_more(TaskGraph &, ThreadState &, Task *, uint32_t links) noexcept;

// A submission of a watched thread (ThreadState::watched): notes it, and passes it to the thread's recorder.
consort_status submit_watched(TaskGraph &, ThreadState &, const consort_task_desc &, consort_task_id *out) noexcept;
// The slow path: all options of a task, and all error texts. again: the description is of the task's next turn.
// recorder: takes the draft before it is linked.
consort_status submit_any(TaskGraph &, const consort_task_desc &, consort_task_id *out, RepeatState *again = nullptr,
                          SubmissionRecorder *recorder = nullptr) noexcept;

}  // namespace consort
