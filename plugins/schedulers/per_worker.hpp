// per_worker.hpp — a policy with a queue for each worker, each with its own lock: construction, epoch, members, table.
//
// Any thread may push, a worker's owner pops, the rest is [control]. A queue holds only tasks that its owner can run.
// Nothing is allocated after create() and workers(). A Rule says where a task goes and which workers take it:
//   kKeeps      a task pushed by a worker stays in its own queue if it can run it; other tasks are placed at random
//   kSteals     a worker with an empty queue searches all others, starting at a random one
// Without kSteals the owner takes the oldest task. With it, the owner takes the newest (at times the oldest, so that an endless supply
// does not starve old tasks), and thieves take the oldest.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "members.hpp"

namespace policies {

inline uint64_t mix(uint64_t x) noexcept {  // every result bit depends on all bits of x
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Tasks in order of arrival, doubly linked by sched[]. The caller holds the lock.
class TaskList {
 public:
  void append(consort_task *t) noexcept {
    t->sched[0] = nullptr;
    t->sched[1] = newest_;
    (newest_ ? newest_->sched[0] : reinterpret_cast<void *&>(oldest_)) = t;
    newest_ = t;
  }
  consort_task *take_newest() noexcept { return newest_ ? unlink(newest_) : nullptr; }
  consort_task *take_oldest(uint64_t classes) noexcept {  // the oldest that one of the classes can run
    for (consort_task *t = oldest_; t; t = static_cast<consort_task *>(t->sched[0]))
      if (t->where & classes) return unlink(t);
    return nullptr;
  }

 private:
  consort_task *unlink(consort_task *t) noexcept {
    auto *newer = static_cast<consort_task *>(t->sched[0]), *older = static_cast<consort_task *>(t->sched[1]);
    (older ? older->sched[0] : reinterpret_cast<void *&>(oldest_)) = newer;
    (newer ? newer->sched[1] : reinterpret_cast<void *&>(newest_)) = older;
    return t;
  }
  consort_task *oldest_ = nullptr, *newest_ = nullptr;
};

struct alignas(kLine) Slot {
  SpinLock lock;                     // guards list
  TaskList list;
  std::atomic<uint32_t> queued{0};   // stored under the lock, read without: an empty queue is not locked
  Visitors visitors;                 // calls of its owner
  uint64_t draws = 0, pops = 0;      // used by its owner
  uint32_t id = 0;

  void append(consort_task *t) noexcept {
    const std::lock_guard guard(lock);
    list.append(t);
    queued.store(queued.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // pairs with take()
  }
  consort_task *take(bool newest, uint64_t classes) noexcept {
    if (queued.load(std::memory_order_acquire) == 0) return nullptr;  // pairs with append()
    const std::lock_guard guard(lock);
    consort_task *t = newest ? list.take_newest() : list.take_oldest(classes);
    if (t) queued.store(queued.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return t;
  }
};

template <class Rule>
class PerWorker {
 public:
  PerWorker(const consort_host *host, const consort_topology &t, uint64_t epoch, uint64_t seed)
      : host_(host), seed_(seed), epoch_(epoch) {
    publish(Members(t));
  }

  static consort_status create(void *plugin, const consort_host *host, const consort_topology *t, uint64_t epoch,
                               void **out) noexcept {
    try {
      *out = new PerWorker(host, *t, epoch, reinterpret_cast<uint64_t>(plugin));
      return CONSORT_OK;
    } catch (...) {
      return consort::plugin::caught(host, "out of memory for the workers' queues");
    }
  }
  static void destroy(void *s) noexcept { delete &of(s); }

  static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na,
                                const uint32_t *del, uint32_t nd) noexcept {
    PerWorker &i = of(s);
    if (const consort_status bad = check_added(i.host_, t, add, na); bad < 0) return bad;
    try {
      Members next = i.served().members;
      next.change(*t, add, na, del, nd);
      i.publish(std::move(next));
    } catch (...) {
      return consort::plugin::caught(i.host_, "out of memory for the workers' queues");
    }
    i.wait_until_empty(CONSORT_NEVER);  // no thread uses the old snapshot any more
    const Served &served = i.served();
    for (const auto &slot : i.slots_)
      if (!served.members.has(slot->id)) i.move_all(served, *slot);
    i.move_all(served, i.strays_);
    return CONSORT_OK;
  }

  static uint32_t push(void *s, const consort_push *p) noexcept {
    PerWorker &i = of(s);
    for (;;) {
      const Served &served = i.served();
      Slot *self = served.members.has(p->from) ? served.slots[p->from] : nullptr;
      const Visit visit(self ? self->visitors : i.external_);
      // As in pop(): else a task could go to the queue of a worker that has left, after workers() has moved its tasks.
      if (i.served_.load(std::memory_order_seq_cst) != &served) [[unlikely]] continue;
      return i.push_to(served, self, p);
    }
  }

  static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
    PerWorker &i = of(s);
    while (max) {
      const Served &served = i.served();
      if (!served.members.has(worker)) return 0;
      Slot &self = *served.slots[worker];
      const Visit visit(self.visitors);
      // If the snapshot was published before the visit began, workers() did not wait for this call, and the worker may have left.
      // seq_cst with publish(), by way of Visit: either this load sees the new one, or workers() waits for the visit's end.
      if (i.served_.load(std::memory_order_seq_cst) != &served) [[unlikely]] continue;
      const bool newest = Rule::kSteals && ++self.pops % kFairness != 0;
      consort_task *t = self.take(newest, ~uint64_t{0});
      if (!t && Rule::kSteals) t = i.steal(served, self);
      if (!t) return 0;
      *out = {t, CONSORT_NONE, CONSORT_NONE};
      return 1;
    }
    return 0;
  }

  static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
    PerWorker &i = of(s);
    i.epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with push(), by way of Visit
    i.wait_until_empty(CONSORT_NEVER);                     // all pushes of the old epoch are in a queue now
    uint32_t n = 0;
    for (const auto &slot : i.slots_)
      while (n < max && (out[n] = slot->take(false, ~uint64_t{0}))) ++n;
    while (n < max && (out[n] = i.strays_.take(false, ~uint64_t{0}))) ++n;
    return n;
  }

  static consort_status quiesce(void *s, uint64_t deadline) noexcept {
    return of(s).wait_until_empty(deadline) ? CONSORT_OK : CONSORT_E_TIMEOUT;
  }

 private:
  static constexpr uint64_t kFairness = 64;

  // Immutable; workers() creates a new snapshot. Old ones live as long as the instance, so readers need no lock.
  struct Served {
    Members members;
    std::vector<Slot *> slots;                      // by worker; nullptr: none yet
    std::vector<Slot *> all;                        // served workers
    std::vector<std::vector<Slot *>> by_class;
  };

  static PerWorker &of(void *s) noexcept { return *static_cast<PerWorker *>(s); }
  const Served &served() const noexcept { return *served_.load(std::memory_order_acquire); }  // pairs with publish()

  void publish(Members members) {
    auto served = std::make_unique<Served>(Served{std::move(members), {}, {}, {}});
    const Members &m = served->members;
    served->by_class.resize(m.nclasses);
    for (uint32_t w = 0; w < m.serves.size(); ++w) {
      if (w == slots_.size()) {
        slots_.push_back(std::make_unique<Slot>());
        slots_.back()->id = w;
      }
      served->slots.push_back(slots_[w].get());
      if (!m.serves[w] || m.klass[w] >= m.nclasses) continue;
      served->all.push_back(slots_[w].get());
      served->by_class[m.klass[w]].push_back(slots_[w].get());
    }
    snapshots_.push_back(std::move(served));
    served_.store(snapshots_.back().get(), std::memory_order_seq_cst);  // pairs with served(), and with pop() by way of Visit
  }

  // Inside a visit, of the worker `self` or of another thread (nullptr).
  uint32_t push_to(const Served &served, Slot *self, const consort_push *p) noexcept {
    if (epoch_.load(std::memory_order_seq_cst) != p->epoch) return 0;  // pairs with drain(), by way of Visit
    for (uint32_t k = 0; k < p->n; ++k) {
      consort_task *t = p->ready[k];
      const uint64_t where = t->where;  // read first: an appended task may run, end, and be reused
      const bool keeps = Rule::kKeeps && self && (where & served.members.classes_of(self->id));
      const uint64_t lot = keeps ? 0 : mix(self ? seed_ + (uint64_t{self->id} + 1) * 0x1000003 + (++self->draws << 24)
                                                : seed_ + draws_.fetch_add(1, std::memory_order_relaxed));
      Slot &to = keeps ? *self : drawn(served, where, lot);
      to.append(t);
      if (Rule::kSteals) {
        served.members.announce(p->wake, where, self ? self->id : CONSORT_NONE);
      } else if (p->wake) {
        if (&to != self && to.id / 64 < p->wake->nwords) consort_wake_worker(p->wake, to.id);
        else ++p->wake->k;
      }
    }
    return p->n;
  }

  // A random eligible worker, uniformly. Without one, the task waits in strays_.
  Slot &drawn(const Served &served, uint64_t where, uint64_t lot) noexcept {
    const bool any = served.members.nclasses == 1;
    uint64_t n = 0;
    for (uint32_t c = 0; c < served.by_class.size(); ++c)
      if (any || (where >> c & 1)) n += served.by_class[c].size();
    if (n == 0) return strays_;
    lot %= n;
    for (uint32_t c = 0; c < served.by_class.size(); ++c) {
      if (!any && !(where >> c & 1)) continue;
      if (lot < served.by_class[c].size()) return *served.by_class[c][lot];
      lot -= served.by_class[c].size();
    }
    return strays_;
  }

  consort_task *steal(const Served &served, Slot &self) noexcept {
    const std::size_t n = served.all.size();
    const uint64_t classes = served.members.classes_of(self.id);
    std::size_t at = mix(seed_ + (uint64_t{self.id} + 1) * 0x1000003 + (++self.draws << 24)) % n;
    for (std::size_t k = 0; k < n; ++k, at = at + 1 == n ? 0 : at + 1)
      if (served.all[at] != &self)
        if (consort_task *t = served.all[at]->take(false, classes)) return t;
    return nullptr;
  }

  void move_all(const Served &served, Slot &from) noexcept {
    for (uint32_t n = from.queued.load(std::memory_order_relaxed); n > 0; --n)
      if (consort_task *t = from.take(false, ~uint64_t{0}))
        drawn(served, t->where, mix(seed_ + draws_.fetch_add(1, std::memory_order_relaxed))).append(t);
  }

  bool wait_until_empty(uint64_t deadline) const noexcept {
    for (const auto &slot : slots_)
      if (slot->visitors.wait(host_, deadline) != CONSORT_OK) return false;
    return external_.wait(host_, deadline) == CONSORT_OK;
  }

  const consort_host *const host_;
  const uint64_t seed_;
  std::atomic<uint64_t> epoch_;  // seq_cst with Visit: see Visitors
  std::atomic<const Served *> served_{nullptr};  // seq_cst in publish() pairs with served(), and with pop() by way of Visit
  std::vector<std::unique_ptr<Slot>> slots_;        // by worker; [control]
  std::vector<std::unique_ptr<Served>> snapshots_;        // all snapshots; [control]
  Slot strays_;                                     // tasks without an eligible worker
  alignas(kLine) Visitors external_;
  std::atomic<uint64_t> draws_{0};                  // draws of other threads; relaxed: spreads tasks
};

// The plugin's state is its seed alone.
inline consort_status init_seed(const consort_host *host, void **out) noexcept {
  *out = reinterpret_cast<void *>(number_param(host, "seed", 1));
  return CONSORT_OK;
}

}  // namespace policies
