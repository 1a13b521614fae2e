#include "submit.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "complete.hpp"
#include "error_slot.hpp"
#include "links.hpp"
#include "packed_args.hpp"
#include "policy_push.hpp"
#include "wait.hpp"

namespace consort {

// Lends the task records for links beyond its own. False: no memory, and what was lent is still the task's.
[[gnu::noinline]] static bool reserve_more(Runtime &rt, Hand &h, Task *t, uint32_t links) noexcept {
  if (!t->extra) {
    Task *lent = h.take_lent();
    if (!lent) return false;
    t->extra = new (lent) Extra;
  }
  return Linker::reserve(rt, h, t, links);
}

namespace {

constexpr uint32_t kFewUses = 16;
constexpr uint32_t kMostUses = 4096;
constexpr uint32_t kModes = CONSORT_M_R | CONSORT_M_W | CONSORT_M_SCRATCH;
constexpr uint32_t kHints = CONSORT_M_LOCALITY | CONSORT_M_NOFOOTPRINT;

// Everything that one submission needs until it is linked; gives the record back unless it was sent.
struct Draft {
  Runtime &rt;
  Hand &h;
  Task *t;
  Claim few[kFewUses];
  Claim *claims = few;
  uint32_t nclaims = 0;

  Draft(Runtime &runtime, Hand &hand, Task *task) : rt(runtime), h(hand), t(task) {}
  ~Draft() {
    if (claims != few) std::free(claims);
    if (t) drop();
  }
  void drop() noexcept {
    std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_relaxed);
    if (t->extra) free_lent(rt, h, t);
    h.give_record(t);
    t = nullptr;
  }
  Extra *extra() noexcept {
    if (t->extra) return t->extra;
    Task *lent = h.take_lent();
    if (lent) t->extra = new (lent) Extra;
    return t->extra;
  }
};

consort_status no_memory() { return set_error(CONSORT_E_NOMEM, "no memory for another task: set `window`, or wait before submitting more"); }

consort_status stale_datum(const consort_use &use, uint32_t i) {
  return set_errorf(use.data.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                    use.data.v ? "datum %u of the task is not registered (any more): its handle is stale" : "datum %u of the task is the null handle: register it first", i);
}

consort_status check_mode(uint32_t mode, uint32_t i) {
  const uint32_t plain = mode & ~kHints;
  if (plain == CONSORT_M_R || plain == CONSORT_M_W || plain == CONSORT_M_RW || plain == CONSORT_M_SCRATCH) return CONSORT_OK;
  if (plain & (CONSORT_M_REDUX | CONSORT_M_COMMUTE))
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum %u of the task: reduction and commutative access need a newer runtime; use RW", i);
  return set_errorf(CONSORT_E_INVAL, "datum %u of the task: mode 0x%x is none of R, W, RW, SCRATCH", i, mode);
}

// The task's data: found, checked as far as possible without the right, merged where one is named twice.
consort_status read_uses(Draft &draft, const consort_task_desc &d, const Codelet *c) noexcept {
  if (d.nuses > kFewUses) {
    draft.claims = static_cast<Claim *>(std::malloc(d.nuses * sizeof(Claim)));
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
    if (c && !c->modes.empty() && c->modes[i] != (use.mode & ~kHints)) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "codelet '%s' declares mode 0x%x for datum %u, the task gives 0x%x", c->name.c_str(), c->modes[i], i, use.mode);
    out[i] = {&datum->pub, use.mode, 0};
    if (use.mode & CONSORT_M_SCRATCH) {
      draft.t->bits |= kScratch;
      continue;
    }
    uint32_t k = 0;
    while (k < draft.nclaims && draft.claims[k].datum != datum) ++k;
    if (k < draft.nclaims) draft.claims[k].mode |= use.mode;
    else draft.claims[draft.nclaims++] = {datum, use.mode};
  }
  return CONSORT_OK;
}

// A place for accesses and arguments: in the record, in its extra, or on the heap.
consort_status place_payload(Draft &draft, const consort_task_desc &d) noexcept {
  const uint64_t args = d.nargs ? packed_bytes(d.args, d.nargs) : 0;
  if (args == ~uint64_t{0})
    return set_error(CONSORT_E_INVAL, "an argument is neither SCALAR (up to 8 bytes) nor BYTES with an address: pass large values by address");
  const uint64_t bytes = d.nuses * sizeof(consort_access) + args;
  std::byte *at = draft.t->payload;
  if (bytes > kPayload) {
    Extra *e = draft.extra();
    if (!e) return no_memory();
    at = static_cast<std::byte *>(e->spill = std::malloc(bytes));
    if (!at) return no_memory();
  }
  draft.t->pub.access = reinterpret_cast<consort_access *>(at);
  if (d.nargs) pack_args(d.args, d.nargs, at + d.nuses * sizeof(consort_access));
  return CONSORT_OK;
}

consort_status read_rare(Draft &draft, const consort_task_desc &d) noexcept {
  Task *t = draft.t;
  if (d.worker != CONSORT_NONE) {
    if (d.worker >= draft.rt.workers.size())
      return set_errorf(CONSORT_E_INVAL, "worker %u does not exist: there are %zu, numbered from 0", d.worker, draft.rt.workers.size());
    if (t->codelet && !(t->codelet->where >> draft.rt.workers[d.worker]->klass & 1))
      return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' has no implementation for worker %s, to which the task is bound", t->codelet->name.c_str(),
                        draft.rt.workers[d.worker]->unit.name.c_str());
    if (!draft.extra()) return no_memory();
    t->extra->worker = d.worker;
    t->bits |= kBound;
  }
  if (d.size < sizeof d) return CONSORT_OK;
  if (d.footprint) std::atomic_ref<uint64_t>(t->pub.footprint).store(d.footprint, std::memory_order_relaxed);
  if (!d.nafter && !d.done && !d.name && !d.work) return CONSORT_OK;
  if (d.nafter && !d.after) return set_error(CONSORT_E_INVAL, "nafter is not 0, but after is NULL");
  Extra *e = draft.extra();
  if (!e) return no_memory();
  e->done = d.done;
  e->done_arg = d.done_arg;
  e->work = d.work;
  if (d.name && !(e->name = strdup(d.name))) return no_memory();
  if (!d.nafter) return CONSORT_OK;
  if (!(e->after = static_cast<TaskName *>(std::malloc(d.nafter * sizeof(TaskName))))) return no_memory();
  for (uint32_t i = 0; i < d.nafter; ++i) {
    const TaskName name = d.after[i].v;
    if (!name || !draft.rt.tasks.holds(static_cast<uint32_t>(name)))
      return set_errorf(CONSORT_E_INVAL, "predecessor %u is no task of this runtime", i);
    e->after[i] = name;
  }
  e->nafter = d.nafter;
  t->bits |= kAfter;
  return CONSORT_OK;
}

// With the right held: names are still good, and there is memory for every reader and link. Nothing is visible yet.
consort_status reserve_links(Draft &draft) noexcept {
  const uint32_t nafter = draft.t->extra ? draft.t->extra->nafter : 0;
  uint32_t links = nafter;
  for (uint32_t i = 0; i < draft.nclaims; ++i) {
    Datum &d = *draft.claims[i].datum;
    const bool writes = draft.claims[i].mode & CONSORT_M_W;
    links += writes && d.nreaders ? d.nreaders : 1;
    if (!writes && !draft.rt.data.make_room(draft.rt.tasks, d)) return no_memory();
  }
  if (links > kInlineLinks) [[unlikely]]
    if (!reserve_more(draft.rt, draft.h, draft.t, links)) return no_memory();
  return CONSORT_OK;
}

// One access into its datum's chain.
[[gnu::always_inline]] inline void link_one(Linker &linker, Datum &d, uint32_t mode, TaskName name) noexcept {
  if (!(mode & CONSORT_M_W)) {
    linker.after(d.writer);
    d.reader_at(d.nreaders++) = name;
    return;
  }
  if (d.nreaders) {  // each of them comes after the last writer
    for (uint32_t r = 0; r < d.nreaders; ++r) linker.after(d.reader_at(r));
    d.nreaders = 0;
  } else {
    linker.after(d.writer);
  }
  d.writer = name;
}

void link(Draft &draft, Linker &linker) noexcept {
  Task *t = draft.t;
  for (uint32_t i = 0; i < draft.nclaims; ++i) link_one(linker, *draft.claims[i].datum, draft.claims[i].mode, t->pub.id);
  if (t->bits & kAfter)
    for (uint32_t i = 0; i < t->extra->nafter; ++i) linker.after(t->extra->after[i]);
}

// Takes back what `pending` was given beyond the links that were hung. True: no predecessor is left.
inline bool let_go(Runtime &rt, Task *t, Linker &linker, uint64_t given) noexcept {
  if (linker.hung() == given && !linker.issued()) return given == 0;  // exact: the task may be running already
  if (!linker.hung()) return true;
  const uint64_t sub = (given - linker.hung()) * pending::kComplete + (given - (linker.hung() - linker.issued())) * pending::kIssue;
  // release: whoever counts down last sees the whole record. acquire: if that is us, what predecessors did.
  const uint64_t left = t->pending.fetch_sub(sub, std::memory_order_acq_rel) - sub;
  if ((left & 0xffffffff) == 0) return true;
  if (linker.issued() && left >> 32 == 0) [[unlikely]]
    if (Queue *q = claim_follower(rt, t, linker.place())) q->offer(t);
  return false;
}

// The worker that this thread has leased, if it still has; under the right, so that it cannot be taken meanwhile.
inline Worker *leased(Hand &h) noexcept {
  Worker *w = h.lease;
  if (!w) return nullptr;
  if (!w->leased_to(h)) [[unlikely]] return h.lease = nullptr;
  if (!w->watched.load(std::memory_order_relaxed)) [[unlikely]] w->wake_duty();
  return w;
}

// A ready task to the policy, under the right. A thread that submits with a lease keeps a few back, so that they are
// handed over together and what comes after them can hang on them undisturbed; not while somebody sleeps, who could
// begin at once. It does so for a short while: until there are enough, it waits, or falls silent for a watch tick.
inline void push_ready(Runtime &rt, Hand &h, Task *t) noexcept {
  if (h.seat) return rt.policy.push_one(rt, h, h.seat->id, t);
  Worker *const w = leased(h);
  if (!w) return rt.policy.push_one(rt, h, CONSORT_NONE, t);
  if (t->pub.priority || rt.sleeper_words != 1 || rt.sleepers[0].load(std::memory_order_relaxed)) {
    if (w->nkept) w->push_kept();
    return rt.policy.push_one(rt, h, w->id, t);
  }
  w->kept[w->nkept++] = t;
  if (w->nkept == Worker::kKept) w->push_kept();
}

// After a task that is not ready: several kept ones grow older. One alone is kept as long as nobody sleeps and the
// submitter goes on: what hangs on it is a chain, which runs best where it was written.
inline void age_kept(const Runtime &rt, Hand &h) noexcept {
  if (h.seat || !h.lease || !h.lease->leased_to(h)) return;
  Worker &w = *h.lease;
  if (w.nkept && (rt.sleepers[0].load(std::memory_order_relaxed) || (w.nkept > 1 && ++w.kept_age >= Worker::kKeptFor))) w.push_kept();
}

void look_for_lease(Runtime &rt, Hand &h) noexcept {
  if (rt.manual || (h.lease_tries++ & 31)) return;
  for (auto &w : rt.workers)
    if (w->try_lease(h)) return;
}

consort_status refuse_codelet(const Runtime &rt, const Codelet &c) {
  std::string wants, has;
  for (const auto &impl : c.impls) wants += (wants.empty() ? "" : ", ") + impl.klass_name;
  for (const char *klass : rt.topology->classes()) has += (has.empty() ? "" : ", ") + std::string(klass);
  return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' runs on %s only, this runtime has %s: add an implementation, or the driver to `drivers`",
                    c.name.c_str(), wants.c_str(), has.c_str());
}

void take_names(Draft &draft, Group &group) noexcept {
  Task *t = draft.t;
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | draft.rt.tasks.index(t);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
}

constexpr consort_task kBlank = {{nullptr, nullptr}, 0, 0, 0, CONSORT_NONE, 0, 0, 0, 1, 1, nullptr};

inline void blank(Task *t, const consort_task &pub, Codelet *c, uint16_t bits) noexcept {
  t->pub = pub;
  std::atomic_ref<Codelet *>(t->codelet).store(c, std::memory_order_relaxed);
  t->extra = nullptr;
  t->bits = bits;
  t->nargs = 0;
  t->follow.store(0, std::memory_order_relaxed);
  t->pending.store(pending::kGuard * pending::kBoth, std::memory_order_relaxed);
  t->pub.access = reinterpret_cast<consort_access *>(t->payload);
}

}  // namespace

// -- the right --------------------------------------------------------------------------------------------------

void SubmissionRight::enter(Runtime &rt, Claim *claims, uint32_t n) noexcept {
  Hand &h = hand_;
  claims_ = claims;
  for (;;) {
    uint32_t bias = rt.bias.load(std::memory_order_acquire);
    if (bias == h.id) return;
    if (bias == Runtime::kEverybody) break;
    h.busy.store(0, std::memory_order_release);
    if (bias == Runtime::kNobody) {
      rt.bias.compare_exchange_strong(bias, h.id, std::memory_order_acq_rel);
    } else if (bias == Runtime::kRevoking) {
      sched_yield();
    } else if (rt.bias.compare_exchange_strong(bias, Runtime::kRevoking, std::memory_order_acq_rel)) {
      fence::heavy();
      const Hand &owner = *rt.hands.at(bias);
      // acquire pairs with the release in the destructor: the chains as the owner left them
      for (Backoff wait; owner.busy.load(std::memory_order_acquire);) wait.once();
      rt.bias.store(Runtime::kEverybody, std::memory_order_release);
    }
    h.busy.store(1, std::memory_order_relaxed);
    fence::light(rt.asymmetric);
  }
  if (n > 1) std::sort(claims, claims + n, [](const Claim &a, const Claim &b) { return a.datum < b.datum; });
  for (; locked_ < n; ++locked_) claims[locked_].datum->lock.lock();
}

void SubmissionRight::unlock() noexcept {
  while (locked_) claims_[--locked_].datum->lock.unlock();
}

// -- submissions --------------------------------------------------------------------------------------------------

static consort_status submit_any(Runtime &, const consort_task_desc &, consort_task_id *out) noexcept;

// -- the short way ------------------------------------------------------------------------------------------------
//
// A few data, no arguments, nothing rare: what most tasks are. Whatever does not fit, errors too, is left to the long
// way, which words them: kNotPlain, and nothing has happened.
constexpr consort_status kNotPlain = INT32_MAX;
constexpr uint32_t kPlainUses = kPayload / sizeof(consort_access);

// With the right: is the last writer unfinished? A finished one is forgotten.
inline bool still_live(Runtime &rt, TaskName &writer) noexcept {
  if (!writer) return false;
  if (rt.is_live(writer)) return true;
  writer = 0;
  return false;
}

// Finds the data and fills the accesses. kNoSurvey: some are not registered, or not different; with the right, also:
// there is no room for another reader. Else, with the right, how many predecessors were live: there will be no more.
constexpr uint32_t kNoSurvey = ~0u;
template <bool kWithRight>
[[gnu::always_inline]] inline uint32_t survey(Runtime &rt, const consort_task_desc &d, uint32_t n, const uint32_t *modes, consort_access *access,
                                          Claim *claims) noexcept {
  uint32_t links = 0;
  bool plain = true;
  for (uint32_t i = 0; i < n; ++i) {
    const consort_use &use = d.uses[i];
    const uint32_t mode = use.mode;
    Datum *datum = rt.data.find(use.data);
    if (!datum || !DataTable::is(*datum, use.data) || mode - 1 > 2) [[unlikely]] return kNoSurvey;
    if (modes) plain &= modes[i] == mode;
    for (uint32_t k = 0; k < i; ++k) plain &= claims[k].datum != datum;
    claims[i] = {datum, mode};
    access[i] = {&datum->pub, mode, 0};
    if constexpr (!kWithRight) continue;
    const uint32_t readers = datum->nreaders;
    if (!(mode & CONSORT_M_W)) {
      plain &= readers < Datum::kInlineReaders + datum->capacity;
      links += still_live(rt, datum->writer);
    } else if (!readers) {
      links += still_live(rt, datum->writer);
    } else {
      for (uint32_t r = 0; r < readers; ++r) links += rt.is_live(datum->reader_at(r));
    }
  }
  return plain ? links : kNoSurvey;
}

[[gnu::always_inline]] inline consort_status submit_plain(Runtime &rt, Hand &h, const consort_task_desc &d, Codelet &c, Group &group,
                                                          consort_task_id *out) noexcept {
  Task *t = h.take_record();
  if (!t) [[unlikely]] return kNotPlain;
  blank(t, c.blank, &c, 0);
  if (!h.seat && !h.lease) [[unlikely]] look_for_lease(rt, h);
  const uint32_t n = d.nuses;
  const TaskName name = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | rt.tasks.index(t);
  t->pub.priority = d.priority;
  t->pub.id = name;
  t->pub.naccess = static_cast<uint16_t>(n);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
  auto *const access = reinterpret_cast<consort_access *>(t->payload);
  Claim claims[kPlainUses];
  const uint32_t *const modes = c.modes.empty() ? nullptr : c.modes.data();
  const auto refuse = [&]() noexcept {
    if (t->extra) free_lent(rt, h, t);
    std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_relaxed);
    h.give_record(t);
    return kNotPlain;
  };

  SubmissionRight right(h);
  if (!right.try_biased(rt)) [[unlikely]] {
    if (n && survey<false>(rt, d, n, modes, access, claims) == kNoSurvey) return refuse();
    right.enter(rt, claims, n);  // sorts them, and keeps them until it ends
  }
  Claim seen[kPlainUses];
  const uint32_t links = n ? survey<true>(rt, d, n, modes, access, seen) : 0;
  if (links > kInlineLinks) [[unlikely]]
    if (links == kNoSurvey || !reserve_more(rt, h, t, links)) return refuse();
  if (!c.live.load(std::memory_order_relaxed)) [[unlikely]] return refuse();  // behind the fence of the right: as in submit_any()
  count_in(h, group);
  if (out) out->v = name;
  if (n) {
    // Once as many links hang as `pending` says, the task is its predecessors' to release: it is not looked at again,
    // and what is still to be done for it touches the chains alone.
    t->pending.store(links * pending::kBoth, std::memory_order_relaxed);
    Linker linker(rt, t);
    for (uint32_t i = 0; i < n; ++i) link_one(linker, *seen[i].datum, seen[i].mode, name);
    if (!let_go(rt, t, linker, links)) {
      age_kept(rt, h);
      return CONSORT_OK;
    }
  }
  push_ready(rt, h, t);
  return CONSORT_OK;
}

consort_status submit(Runtime &rt, const consort_task_desc &d, consort_task_id *out) noexcept {
  Hand *const h = rt.this_hand();
  if (!h) [[unlikely]] return CONSORT_E_NOMEM;
  const bool brief = d.size == CONSORT_TASK_BRIEF ||
                     !(d.nafter | d.footprint | d.work | reinterpret_cast<uintptr_t>(d.done) | reinterpret_cast<uintptr_t>(d.name));
  Codelet *const c = rt.codelets.find(d.codelet);
  // The data's lines are often cold: ask for both of each while the record is filled.
  if (d.uses)
    for (uint32_t i = 0; i < d.nuses && i < kPlainUses; ++i)
      if (const Datum *datum = rt.data.find(d.uses[i].data)) {
        __builtin_prefetch(datum, 1);
        __builtin_prefetch(&datum->pub);
      }
  if (c && brief && !(d.nargs | (d.worker + 1)) && d.nuses < c->plain_below && (c->nmodes == CONSORT_NONE || c->nmodes == d.nuses) && (d.uses || !d.nuses)) [[likely]] {
    Group *const group = d.group.v ? rt.groups.find(d.group) : h->task ? h->task->group : rt.standard_group;
    if (group) [[likely]]
      if (const consort_status s = submit_plain(rt, *h, d, *c, *group, out); s != kNotPlain) [[likely]] return s;
  }
  return submit_any(rt, d, out);
}

[[gnu::noinline]] static consort_status submit_any(Runtime &rt, const consort_task_desc &d, consort_task_id *out) noexcept {
  Hand *const hand = rt.this_hand();
  if (!hand) [[unlikely]] return CONSORT_E_NOMEM;
  Hand &h = *hand;

  Codelet *c = nullptr;
  if (d.codelet.v) {
    c = rt.codelets.find(d.codelet);
    if (!c || !c->live.load(std::memory_order_relaxed)) [[unlikely]]
      return c || rt.codelets.ever_gave(d.codelet) ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
                                                   : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
    if (!c->where) [[unlikely]] return refuse_codelet(rt, *c);
    if (c->nmodes != CONSORT_NONE && c->nmodes != d.nuses) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "codelet '%s' wants %u data, the task gives %u", c->name.c_str(), c->nmodes, d.nuses);
  }
  if ((d.nuses && !d.uses) || (d.nargs && !d.args)) [[unlikely]] return set_error(CONSORT_E_INVAL, "uses or args is NULL, but their number is not 0");
  if (d.nuses > kMostUses || d.nargs > 255) [[unlikely]]
    return set_errorf(CONSORT_E_INVAL, "%u data and %u arguments: a task takes up to %u data and 255 arguments", d.nuses, d.nargs, kMostUses);
  Group *group;
  if (!d.group.v) {
    group = h.task ? h.task->group : &rt.groups.standard();
  } else if (!(group = rt.groups.find(d.group))) [[unlikely]] {
    return set_error(CONSORT_E_STALE, "the group was destroyed: its handle is stale");
  }

  Task *t = h.take_record();
  if (!t) [[unlikely]] return no_memory();
  blank(t, c ? c->blank : kBlank, c, c ? 0 : kEmpty);
  t->pub.priority = d.priority;
  Draft draft(rt, h, t);
  // Shown first, then looked at again: either the remover of the codelet sees the record, or we that it is removed.
  fence::light(rt.asymmetric);
  if (c && !c->live.load(std::memory_order_relaxed)) [[unlikely]] return set_error(CONSORT_E_STALE, "the codelet was removed");
  if (d.worker != CONSORT_NONE || d.size >= sizeof d) [[unlikely]]
    if (const consort_status s = read_rare(draft, d); s < 0) return s;
  if (rt.shared_domains && !draft.extra()) return no_memory();
  if (d.nuses | d.nargs) {
    t->pub.naccess = static_cast<uint16_t>(d.nuses);
    t->nargs = static_cast<uint8_t>(d.nargs);
    if (const consort_status s = place_payload(draft, d); s < 0) [[unlikely]] return s;
    if (const consort_status s = read_uses(draft, d, c); s < 0) [[unlikely]] return s;
  }
  take_names(draft, *group);
  if (!h.seat && !h.lease) look_for_lease(rt, h);

  bool ready;
  {
    const SubmissionRight right(rt, h, draft.claims, draft.nclaims);
    if (draft.nclaims | (t->bits & kAfter)) {
      for (uint32_t i = 0; i < d.nuses; ++i)
        if (!DataTable::is(*Datum::of(t->pub.access[i].datum), d.uses[i].data)) [[unlikely]] return stale_datum(d.uses[i], i);
      if (const consort_status s = reserve_links(draft); s < 0) [[unlikely]] return s;
    }
    count_in(h, *group);
    if (out) out->v = t->pub.id;
    Linker linker(rt, t);
    link(draft, linker);
    ready = let_go(rt, t, linker, pending::kGuard);
    age_kept(rt, h);
    draft.t = nullptr;  // sent: unless it is ready, it is not ours any more
    if (ready && !(t->bits & (kSpecial | kBound))) [[likely]] {
      push_ready(rt, h, t);
      return CONSORT_OK;
    }
  }
  if (ready) release_ready(rt, h, t);
  return CONSORT_OK;
}

void push_kept(Runtime &rt, Hand &h) noexcept {
  if (h.seat || !h.lease) return;
  const SubmissionRight right(rt, h, nullptr, 0);
  if (Worker *w = leased(h); w && w->nkept) w->push_kept();
}

Result<TaskName> submit_special(Runtime &rt, Hand &h, consort_data_id id, uint32_t mode, TaskBits kind) noexcept {
  Datum *d = rt.data.find(id);
  if (!d || !DataTable::is(*d, id)) return error(id.v ? CONSORT_E_STALE : CONSORT_E_INVAL, id.v ? "the datum is not registered (any more): its handle is stale" : "the null handle names no datum");
  Task *t = h.take_lent();
  if (!t) return error(CONSORT_E_NOMEM, "no memory for another task");
  blank(t, kBlank, nullptr, kind);
  Draft draft(rt, h, t);
  t->pub.naccess = 1;
  *t->accesses() = {&d->pub, mode, 0};
  draft.few[0] = {d, mode};
  draft.nclaims = 1;
  take_names(draft, h.task ? *h.task->group : rt.groups.standard());

  bool ready;
  const TaskName name = t->pub.id;
  {
    const SubmissionRight right(rt, h, draft.claims, draft.nclaims);
    if (!DataTable::is(*d, id)) return error(CONSORT_E_STALE, "the datum is not registered any more: its handle is stale");
    if (reserve_links(draft) < 0) return error(CONSORT_E_NOMEM, "no memory for another task");
    if (kind == kRetire) d->generation.fetch_add(1, std::memory_order_release);  // dead for everybody from here on
    count_in(h, *t->group);
    Linker linker(rt, t);
    link(draft, linker);
    ready = let_go(rt, t, linker, pending::kGuard);
    draft.t = nullptr;
  }
  if (ready) release_ready(rt, h, t);
  return name;
}

}  // namespace consort
