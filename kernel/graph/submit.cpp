#include "graph/submit.hpp"

#include <sched.h>

#include <algorithm>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/access_phase.hpp"
#include "graph/complete.hpp"
#include "graph/link_steps.hpp"

namespace consort {

// -- the right, here so that the short way needs no SubmissionRight in memory: 11 instructions a task ---------------

void SubmissionRight::enter(TaskGraph &rt, Claim *claims, uint32_t n) noexcept {
  ThreadState &thread = thread_;
  claims_ = claims;
  for (;;) {
    uint32_t bias = rt.bias.load(std::memory_order_acquire);
    if (bias == thread.id) return;
    if (bias == TaskGraph::kEverybody) break;
    thread.busy.store(0, std::memory_order_release);
    if (bias == TaskGraph::kNobody) {
      rt.bias.compare_exchange_strong(bias, thread.id, std::memory_order_acq_rel);
    } else if (bias == TaskGraph::kRevoking) {
      sched_yield();
    } else if (rt.bias.compare_exchange_strong(bias, TaskGraph::kRevoking, std::memory_order_acq_rel)) {
      fence::heavy();
      const ThreadState &owner = *rt.threads.at(bias);
      // acquire pairs with the release in the destructor: the chains as the owner left them
      for (Backoff wait; owner.busy.load(std::memory_order_acquire);) wait.once();
      rt.bias.store(TaskGraph::kEverybody, std::memory_order_release);
    }
    thread.busy.store(1, std::memory_order_relaxed);
    fence::light(rt.asymmetric);
  }
  // Several data may share one lock: they stand together then, and the first of them stands for all.
  // Looked up once: a handle may be stale, and its slot be another datum's by now. That is found out under the lock.
  for (uint32_t i = 0; i < n; ++i) claims[i].lock = &lock_of(*claims[i].datum);
  if (n > 1) std::sort(claims, claims + n, [](const Claim &a, const Claim &b) { return a.lock < b.lock; });
  for (; locked_ < n; ++locked_)
    if (!locked_ || claims[locked_].lock != claims[locked_ - 1].lock) claims[locked_].lock->lock();
}

void SubmissionRight::unlock() noexcept {
  for (; locked_; --locked_)
    if (locked_ == 1 || claims_[locked_ - 1].lock != claims_[locked_ - 2].lock) claims_[locked_ - 1].lock->unlock();
}

// -- the short way ------------------------------------------------------------------------------------------------
//
// A few data, no arguments, nothing rare: what most tasks are. Whatever does not fit, errors too, is left to the long
// way, which words them: kNotPlain, and nothing has happened.
constexpr consort_status kNotPlain = INT32_MAX;
constexpr uint32_t kPlainUses = kPayload / sizeof(consort_access);
constexpr uint32_t kShortModes = CONSORT_M_RW | CONSORT_M_SCRATCH | CONSORT_M_REDUX | CONSORT_M_COMMUTE;

// With the right: is the last writer unfinished? A finished one is forgotten.
inline bool still_live(const Task *records, TaskName &writer) noexcept {
  if (!writer) return false;
  if (is_live(records[static_cast<uint32_t>(writer)], writer)) return true;
  writer = 0;
  return false;
}

// Finds the data and fills the accesses. kNoSurvey: some are not registered, or not different; with the right, also:
// there is no room for another reader. Else, with the right, how many predecessors were live: there will be no more.
// kBeside: among them may be scratch, and accesses that commute or reduce, of data whose chains end with others of the
// kind.
constexpr uint32_t kNoSurvey = ~0u;
template <bool kWithRight, bool kBeside>
[[gnu::always_inline]] inline uint32_t survey(TaskGraph &rt, const consort_task_desc &d, uint32_t n,
                                              const uint32_t *modes, consort_access *access, Claim *claims) noexcept {
  const Task *const records = rt.tasks.at(0);
  uint32_t links = 0;
  bool plain = true;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < n; ++i) {
    const consort_use &use = d.uses[i];
    const uint32_t mode = use.mode;
    Datum *datum = rt.data.find(use.data);
    if (kBeside && mode > CONSORT_M_RW) {
      if (!datum || !DataTable::is(*datum, use.data)) return kNoSurvey;
      if (kWithRight && mode != CONSORT_M_SCRATCH && !goes_beside(*datum, mode)) return kNoSurvey;
    } else if (!datum || !DataTable::is_plain(*datum, use.data) || mode - 1 > 2) [[unlikely]] {
      return kNoSurvey;
    }
    if (modes) plain &= modes[i] == mode;
#pragma GCC unroll 4
    for (uint32_t k = 0; k < i; ++k) plain &= claims[k].datum != datum;
    claims[i].datum = datum;
    claims[i].mode = mode;
    access[i] = {&datum->pub, mode, 0};
    if constexpr (!kWithRight) continue;
    if (kBeside && mode == CONSORT_M_SCRATCH) continue;
    const uint32_t readers = datum->nreaders;
    if (kBeside ? shares(mode) : !(mode & CONSORT_M_W)) {
      plain &= readers < Datum::kInlineReaders + datum->capacity;
      links += still_live(records, datum->writer);
    } else if (!readers) {
      links += still_live(records, datum->writer);
    } else {
      for (uint32_t r = 0; r < readers; ++r) {
        const TaskName reader = datum->reader_at(r);
        links += is_live(records[static_cast<uint32_t>(reader)], reader);
      }
    }
  }
  return plain ? links : kNoSurvey;
}

// With kBeside: what its accesses ask for when it runs. False: more than the short way can say.
inline bool note_kinds(Task *t, const Claim *claims, uint32_t n) noexcept {
  uint32_t commuting = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (claims[i].mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX)) t->bits |= kScratch;
    if (claims[i].mode & CONSORT_M_COMMUTE) ++commuting;
  }
  if (commuting) t->bits |= kTokens;
  return commuting < 2;  // else their tokens are listed
}

// kUses: how many data, so that what is done for each stands in a row; kAnyUses: it is not known beforehand.
constexpr uint32_t kAnyUses = ~0u;
template <bool kBeside, uint32_t kUses>
[[gnu::always_inline]] inline consort_status submit_plain(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                                                          Codelet &c, Group &group, consort_task_id *out) noexcept {
  Task *t = thread.take_record();
  if (!t) [[unlikely]] return kNotPlain;
  blank(t, c.blank, &c, 0);
  if (!thread.seat && !thread.lease) [[unlikely]] look_for_lease(rt, thread);
  const uint32_t n = kUses == kAnyUses ? d.nuses : kUses, number = rt.tasks.index(t);
  const TaskName name = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | number;
  t->pub.priority = d.priority;
  t->pub.id = name;
  t->pub.naccess = static_cast<uint16_t>(n);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
  auto *const access = reinterpret_cast<consort_access *>(t->payload);
  Claim claims[kPlainUses];
  const uint32_t *const modes = c.modes.empty() ? nullptr : c.modes.data();
  const auto refuse = [&]() noexcept {
    if (t->extra) free_lent(rt, thread, t);
    std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_relaxed);
    thread.give_record(t);
    return kNotPlain;
  };

  SubmissionRight right(thread);
  if (!right.try_biased(rt)) [[unlikely]] {
    if (n && survey<false, kBeside>(rt, d, n, modes, access, claims) == kNoSurvey) return refuse();
    right.enter(rt, claims, n);  // sorts them, and keeps them until it ends
  }
  Claim seen[kPlainUses];
  const uint32_t links = n ? survey<true, kBeside>(rt, d, n, modes, access, seen) : 0;
  if (links > kInlineLinks) [[unlikely]]
    if (links == kNoSurvey || !reserve_more(rt, thread, t, links)) return refuse();
  // behind the fence of the right: as in submit_any()
  if (!c.live.load(std::memory_order_relaxed)) [[unlikely]] return refuse();
  if (kBeside && !note_kinds(t, seen, n)) return refuse();
  count_in(thread, group);
  if (out) out->v = name;
  if (n) {
    // Once as many links hang as `pending` says, the task is its predecessors' to release: it is not looked at again,
    // and what is still to be done for it touches the chains alone.
    t->pending.store(links * pending::kBoth, std::memory_order_relaxed);
    Linker linker(rt, t, number);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; ++i) {
      if (kBeside && seen[i].mode == CONSORT_M_SCRATCH) continue;
      if (kBeside && shares(seen[i].mode)) link_shared(linker, *seen[i].datum, name);
      else link_one(linker, *seen[i].datum, seen[i].mode, name);
    }
    if (!let_go(rt, t, linker, links)) {
      age_kept(rt, thread);
      return CONSORT_OK;
    }
  }
  push_ready(rt, thread, t);
  return CONSORT_OK;
}

[[gnu::noinline]] consort_status submit_beside(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d, Codelet &c,
                                               Group &group, consort_task_id *out) noexcept {
  return submit_plain<true, kAnyUses>(rt, thread, d, c, group, out);
}

[[gnu::always_inline]] inline consort_status submit_short(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                                                          Codelet &c, consort_task_id *out) noexcept {
  const uint32_t n = d.nuses;
  uint32_t modes = 0, reserved = 0;
  if (n) {
    if (!d.uses) [[unlikely]] return kNotPlain;
    for (uint32_t i = 0; i < n; ++i) {  // their lines are often cold: asked for while the record is filled
      const std::byte *place = rt.data.place(d.uses[i].data);
      __builtin_prefetch(place, 1);
      __builtin_prefetch(place + offsetof(Datum, pub));
      modes |= d.uses[i].mode;
      reserved |= d.uses[i].reserved;
    }
  }
  Group *const group = d.group.v ? rt.groups.find(d.group) : thread.task ? thread.task->group : rt.standard_group;
  if (!group || reserved) [[unlikely]] return kNotPlain;
  if (modes > CONSORT_M_RW) [[unlikely]]
    return modes > kShortModes ? kNotPlain : submit_beside(rt, thread, d, c, *group, out);
  switch (n) {
    case 0: return submit_plain<false, 0>(rt, thread, d, c, *group, out);
    case 1: return submit_plain<false, 1>(rt, thread, d, c, *group, out);
    case 2: return submit_plain<false, 2>(rt, thread, d, c, *group, out);
    case 3: return submit_plain<false, 3>(rt, thread, d, c, *group, out);
    default: return submit_plain<false, kAnyUses>(rt, thread, d, c, *group, out);
  }
}

consort_status submit(TaskGraph &rt, const consort_task_desc &d, consort_task_id *out) noexcept {
  ThreadState *const thread = rt.this_thread();
  if (!thread) [[unlikely]] return CONSORT_E_NOMEM;
  // Fields one by one: the caller has just written them, and a load over two stores would wait for both to leave.
  const bool brief =
      d.size == CONSORT_TASK_BRIEF ||
      (d.size == sizeof d && !(d.nafter | d.reserved | d.footprint | d.work | reinterpret_cast<uintptr_t>(d.done) |
                               reinterpret_cast<uintptr_t>(d.name) | reinterpret_cast<uintptr_t>(d.more)));
  Codelet *const c = rt.codelets.find(d.codelet);
  if (c && brief && !(d.nargs | (d.worker + 1) | d.flags | thread->watched) &&
      d.nuses - c->plain_from < c->plain_span.load(std::memory_order_relaxed)) [[likely]]
    if (const consort_status s = submit_short(rt, *thread, d, *c, out); s != kNotPlain) [[likely]] return s;
  if (d.size < CONSORT_TASK_BRIEF)
    return set_error(CONSORT_E_INVAL,
                     "task->size is too small: set it to sizeof(consort_task_desc) or CONSORT_TASK_BRIEF");
  if (thread->watched) [[unlikely]] return submit_watched(rt, *thread, d, out);
  return submit_any(rt, d, out);
}

void push_kept(TaskGraph &rt, ThreadState &thread) noexcept {
  if (thread.seat || !thread.lease) return;
  const SubmissionRight right(rt, thread, nullptr, 0);
  if (Worker *w = leased(thread); w && w->nkept) push_kept(rt, *w);
}

}  // namespace consort
