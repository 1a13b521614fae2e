// instance.cpp — push, pop, construction and destruction of one instance. Threading rules: lws.hpp.
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "lws.hpp"

namespace lws {
namespace {

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool is_priority(const consort_task *task) noexcept { return task->priority != 0; }

}  // namespace

// Marks the owner as inside. This store and its later load of epoch_ or draining_ pair with drain()'s store of those and its
// later load of `inside`. If the system can interrupt all threads of the process with a barrier, only the compiler
// is constrained here. Otherwise a fence stands between the store and that load, which may be relaxed: a seq_cst exchange
// suffices on x86-64 only, because on AArch64 a later relaxed load may pass the store of an exchange.
inline void Instance::enter(Slot &me) const noexcept {
  const uint32_t next = me.inside.load(std::memory_order_relaxed) + 1;
  me.inside.store(next, std::memory_order_relaxed);
  if (asymmetric_) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

inline uint32_t Instance::leave(Slot &me, uint32_t answer) noexcept {
  me.inside.store(me.inside.load(std::memory_order_relaxed) + 1,
                  std::memory_order_release);  // pairs with wait_outside()
  return answer;
}

// -- life -----------------------------------------------------------------------------------------------------

Instance::Instance(const Settings &settings, const consort_host *host, const consort_topology &topology, uint64_t epoch)
    : epoch_(epoch), nclasses_(topology.nclasses ? topology.nclasses : 1), npools_(nclasses_ == 1 ? 1 : nclasses_ + 1),
      settings_(settings), host_(host), pools_(new Pool[npools_]), urgency_(new std::atomic<int32_t>[nclasses_]()) {
  const long can = membarrier(MEMBARRIER_CMD_QUERY);
  asymmetric_ = can > 0 && (can & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (uint32_t i = 0; i < nclasses_; ++i)
    if (!pools_[i].ring.init(settings_.depth)) throw std::bad_alloc();
  members_.resize(topology.nworkers);
  for (uint32_t w = 0; w < topology.nworkers; ++w) members_[w] = slot(w, topology.workers[w].klass);
  groups_.push_back(std::make_unique<Group>(topology, members_, nclasses_));
  group_.store(groups_.back().get(), std::memory_order_release);  // pairs with the loads in push() and pop()
  choose_paths();
}

// Which pushes take the fast path: see Slot::plain.
void Instance::choose_paths() noexcept {
  for (const auto &s : slots_)
    if (s) s->plain.store(npools_ == 1 && serves(s->id) ? 1 : CONSORT_NONE, std::memory_order_seq_cst);  // pairs with enter()
}

Slot *Instance::slot(uint32_t id, uint32_t klass) {
  if (id >= slots_.size()) slots_.resize(id + 1);
  if (!slots_[id]) {
    auto s = std::make_unique<Slot>();
    if (!s->deque.init(settings_.depth)) throw std::bad_alloc();
    s->id = id;
    s->rotate = static_cast<uint32_t>(settings_.seed * 2654435761u + id * 40503u) | 1;
    slots_[id] = std::move(s);
  } else if (slots_[id]->klass == (klass < nclasses_ ? klass : 0)) {
    return slots_[id].get();  // unchanged: its worker may be inside
  }
  slots_[id]->klass = klass < nclasses_ ? klass : 0;
  slots_[id]->countdown = kFairness;
  slots_[id]->urgency = &urgency_[slots_[id]->klass];
  return slots_[id].get();
}

// Until the first call, all workers of the topology given to create() are served. The first call that adds some of
// them restricts the set to them.
consort_status Instance::workers(const consort_topology &topology, const uint32_t *add, uint32_t na,
                                 const uint32_t *del, uint32_t nd) {
  for (uint32_t i = 0; i < na; ++i)
    if (add[i] >= topology.nworkers)
      return host_->fail(host_, CONSORT_E_INVAL,
                         "lws: a worker was added that is not in the topology; pass the newer snapshot");
  std::vector<Slot *> next = members_;
  if (!chosen_ && na > 0 && add[0] < members_.size()) next.assign(members_.size(), nullptr);
  next.resize(std::max<size_t>(next.size(), topology.nworkers));
  for (uint32_t i = 0; i < na; ++i) next[add[i]] = slot(add[i], topology.workers[add[i]].klass);
  for (uint32_t i = 0; i < nd; ++i)
    if (del[i] < next.size()) next[del[i]] = nullptr;
  groups_.push_back(std::make_unique<Group>(topology, next, nclasses_));
  chosen_ = true;
  const std::vector<Slot *> before = std::exchange(members_, std::move(next));
  group_.store(groups_.back().get(), std::memory_order_seq_cst);  // pairs with push_own(), pop(), leave_with()
  choose_paths();
  wait_outside(CONSORT_NEVER);  // no thread uses the old group any more
  for (Slot *s : before) {
    if (!s || serves(s->id)) continue;
    int64_t oldest;
    while (s->deque.size(&oldest) > 0)
      if (consort_task *task = s->deque.steal(1)) list_one(task);
  }
  return CONSORT_OK;
}

// Waits until every push and pop of a worker that began before the caller's last store has ended; its effects are visible.
// False: the deadline passed.
bool Instance::wait_outside(uint64_t deadline) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (asymmetric_) {
    // Registered here and not at the start: registration of a process with threads takes milliseconds.
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
      membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
      if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) membarrier(MEMBARRIER_CMD_GLOBAL);
    }
  }
  for (const auto &s : slots_) {
    if (!s) continue;
    const uint32_t seen = s->inside.load(std::memory_order_seq_cst);  // pairs with leave()
    if (!(seen & 1)) continue;
    while (s->inside.load(std::memory_order_acquire) == seen) {  // pairs with leave()
      if (deadline != CONSORT_NEVER && host_->now(host_) >= deadline) return false;
      sched_yield();
    }
  }
  return true;
}

uint32_t Instance::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  draining_.store(1, std::memory_order_seq_cst);  // pairs with enter()
  lock_.lock();
  publish();
  lock_.unlock();
  epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with enter(), and with Ring::push
  for (uint32_t i = 0; i < nclasses_; ++i) pools_[i].ring.close();
  wait_outside(CONSORT_NEVER);
  uint32_t n = 0;
  for (uint32_t i = 0; i < npools_; ++i) n += take_listed(i, CONSORT_NONE, 0, Levels::kCount - 1, out + n, max - n);
  for (uint32_t i = 0; i < nclasses_; ++i) {
    while (n < max && !pools_[i].ring.empty()) {
      const uint32_t got = pools_[i].ring.take(out + n, max - n, 1);
      if (got == 0) sched_yield();  // a pusher has claimed a place and is about to fill it
      n += got;
    }
  }
  for (const auto &s : slots_) {
    int64_t oldest;
    while (s && n < max && s->deque.size(&oldest) > 0)
      if ((out[n] = s->deque.steal(1))) ++n;
  }
  draining_.store(0, std::memory_order_release);
  lock_.lock();
  publish();
  lock_.unlock();
  return n;
}

consort_status Instance::quiesce(uint64_t deadline) noexcept {
  if (!wait_outside(deadline)) return CONSORT_E_TIMEOUT;
  return doors_.wait(host_, deadline);
}

const int32_t *Instance::urgency(uint32_t worker) noexcept {
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t) && std::atomic<int32_t>::is_always_lock_free);
  const uint32_t klass = worker < members_.size() && members_[worker] ? members_[worker]->klass : 0;
  return reinterpret_cast<const int32_t *>(&urgency_[klass]);
}

// -- push -----------------------------------------------------------------------------------------------------

uint32_t Instance::pool_of(const consort_task *task) const noexcept {
  if (nclasses_ == 1) return 0;
  const uint64_t all = nclasses_ >= 64 ? ~uint64_t{0} : (uint64_t{1} << nclasses_) - 1;
  const uint64_t can = task->where & all;
  return std::has_single_bit(can) ? static_cast<uint32_t>(std::countr_zero(can)) : nclasses_;
}

uint32_t Instance::push(const consort_push &p) noexcept {
  const Group &group = *group_.load(std::memory_order_acquire);  // pairs with the store in workers()
  const Group::Place *place = group.find(p.from);
  if (!place) [[unlikely]] return push_outside(p);
  Slot &me = *place->slot;
  enter(me);
  const bool plain = epoch_.load(std::memory_order_seq_cst) == p.epoch &&
                     p.n == me.plain.load(std::memory_order_relaxed) && !is_priority(p.ready[0]);  // see Slot::plain
  if (!plain || !me.deque.push(p.ready[0])) [[unlikely]] return push_own(group, *place, p);
  group.announce(p.wake, *place, 1);
  return leave(me, 1);
}

// Inside: the general case. The group is asked as in leave_with(): else tasks could go to the deque of a worker that has left,
// after workers() has moved its tasks.
uint32_t Instance::push_own(const Group &group, const Group::Place &place, const consort_push &p) noexcept {
  Slot &me = *place.slot;
  if (group_.load(std::memory_order_relaxed) != &group) [[unlikely]] {
    leave(me, 0);
    return push(p);
  }
  if (epoch_.load(std::memory_order_seq_cst) != p.epoch) return leave(me, 0);  // pairs with drain(), by way of enter()
  // In reverse: the deque returns the newest first, so tasks of one push leave in their order.
  uint32_t kept = 0;
  if (nclasses_ == 1)
    while (kept < p.n && !is_priority(p.ready[p.n - 1 - kept]) && me.deque.push(p.ready[p.n - 1 - kept])) ++kept;
  for (uint32_t end = p.n - kept; end;) {
    const uint32_t begin = end > 64 ? end - 64 : 0;
    // Read before any of them is published: a published task may run, end and have its record reused at once.
    uint64_t urgent = 0;
    for (uint32_t i = begin; i < end; ++i) urgent |= uint64_t{is_priority(p.ready[i])} << (i - begin);
    for (uint32_t i = end; i-- > begin;) {
      if (urgent >> (i - begin) & 1) continue;
      consort_task *task = p.ready[i];
      const uint32_t pool = pool_of(task);
      if (pool == me.klass && me.deque.push(task)) [[likely]]
        ++kept;
      else if (!shared(pool) && pools_[pool].ring.push(&task, 1, p.epoch, epoch_) == Ring::Push::kDone)
        announce(group, p.wake, task, pool, 1, me.id);
      else
        list(group, p, &task, 1, me.id);
    }
    for (uint32_t i = begin, next; i < end; i = next) {  // neighbours with a priority: under one lock, in their order
      for (next = i; next < end && (urgent >> (next - begin) & 1);) ++next;
      if (next > i) list(group, p, &p.ready[i], next - i, me.id);
      else ++next;
    }
    end = begin;
  }
  if (kept) group.announce(p.wake, place, kept);
  return leave(me, p.n);
}

uint32_t Instance::push_outside(const consort_push &p) noexcept {
  // seq_cst with the load in quiesce(). If the push succeeds, its place in the ring or under the lock (release) precedes
  // drain()'s access there (acquire), so quiesce() sees it inside. If the instance is closed, the push leaves nothing.
  const policies::Visit visit(doors_.door(&p));
  return p.n ? place(*group_.load(std::memory_order_acquire), p) : 0;  // pairs with the store in workers()
}

// Atomic with respect to drain(): all tasks go into one ring at once, or all under the lock.
uint32_t Instance::place(const Group &group, const consort_push &p) noexcept {
  const uint32_t pool = pool_of(p.ready[0]);
  bool plain = !shared(pool);
  for (uint32_t i = 0; i < p.n && plain; ++i) plain = !is_priority(p.ready[i]) && pool_of(p.ready[i]) == pool;
  if (plain) [[likely]] {
    const Ring::Push how = pools_[pool].ring.push(p.ready, p.n, p.epoch, epoch_);
    if (how == Ring::Push::kClosed) return 0;
    if (how == Ring::Push::kDone) [[likely]] {
      announce(group, p.wake, p.ready[0], pool, p.n, CONSORT_NONE);
      return p.n;
    }
  }
  return list(group, p, p.ready, p.n, CONSORT_NONE) ? p.n : 0;
}

void Instance::announce(const Group &group, consort_wake *wake, const consort_task *task, uint32_t pool, uint32_t n,
                        uint32_t self) const noexcept {
  if (!wake) return;
  if (!shared(pool)) {
    group.candidates(wake, pool, self);
  } else {
    for (uint32_t c = 0; c < nclasses_; ++c)
      if (task->where >> c & 1) group.candidates(wake, c, self);
  }
  wake->k += n;
}

// From other threads all or none, atomic with respect to drain(), which also takes the lock.
bool Instance::list(const Group &group, const consort_push &p, consort_task *const *tasks, uint32_t n,
                    uint32_t self) noexcept {
  lock_.lock();
  if (self == CONSORT_NONE && epoch_.load(std::memory_order_relaxed) != p.epoch) {
    lock_.unlock();
    return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t pool = pool_of(tasks[i]);
    pools_[pool].levels.push(tasks[i]);
    pools_[pool].listed.store(pools_[pool].levels.count(), std::memory_order_relaxed);
    announce(group, p.wake, tasks[i], pool, 1, self);
  }
  publish();
  lock_.unlock();
  return true;
}

void Instance::list_one(consort_task *task) noexcept {
  const uint32_t pool = pool_of(task);
  lock_.lock();
  pools_[pool].levels.push(task);
  pools_[pool].listed.store(pools_[pool].levels.count(), std::memory_order_relaxed);
  publish();
  lock_.unlock();
}

// Under the lock. Publishes the highest priority of the highest occupied level. Too high a value sends a successor through the
// queue; too low a value would delay an urgent task. Tasks of the shared pool are published to all classes, also to classes that
// cannot run them. During drain() the maximum is published: pop takes the slow path
// and returns 0.
void Instance::publish() noexcept {
  const auto highest = [&](uint32_t pool) -> int32_t {
    const Levels &l = pools_[pool].levels;
    return l.count() && l.top() > Levels::kZero ? Levels::highest_priority(l.top()) : 0;
  };
  const int32_t shared = npools_ > 1 ? highest(npools_ - 1) : 0;
  for (uint32_t c = 0; c < nclasses_; ++c) {
    int32_t most = std::max(highest(c), shared);
    if (draining_.load(std::memory_order_relaxed)) most = INT32_MAX;
    if (urgency_[c].load(std::memory_order_relaxed) != most)
      urgency_[c].store(most, std::memory_order_seq_cst);  // pairs with pop(), by way of enter()
  }
}

// -- pop ------------------------------------------------------------------------------------------------------

uint32_t Instance::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const Group &group = *group_.load(std::memory_order_acquire);  // pairs with the store in workers()
  const Group::Place *place = group.find(worker);
  if (!place) [[unlikely]] return 0;
  Slot &me = *place->slot;
  enter(me);
  // Also positive during drain(): this load pairs with its store, by way of enter().
  if (me.urgency->load(std::memory_order_seq_cst) > 0 || --me.countdown == 0 || max != 1 || !me.deque.pop(&out->task))
      [[unlikely]]
    return leave_with(group, *place, out, max);
  out->impl = out->team = CONSORT_NONE;
  return leave(me, 1);
}

// If the group was stored before enter(), workers() did not wait for this call, and the worker may have left: then it may take only
// tasks of its own deque. seq_cst in workers(), and enter() with wait_outside(): either this load sees the new
// group, or workers() waits for leave(). A group's address is never reused.
uint32_t Instance::leave_with(const Group &group, const Group::Place &place, consort_pick *out, uint32_t max) noexcept {
  if (group_.load(std::memory_order_relaxed) != &group) [[unlikely]] {
    leave(*place.slot, 0);
    return pop(place.slot->id, out, max);
  }
  return leave(*place.slot, pop_rare(group, place, out, max));
}

// Inside. Takes at most half of the deque's remaining tasks: the rest stays for thieves.
uint32_t Instance::pop_more(Slot &me, consort_pick *out, uint32_t max) noexcept {
  int64_t oldest;
  const int64_t size = me.deque.size(&oldest);
  uint32_t n = 0;
  for (; n < max && n < size / 2; ++n) {
    if (!me.deque.pop(&out[n].task)) break;
    out[n].impl = out[n].team = CONSORT_NONE;
  }
  return n;
}

// Inside. The slow path of pop: the own newest task is not next, or does not exist.
uint32_t Instance::pop_rare(const Group &group, const Group::Place &place, consort_pick *out, uint32_t max) noexcept {
  Slot &me = *place.slot;
  if (max == 0 || draining_.load(std::memory_order_seq_cst)) return 0;  // pairs with drain(), by way of enter()
  if (me.urgency->load(std::memory_order_relaxed) > 0)
    if (const uint32_t n = take_urgent(me.klass, out)) return n;
  if (me.countdown - 1 >= kFairness) {  // the countdown reached 0
    me.countdown = kFairness;
    if (const uint32_t n = take_oldest(group, me, out, max)) return n;
  }
  if (me.deque.pop(&out->task)) {
    out->impl = out->team = CONSORT_NONE;
    return 1 + pop_more(me, out + 1, max - 1);
  }
  return hunt(group, place, out, max);
}

// Returns the first `max` tasks, and pushes the rest to the own deque so that they leave in this order.
uint32_t Instance::keep(Slot &me, consort_task **tasks, uint32_t n, consort_pick *out, uint32_t max) noexcept {
  const uint32_t now = n < max ? n : max;
  for (uint32_t i = 0; i < now; ++i) out[i] = {tasks[i], CONSORT_NONE, CONSORT_NONE};
  for (uint32_t i = n; i-- > now;)
    if (!me.deque.push(tasks[i])) list_one(tasks[i]);
  return now;
}

uint32_t Instance::take_urgent(uint32_t klass, consort_pick *out) noexcept {
  consort_task *task = nullptr;
  lock_.lock();
  uint32_t lowest = Levels::kZero + 1;
  if (npools_ > 1 && pools_[klass].levels.count() && pools_[klass].levels.top() >= lowest)
    lowest = pools_[klass].levels.top() + 1;  // minimum level for the shared pool to go first
  uint32_t pool = npools_ - 1;
  if (npools_ > 1) task = pools_[pool].levels.pop(lowest, Levels::kCount, uint64_t{1} << klass);
  if (!task) task = pools_[pool = klass].levels.pop(Levels::kZero + 1, Levels::kCount, 0);
  pools_[pool].listed.store(pools_[pool].levels.count(), std::memory_order_relaxed);
  publish();
  lock_.unlock();
  if (!task) return 0;
  *out = {task, CONSORT_NONE, CONSORT_NONE};
  return 1;
}

// Takes tasks of the levels [lowest, highest], highest first. klass CONSORT_NONE: of any class.
uint32_t Instance::take_listed(uint32_t pool, uint32_t klass, uint32_t lowest, uint32_t highest, consort_task **out,
                               uint32_t max) noexcept {
  Pool &p = pools_[pool];
  uint32_t n = 0;
  lock_.lock();
  while (n < max && (out[n] = p.levels.pop(lowest, highest, klass == CONSORT_NONE ? 0 : uint64_t{1} << klass))) ++n;
  p.listed.store(p.levels.count(), std::memory_order_relaxed);
  publish();
  lock_.unlock();
  return n;
}

// Takes tasks of priority 0 that are in no deque: from the ring, the list of its overflow, and the list of tasks for several
// classes. Alternates, because each of them may be fed without end.
uint32_t Instance::take_pools(const Group &group, Slot &me, consort_task **out) noexcept {
  Pool &own = pools_[me.klass];
  const bool list_first = me.list_first = !me.list_first;
  for (int part = 0; part < 2; ++part) {
    if ((part == 0) != list_first) {
      const uint32_t n = own.ring.take(out, kBatch, group.members(me.klass));
      for (uint32_t i = 1; i < n; ++i) {  // records in another core's cache: fetch them concurrently
        __builtin_prefetch(out[i], 1);
        __builtin_prefetch(reinterpret_cast<const char *>(out[i]) + 64, 1);
        __builtin_prefetch(reinterpret_cast<const char *>(out[i]) + 128, 1);
      }
      if (n) return n;
    } else {
      if (npools_ > 1 && pools_[nclasses_].listed.load(std::memory_order_relaxed))
        if (const uint32_t n = take_listed(nclasses_, me.klass, Levels::kZero, Levels::kZero, out, 1)) return n;
      if (own.listed.load(std::memory_order_relaxed))
        if (const uint32_t n = take_listed(me.klass, CONSORT_NONE, Levels::kZero, Levels::kZero, out, kBatch)) return n;
    }
  }
  return 0;
}

// Taken at intervals, so that an endless supply of new tasks does not starve old ones: pool tasks, or the own oldest task.
uint32_t Instance::take_oldest(const Group &group, Slot &me, consort_pick *out, uint32_t max) noexcept {
  consort_task *tasks[kBatch];
  me.oldest_first = !me.oldest_first;
  if (!me.oldest_first)
    if (const uint32_t n = take_pools(group, me, tasks)) return keep(me, tasks, n, out, max);
  if (!(tasks[0] = me.deque.steal(1))) return 0;
  *out = {tasks[0], CONSORT_NONE, CONSORT_NONE};
  return 1;
}

// Steals a victim's oldest tasks, a few at once while its lines are cached, but never more than half. Its only task is left,
// unless it has been seen there for settings_.patience rounds: this keeps a chain on one core.
uint32_t Instance::rob(Slot &me, Slot &victim, bool *lone, consort_task **out) noexcept {
  int64_t oldest;
  const int64_t size = victim.deque.size(&oldest);
  if (size <= 0) return 0;
  if (size == 1) {
    if (me.watched == &victim && me.watched_oldest == oldest) {
      if (++me.watched_rounds > settings_.patience) {
        me.watched = nullptr;
        if ((out[0] = victim.deque.steal(1))) return 1;
      }
    } else if (!me.watched) {
      me.watched = &victim;
      me.watched_oldest = oldest;
      me.watched_rounds = 0;
    }
    *lone = true;
    return 0;
  }
  if (me.watched == &victim) me.watched = nullptr;
  const int64_t half = size / 2;
  uint32_t n = 0;
  while (n < kBatch && n < half && (out[n] = victim.deque.steal(2))) ++n;
  for (uint32_t i = 0; i < n; ++i) {  // records in another core's cache: fetch them concurrently
    __builtin_prefetch(out[i], 1);
    __builtin_prefetch(reinterpret_cast<const char *>(out[i]) + 64, 1);
    __builtin_prefetch(reinterpret_cast<const char *>(out[i]) + 128, 1);
  }
  *lone |= n == 0;  // another thief was faster: search again
  return n;
}

uint32_t Instance::steal(const Group &group, const Group::Place &place, bool *lone, consort_task **out) noexcept {
  Slot &me = *place.slot;
  const auto round = [&](uint32_t begin, uint32_t end, uint32_t skip_begin, uint32_t skip_end) noexcept -> uint32_t {
    const uint32_t n = end - begin;
    if (n == 0) return 0;
    me.rotate ^= me.rotate << 13, me.rotate ^= me.rotate >> 17, me.rotate ^= me.rotate << 5;
    for (uint32_t k = 0, i = begin + me.rotate % n; k < n; ++k, i = i + 1 == end ? begin : i + 1) {
      if (i >= skip_begin && i < skip_end) continue;
      Slot &victim = *group.ordered(i);
      if (&victim == &me) continue;
      if (const uint32_t got = rob(me, victim, lone, out)) return got;
    }
    return 0;
  };
  if (const uint32_t n = round(place.near_begin, place.near_end, 0, 0)) return n;
  if (place.near_end - place.near_begin == place.end - place.begin) return 0;
  return round(place.begin, place.end, place.near_begin, place.near_end);
}

// Called with an empty deque. Returns 0 only if no task is available. While a victim's only task is watched, it searches
// again, for about a microsecond. If that task keeps changing, its owner is fast enough alone.
uint32_t Instance::hunt(const Group &group, const Group::Place &place, consort_pick *out, uint32_t max) noexcept {
  Slot &me = *place.slot;
  consort_task *tasks[kBatch];
  me.watched = nullptr;
  for (uint32_t round = 0;; ++round) {
    if (const uint32_t n = take_pools(group, me, tasks)) return keep(me, tasks, n, out, max);
    bool lone = false;
    const Slot *before = me.watched;
    const uint32_t rounds = me.watched_rounds;
    if (const uint32_t n = steal(group, place, &lone, tasks)) return keep(me, tasks, n, out, max);
    if (before && me.watched == before && me.watched_rounds == rounds)
      me.watched = nullptr;  // the watched task has changed: choose again
    for (uint32_t pool : {me.klass, npools_ - 1})
      if (pools_[pool].listed.load(std::memory_order_relaxed))
        if (const uint32_t n = take_listed(pool, shared(pool) ? me.klass : CONSORT_NONE, 0, Levels::kCount, tasks, 1))
          return keep(me, tasks, n, out, max);
    if (!lone || round >= 4 * settings_.patience + 4) return 0;
    for (int i = 0; i < 8; ++i) pause();  // every search costs the owner a cache line
  }
}

}  // namespace lws
