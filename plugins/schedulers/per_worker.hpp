// per_worker.hpp — a policy with a queue for each worker, each under a lock of its own: life, epoch, members, table.
//
// Any thread may push, a worker's owner pops, everything else is [control]. A queue holds only what its owner can run.
// Nothing is allocated after create() and workers(). A Rule says where a task goes and who may take it:
//   kKeeps      what a worker brings stays in its own queue if it can run it; else, and from outsiders: by lot
//   kSteals     who finds nothing in the own queue looks through all others, beginning at one by lot
// Without kSteals the owner takes the oldest, with it the newest (now and then the oldest: an endless supply must not
// bury the rest), and thieves take the oldest.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "members.hpp"

namespace policies {

inline uint64_t mix(uint64_t x) noexcept {  // every bit of the answer depends on all of x
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Tasks in the order in which they came, linked both ways by their sched[]. Its owner holds the lock.
class TaskList {
 public:
  void append(consort_task *t) noexcept {
    t->sched[0] = nullptr;
    t->sched[1] = newest_;
    (newest_ ? newest_->sched[0] : reinterpret_cast<void *&>(oldest_)) = t;
    newest_ = t;
  }
  consort_task *take_newest() noexcept { return newest_ ? unlink(newest_) : nullptr; }
  consort_task *take_oldest(uint64_t classes) noexcept {  // that one of the classes can run
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
  Visitors visitors;                 // its owner's calls
  uint64_t draws = 0, pops = 0;      // its owner's
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
      Members next = i.crew().members;
      next.change(*t, add, na, del, nd);
      i.publish(std::move(next));
    } catch (...) {
      return consort::plugin::caught(i.host_, "out of memory for the workers' queues");
    }
    i.nobody_inside(CONSORT_NEVER);  // nobody is at work with the old crew any more
    const Crew &crew = i.crew();
    for (const auto &slot : i.slots_)
      if (!crew.members.has(slot->id)) i.move_all(crew, *slot);
    i.move_all(crew, i.strays_);
    return CONSORT_OK;
  }

  static uint32_t push(void *s, const consort_push *p) noexcept {
    PerWorker &i = of(s);
    const Crew &crew = i.crew();
    Slot *self = crew.members.has(p->from) ? crew.slots[p->from] : nullptr;
    const Visit visit(self ? self->visitors : i.outsiders_);
    if (i.epoch_.load(std::memory_order_seq_cst) != p->epoch) return 0;  // pairs with drain(), by way of Visit
    for (uint32_t k = 0; k < p->n; ++k) {
      consort_task *t = p->ready[k];
      const uint64_t where = t->where;  // once it is appended it may run, end, and be another
      const bool keeps = Rule::kKeeps && self && (where & crew.members.classes_of(self->id));
      const uint64_t lot = keeps ? 0 : mix(self ? i.seed_ + (uint64_t{self->id} + 1) * 0x1000003 + (++self->draws << 24)
                                                : i.seed_ + i.draws_.fetch_add(1, std::memory_order_relaxed));
      Slot &to = keeps ? *self : i.drawn(crew, where, lot);
      to.append(t);
      if (Rule::kSteals) {
        crew.members.announce(p->wake, where, self ? self->id : CONSORT_NONE);
      } else if (p->wake) {
        if (&to != self && to.id / 64 < p->wake->nwords) consort_wake_worker(p->wake, to.id);
        else ++p->wake->k;
      }
    }
    return p->n;
  }

  static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
    PerWorker &i = of(s);
    while (max) {
      const Crew &crew = i.crew();
      if (!crew.members.has(worker)) return 0;
      Slot &self = *crew.slots[worker];
      const Visit visit(self.visitors);
      // A crew published before the visit did not wait for this call, and may be without this worker. seq_cst with
      // publish(), by way of Visit: either this load sees it, or workers() waits for the visit's end.
      if (i.crew_.load(std::memory_order_seq_cst) != &crew) [[unlikely]] continue;
      const bool newest = Rule::kSteals && ++self.pops % kFairness != 0;
      consort_task *t = self.take(newest, ~uint64_t{0});
      if (!t && Rule::kSteals) t = i.steal(crew, self);
      if (!t) return 0;
      *out = {t, CONSORT_NONE, CONSORT_NONE};
      return 1;
    }
    return 0;
  }

  static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
    PerWorker &i = of(s);
    i.epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with push(), by way of Visit
    i.nobody_inside(CONSORT_NEVER);                     // what was let in with the old epoch is in a queue now
    uint32_t n = 0;
    for (const auto &slot : i.slots_)
      while (n < max && (out[n] = slot->take(false, ~uint64_t{0}))) ++n;
    while (n < max && (out[n] = i.strays_.take(false, ~uint64_t{0}))) ++n;
    return n;
  }

  static consort_status quiesce(void *s, uint64_t deadline) noexcept {
    return of(s).nobody_inside(deadline) ? CONSORT_OK : CONSORT_E_TIMEOUT;
  }

 private:
  static constexpr uint64_t kFairness = 64;

  // Immutable; workers() makes a new one, the old ones live as long as the instance, so nobody needs a lock to read it.
  struct Crew {
    Members members;
    std::vector<Slot *> slots;                      // by worker; nullptr: none yet
    std::vector<Slot *> all;                        // those that serve
    std::vector<std::vector<Slot *>> by_class;
  };

  static PerWorker &of(void *s) noexcept { return *static_cast<PerWorker *>(s); }
  const Crew &crew() const noexcept { return *crew_.load(std::memory_order_acquire); }  // pairs with publish()

  void publish(Members members) {
    auto crew = std::make_unique<Crew>(Crew{std::move(members), {}, {}, {}});
    const Members &m = crew->members;
    crew->by_class.resize(m.nclasses);
    for (uint32_t w = 0; w < m.serves.size(); ++w) {
      if (w == slots_.size()) {
        slots_.push_back(std::make_unique<Slot>());
        slots_.back()->id = w;
      }
      crew->slots.push_back(slots_[w].get());
      if (!m.serves[w] || m.klass[w] >= m.nclasses) continue;
      crew->all.push_back(slots_[w].get());
      crew->by_class[m.klass[w]].push_back(slots_[w].get());
    }
    crews_.push_back(std::move(crew));
    crew_.store(crews_.back().get(), std::memory_order_seq_cst);  // pairs with crew(), and with pop() by way of Visit
  }

  // One of those that can run it, each with the same chance. Nobody can: it waits for one to come.
  Slot &drawn(const Crew &crew, uint64_t where, uint64_t lot) noexcept {
    const bool any = crew.members.nclasses == 1;
    uint64_t n = 0;
    for (uint32_t c = 0; c < crew.by_class.size(); ++c)
      if (any || (where >> c & 1)) n += crew.by_class[c].size();
    if (n == 0) return strays_;
    lot %= n;
    for (uint32_t c = 0; c < crew.by_class.size(); ++c) {
      if (!any && !(where >> c & 1)) continue;
      if (lot < crew.by_class[c].size()) return *crew.by_class[c][lot];
      lot -= crew.by_class[c].size();
    }
    return strays_;
  }

  consort_task *steal(const Crew &crew, Slot &self) noexcept {
    const std::size_t n = crew.all.size();
    const uint64_t classes = crew.members.classes_of(self.id);
    std::size_t at = mix(seed_ + (uint64_t{self.id} + 1) * 0x1000003 + (++self.draws << 24)) % n;
    for (std::size_t k = 0; k < n; ++k, at = at + 1 == n ? 0 : at + 1)
      if (crew.all[at] != &self)
        if (consort_task *t = crew.all[at]->take(false, classes)) return t;
    return nullptr;
  }

  void move_all(const Crew &crew, Slot &from) noexcept {
    for (uint32_t n = from.queued.load(std::memory_order_relaxed); n > 0; --n)
      if (consort_task *t = from.take(false, ~uint64_t{0}))
        drawn(crew, t->where, mix(seed_ + draws_.fetch_add(1, std::memory_order_relaxed))).append(t);
  }

  bool nobody_inside(uint64_t deadline) const noexcept {
    for (const auto &slot : slots_)
      if (slot->visitors.wait(host_, deadline) != CONSORT_OK) return false;
    return outsiders_.wait(host_, deadline) == CONSORT_OK;
  }

  const consort_host *const host_;
  const uint64_t seed_;
  std::atomic<uint64_t> epoch_;  // seq_cst with Visit: see Visitors
  std::atomic<const Crew *> crew_{nullptr};  // seq_cst in publish() pairs with crew(), and with pop() by way of Visit
  std::vector<std::unique_ptr<Slot>> slots_;        // by worker; [control]
  std::vector<std::unique_ptr<Crew>> crews_;        // all there were; [control]
  Slot strays_;                                     // what nobody can run just now
  alignas(kLine) Visitors outsiders_;
  std::atomic<uint64_t> draws_{0};                  // by outsiders; relaxed: spreads tasks
};

// The plugin is its seed and nothing more.
inline consort_status init_seed(const consort_host *host, void **out) noexcept {
  *out = reinterpret_cast<void *>(number_param(host, "seed", 1));
  return CONSORT_OK;
}

}  // namespace policies
