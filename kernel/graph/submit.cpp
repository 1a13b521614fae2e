#include "graph/submit.hpp"

#include <sched.h>

#include <algorithm>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/access_phase.hpp"
#include "graph/complete.hpp"
#include "graph/link_steps.hpp"
#include "graph/submission_recorder.hpp"
#include "task/packed_args.hpp"

namespace consort {

// -- the right, here so that the fast path needs no SubmissionRight in memory: saves 11 instructions a task ---------

uint32_t SubmissionRight::lock(TaskGraph &rt, ThreadState &thread, Claim *claims, uint32_t n) noexcept {
  for (;;) {
    uint32_t bias = rt.bias.load(std::memory_order_acquire);
    if (bias == thread.id) return 0;
    if (bias == TaskGraph::kAllLock) break;
    thread.busy.store(0, std::memory_order_release);
    if (bias == TaskGraph::kNoThread) {
      rt.bias.compare_exchange_strong(bias, thread.id, std::memory_order_acq_rel);
    } else if (bias == TaskGraph::kRevoking) {
      sched_yield();
    } else if (rt.bias.compare_exchange_strong(bias, TaskGraph::kRevoking, std::memory_order_acq_rel)) {
      fence::heavy();
      const ThreadState &owner = *rt.threads.at(bias);
      // acquire pairs with the release in the destructor: the chains as the owner left them
      for (Backoff wait; owner.busy.load(std::memory_order_acquire);) wait.once();
      rt.bias.store(TaskGraph::kAllLock, std::memory_order_release);
    }
    thread.busy.store(1, std::memory_order_relaxed);
    fence::light(rt.asymmetric);
  }
  // Several data may share one lock: they are adjacent then, and the first stands for all. Looked up once: a handle may
  // be stale and its slot reused, which is detected under the lock.
  for (uint32_t i = 0; i < n; ++i) claims[i].lock = &lock_of(*claims[i].datum);
  if (n > 1) std::sort(claims, claims + n, [](const Claim &a, const Claim &b) { return a.lock < b.lock; });
  for (uint32_t i = 0; i < n; ++i)
    if (!i || claims[i].lock != claims[i - 1].lock) claims[i].lock->lock();
  return n;
}

void SubmissionRight::unlock(const Claim *claims, uint32_t locked) noexcept {
  for (uint32_t i = locked; i; --i)
    if (i == 1 || claims[i - 1].lock != claims[i - 2].lock) claims[i - 1].lock->unlock();
}

// -- the fast path -----------------------------------------------------------------------------------------------
//
// Data, values, a worker, a name, a callback, a few predecessors: the options of most tasks. All else, also errors, is
// left to the slow path, which sets the error texts: the fast path returns kNotPlain, without any effect.
constexpr consort_status kNotPlain = INT32_MAX;
constexpr uint32_t kShortModes = CONSORT_M_RW | CONSORT_M_SCRATCH | CONSORT_M_REDUX | CONSORT_M_COMMUTE;

// With the right: returns whether the last writer is unfinished. Clears a finished one.
inline bool still_live(const Task *records, TaskName &writer) noexcept {
  if (!writer) return false;
  if (is_live(records[static_cast<uint32_t>(writer)], writer)) return true;
  writer = 0;
  return false;
}

// Returns whether the datum is among the first `n` accesses.
inline bool is_among(const consort_access *access, uint32_t n, const Datum &datum) noexcept {
  for (uint32_t i = 0; i < n; ++i)
    if (access[i].datum == &datum.pub) return true;
  return false;
}

// The unfinished predecessors of a task: at most as many as its own links and those of its chunk, and some room, so that
// a survey need not check at each.
constexpr uint32_t kMostLinks = kInlineLinks + kChunkLinks;
struct Predecessors { TaskName name[kMostLinks + Codelet::kMostPlain + Datum::kInlineReaders + Extra::kFewAfter]; };

// Adds the unfinished readers of a datum beyond the first ones. Returns the new number of predecessors; more than
// kMostLinks: there are too many.
[[gnu::noinline]] uint32_t add_more_readers(const Task *records, const Datum &d, Predecessors &found, uint32_t links) noexcept {
  for (uint32_t r = Datum::kInlineReaders; r < d.nreaders && links <= kMostLinks; ++r) {
    const TaskName reader = d.more[r - Datum::kInlineReaders];
    found.name[links] = reader;
    links += is_live(records[static_cast<uint32_t>(reader)], reader);
  }
  return links;
}

// Finds the data and fills the accesses, and the claims, if there are any. kNoSurvey: some are not registered, or not
// distinct; with the right, also: there is no room for another reader, or there are too many predecessors. Otherwise
// finds, with the right, the unfinished predecessors and returns their number; there will be no more. kBeside: scratch
// is permitted, and accesses that commute or reduce, on data whose chains end with others of the kind.
constexpr uint32_t kNoSurvey = ~0u;
template <bool kWithRight, bool kBeside>
[[gnu::always_inline]] inline uint32_t survey(TaskGraph &rt, const consort_task_desc &d, uint32_t n,
                                              const uint32_t *modes, consort_access *access, Claim *claims,
                                              Predecessors *found) noexcept {
  const Task *const records = rt.tasks.at(0);
  const DataTable::Slots slots = rt.data.slots();
  const consort_use *const uses = d.uses;
  uint32_t links = 0;
  uint64_t met = 0;  // a bit for each datum; two data may have the same bit
#pragma GCC unroll 4
  for (uint32_t i = 0; i < n; ++i) {
    const consort_data_id id = uses[i].data;
    const uint32_t mode = uses[i].mode;
    if (!slots.holds(id)) [[unlikely]] return kNoSurvey;
    Datum &datum = slots.at(id);
    if (kBeside && mode > CONSORT_M_RW) {
      if (!DataTable::is(datum, id)) return kNoSurvey;
      if (kWithRight && mode != CONSORT_M_SCRATCH && !goes_beside(datum, mode)) return kNoSurvey;
    } else if (!DataTable::is_plain(datum, id) || mode - 1 > 2) [[unlikely]] {
      return kNoSurvey;
    }
    if (modes && modes[i] != mode) [[unlikely]] return kNoSurvey;
    if (__builtin_constant_p(n) && n <= 3) {
      if (is_among(access, i, datum)) [[unlikely]] return kNoSurvey;
    } else {
      const uint64_t bit = uint64_t{1} << (id.v & 63);
      if ((met & bit) && is_among(access, i, datum)) [[unlikely]] return kNoSurvey;
      met |= bit;
    }
    if (!kWithRight) claims[i] = {&datum, mode};
    access[i] = {&datum.pub, mode, 0};
    if constexpr (!kWithRight) continue;
    if (kBeside && mode == CONSORT_M_SCRATCH) continue;
    const uint32_t readers = datum.nreaders;
    if (kBeside ? shares(mode) : !(mode & CONSORT_M_W)) {
      if (readers >= Datum::kInlineReaders + datum.capacity) [[unlikely]] return kNoSurvey;
      found->name[links] = datum.writer;
      links += still_live(records, datum.writer);
    } else if (!readers) {
      found->name[links] = datum.writer;
      links += still_live(records, datum.writer);
    } else {
      for (uint32_t r = 0; r < std::min(readers, Datum::kInlineReaders); ++r) {
        const TaskName reader = datum.reader[r];
        found->name[links] = reader;
        links += is_live(records[static_cast<uint32_t>(reader)], reader);
      }
      if (readers > Datum::kInlineReaders) [[unlikely]] links = add_more_readers(records, datum, *found, links);
      if (links > kMostLinks) [[unlikely]] return kNoSurvey;
    }
  }
  return links;
}

// With kBeside: sets the bits that its accesses need when it runs. Returns false if the fast path cannot express them.
inline bool note_kinds(Task *t, const consort_access *access, uint32_t n) noexcept {
  uint32_t commuting = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (access[i].mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX)) t->bits |= kScratch;
    if (access[i].mode & CONSORT_M_COMMUTE) ++commuting;
  }
  if (commuting) t->bits |= kTokens;
  return commuting < 2;  // several tokens need a list
}

// Prefetches the lines of a place for writing. nullptr: none.
inline void prefetch(const std::byte *place, uint64_t bytes) noexcept {
  for (uint64_t at = 0; place && at < bytes; at += 64) __builtin_prefetch(place + at, 1);
}

// Packs the values, in the record or beside it, with room for `n` accesses before them. Returns the place of both.
// nullptr: they do not fit, or a value cannot be carried.
[[gnu::noinline]] std::byte *place_values(const TaskGraph &rt, const ThreadState &thread, Task *t, uint32_t number,
                                          const consort_task_desc &d, uint32_t n) noexcept {
  const uint64_t accesses = uint64_t{n} * sizeof(consort_access);
  uint64_t bytes = accesses;
  if (d.nargs) {
    if (!d.args || d.nargs > 255) [[unlikely]] return nullptr;
    const uint64_t packed = packed_bytes(d.args, d.nargs);
    if (packed > TaskArena::kLargePayload) [[unlikely]] return nullptr;
    bytes += packed;
  }
  std::byte *place = t->payload;
  if (bytes > kPayload) {
    if (const Task *next = thread.free) prefetch(rt.tasks.payload(rt.tasks.index(next), bytes), bytes);
    place = rt.tasks.payload(number, bytes);
    if (!place) [[unlikely]] return nullptr;
  }
  t->nargs = static_cast<uint8_t>(d.nargs);
  pack_args(d.args, d.nargs, place + accesses);
  return place;
}

// Returns the place of the accesses, with the values behind them. No value, or one scalar, is packed here; others by
// place_values().
[[gnu::always_inline]] inline std::byte *place_of(const TaskGraph &rt, const ThreadState &thread, Task *t,
                                                  uint32_t number, const consort_task_desc &d, uint32_t n) noexcept {
  const uint32_t nargs = d.nargs;
  if (nargs <= 1 && (n + nargs) * sizeof(consort_access) <= kPayload) [[likely]] {
    if (!nargs) return t->payload;
    const consort_arg *const a = d.args;
    if (a && is_scalar(*a)) [[likely]] {
      t->nargs = 1;
      pack_scalar(*a, t->payload + n * sizeof(consort_access));
      return t->payload;
    }
  }
  return place_values(rt, thread, t, number, d, n);
}
static_assert(sizeof(PackedArg) == sizeof(consort_access));

// Stores worker, name, callback, predecessors and work of a task in its Extra. Returns false if the fast path cannot.
[[gnu::noinline]] bool take_options(TaskGraph &rt, const ThreadState &thread, Task *t, const consort_task_desc &d,
                                     const Codelet &c) noexcept {
  Extra &e = *rt.tasks.make_extra(t);
  if (thread.free) prefetch(reinterpret_cast<const std::byte *>(rt.tasks.extra_of(thread.free)), sizeof e);
  if (d.worker != CONSORT_NONE) {
    if (d.worker >= rt.workers.size() || !(c.where >> rt.workers[d.worker]->klass & 1)) return false;
    e.worker = d.worker;
    t->bits |= kBound;
  }
  if (d.size == CONSORT_TASK_BRIEF) return true;
  if (d.footprint) store_relaxed(t->pub.footprint, d.footprint);
  e.work = d.work;
  if (d.done && rt.virtual_time) return false;
  e.done = d.done;
  e.done_arg = d.done_arg;
  if (d.name && !e.set_name(d.name)) return false;
  if (!d.nafter) return true;
  // More would be allocated, and the end of the task frees them, possibly before the last is linked.
  if (d.nafter > Extra::kFewAfter || !d.after || !e.make_room_after(d.nafter)) return false;
  for (uint32_t i = 0; i < d.nafter; ++i) {
    const TaskName name = d.after[i].v;
    if (!name || recorded::is(name) || !rt.tasks.holds(static_cast<uint32_t>(name))) return false;
    e.after[i] = name;
  }
  e.nafter = d.nafter;
  t->bits |= kAfter;
  return true;
}

// With the right: adds the unfinished explicit predecessors and returns the number of all. There will be no more.
inline uint32_t add_after(const TaskGraph &rt, const Extra &e, Predecessors &found, uint32_t links) noexcept {
  for (uint32_t i = 0; i < e.nafter; ++i) {
    found.name[links] = e.after[i];
    links += rt.is_live(e.after[i]);
  }
  return links;
}

// Adds the links behind the predecessors found. Returns true if none is left. Afterwards the task may have ended.
template <bool kFew>
[[gnu::always_inline]] inline bool link_behind(TaskGraph &rt, Task *t, uint32_t number, const Predecessors &found,
                                               uint32_t links) noexcept {
  // Once as many links are added as `pending` says, the predecessors release the task.
  t->pending.store(links * pending::kBoth, std::memory_order_relaxed);
  Linker linker(rt, t, number);
  for (uint32_t i = 0; i < links; ++i) {
    if (kFew) linker.add(found.name[i]);
    else linker.after(found.name[i]);
  }
  return let_go(rt, t, linker, links);
}
[[gnu::noinline]] bool link_behind_many(TaskGraph &rt, Task *t, uint32_t number, const Predecessors &found,
                                        uint32_t links) noexcept {
  return link_behind<false>(rt, t, number, found, links);
}

// A bound task whose last predecessor has ended before it was linked.
[[gnu::noinline]] void post_bound(TaskGraph &rt, Task *t) noexcept { rt.workers[t->extra->worker]->post(t); }

// Gives back the record of a task that the fast path does not take. Out of line and by value: a captured `t` would be kept
// in memory.
[[gnu::cold, gnu::noinline]] consort_status give_back_unused(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (t->extra) free_lent(rt, thread, t);
  store_relaxed(t->codelet, nullptr);
  thread.give_record(t);
  return kNotPlain;
}

// kUses: the number of data, so that loops over them are unrolled; kAnyUses: unknown at compile time. kOptions: it may
// have fields of Extra.
constexpr uint32_t kAnyUses = ~0u;
template <bool kBeside, uint32_t kUses, bool kOptions>
[[gnu::always_inline]] inline consort_status submit_plain(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                                                          Codelet &c, Group &group, consort_task_id *out) noexcept {
  constexpr uint32_t kMost = kUses == kAnyUses ? Codelet::kMostPlain : kUses ? kUses : 1;
  Task *t = thread.take_record();
  if (!t) [[unlikely]] return kNotPlain;
  blank_all_but_accesses(t, c.blank, &c, 0, TaskKind::kPlain, 0);
  if (!thread.seat && !thread.lease) [[unlikely]] look_for_lease(rt, thread);
  const uint32_t n = kUses == kAnyUses ? d.nuses : kUses, number = rt.tasks.index(t);
  const TaskName name = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | number;
  t->pub.priority = d.priority;
  t->pub.id = name;
  t->pub.naccess = static_cast<uint16_t>(n);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
  Claim claims[kMost];
  const uint32_t *const modes = c.modes.empty() ? nullptr : c.modes.data();
  std::byte *const place = place_of(rt, thread, t, number, d, n);
  if (!place) [[unlikely]] return give_back_unused(rt, thread, t);
  auto *const access = reinterpret_cast<consort_access *>(place);
  t->pub.access = access;
  if (kOptions && !take_options(rt, thread, t, d, c)) [[unlikely]] return give_back_unused(rt, thread, t);

  SubmissionRight right(thread);
  if (!right.try_biased(rt)) [[unlikely]] {
    if (n && survey<false, kBeside>(rt, d, n, modes, access, claims, nullptr) == kNoSurvey) return give_back_unused(rt, thread, t);
    right.enter(rt, claims, n);  // sorts them, and uses them until its end
  }
  Predecessors found;
  uint32_t links = n ? survey<true, kBeside>(rt, d, n, modes, access, nullptr, &found) : 0;
  if (kOptions && links != kNoSurvey) links = add_after(rt, *t->extra, found, links);
  if (links > kInlineLinks) [[unlikely]]
    if (links > kMostLinks || !reserve_more(rt, thread, t, links)) return give_back_unused(rt, thread, t);
  // behind the fence of the right: as in submit_any()
  if (!c.live.load(std::memory_order_relaxed)) [[unlikely]] return give_back_unused(rt, thread, t);
  if (kBeside && !note_kinds(t, access, n)) return give_back_unused(rt, thread, t);
  count_in(thread, group);
  if (out) out->v = name;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t mode = access[i].mode;
    Datum &datum = *Datum::of(access[i].datum);
    if (kBeside && mode == CONSORT_M_SCRATCH) continue;
    if (kBeside ? shares(mode) : !(mode & CONSORT_M_W)) end_chain_shared(datum, name);
    else end_chain_alone(datum, name);
  }
  // The chains have the task before it has its links: under the right, no other thread follows a chain.
  if (links && !(links <= 4 ? link_behind<true>(rt, t, number, found, links) : link_behind_many(rt, t, number, found, links))) {
    age_kept(rt, thread);
    return CONSORT_OK;
  }
  if (kOptions && (t->bits & kBound)) post_bound(rt, t);
  else push_ready(rt, thread, t);
  return CONSORT_OK;
}

[[gnu::noinline]] consort_status submit_beside(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d, Codelet &c,
                                               Group &group, consort_task_id *out) noexcept {
  return submit_plain<true, kAnyUses, false>(rt, thread, d, c, group, out);
}

[[gnu::noinline]] consort_status submit_beside_with_options(TaskGraph &rt, ThreadState &thread,
                                                            const consort_task_desc &d, Codelet &c, Group &group,
                                                            consort_task_id *out) noexcept {
  return submit_plain<true, kAnyUses, true>(rt, thread, d, c, group, out);
}

[[gnu::noinline]] consort_status submit_many(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d, Codelet &c,
                                             Group &group, consort_task_id *out) noexcept {
  return submit_plain<false, kAnyUses, false>(rt, thread, d, c, group, out);
}

[[gnu::noinline]] consort_status submit_with_options(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                                                     Codelet &c, Group &group, consort_task_id *out) noexcept {
  return submit_plain<false, kAnyUses, true>(rt, thread, d, c, group, out);
}

[[gnu::always_inline]] inline consort_status submit_short(TaskGraph &rt, ThreadState &thread, const consort_task_desc &d,
                                                          Codelet &c, bool options, consort_task_id *out) noexcept {
  const uint32_t n = d.nuses;
  uint32_t modes = 0, reserved = 0;
  if (n) {
    if (!d.uses) [[unlikely]] return kNotPlain;
    for (uint32_t i = 0; i < n; ++i) {  // their lines are often not cached: prefetched while the record is filled
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
    return modes > kShortModes ? kNotPlain
           : options           ? submit_beside_with_options(rt, thread, d, c, *group, out)
                               : submit_beside(rt, thread, d, c, *group, out);
  if (options) [[unlikely]] return submit_with_options(rt, thread, d, c, *group, out);
  switch (n) {
    case 0: return submit_plain<false, 0, false>(rt, thread, d, c, *group, out);
    case 1: return submit_plain<false, 1, false>(rt, thread, d, c, *group, out);
    case 2: return submit_plain<false, 2, false>(rt, thread, d, c, *group, out);
    case 3: return submit_plain<false, 3, false>(rt, thread, d, c, *group, out);
    default: return submit_many(rt, thread, d, c, *group, out);
  }
}

consort_status submit(TaskGraph &rt, const consort_task_desc &d, consort_task_id *out) noexcept {
  ThreadState *const thread = rt.this_thread();
  if (!thread) [[unlikely]] return CONSORT_E_NOMEM;
  // Fields one by one: the caller has just written them, and a wide load would wait for both stores to leave the
  // buffer.
  const bool brief = d.size == CONSORT_TASK_BRIEF;
  const bool whole = d.size == sizeof d && !(d.reserved | reinterpret_cast<uintptr_t>(d.more));
  const bool options = (d.worker + 1) | (whole ? d.nafter | d.footprint | d.work | reinterpret_cast<uintptr_t>(d.done) |
                                                     reinterpret_cast<uintptr_t>(d.name)
                                               : 0);
  Codelet *const c = rt.codelets.find(d.codelet);
  if (c && (brief || whole) && !(d.flags | thread->watched) &&
      d.nuses - c->plain_from < c->plain_span.load(std::memory_order_relaxed)) [[likely]]
    if (const consort_status s = submit_short(rt, *thread, d, *c, options, out); s != kNotPlain) [[likely]] return s;
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
