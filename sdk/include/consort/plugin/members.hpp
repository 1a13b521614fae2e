// plugin/members.hpp — helpers for schedulers: the workers of an instance, the calls inside it, a lock for a few stores.
//
// For classes of plugin/scheduler.hpp and for tables written by hand. Members is guarded by its owner's lock; the
// others may be touched by any thread. Nothing here allocates but the constructor and change() of Members.
#pragma once
#include <atomic>
#include <span>
#include <thread>

#include "../scheduler.h"
#include "host.hpp"

namespace consort::plugin {

// Innermost: hold it for stores and short walks; no allocation, no call of the host meanwhile. For std::lock_guard.
class SpinLock {
 public:
  // Waits, spinning; yields now and then.
  void lock() noexcept {
    for (uint32_t spins = 0; held_.exchange(true, std::memory_order_acquire);)  // pairs with unlock()
      while (held_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb");
#endif
        if (++spins % 256 == 0) std::this_thread::yield();  // its holder may have lost its core
      }
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }  // pairs with the exchange in lock()

 private:
  std::atomic<bool> held_{false};  // acquire in lock(), release in unlock()
};

// Calls of push and pop in progress, for quiesce(). A visitor increments the count, then reads the epoch. The closing
// thread stores the epoch, then reads the count. seq_cst on all four, so one of the two sees the other.
class Visitors {
 public:
  void enter() noexcept { inside_.fetch_add(1, std::memory_order_seq_cst); }  // pairs with any()
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }  // pairs with any()
  bool any() const noexcept { return inside_.load(std::memory_order_seq_cst) != 0; }  // True while a visit is in progress.
  // [control] Waits until no call is inside; E_TIMEOUT if the deadline, of the host's clock, comes first.
  consort_status wait(Host host, uint64_t deadline_ns) const noexcept {
    while (any()) {
      if (deadline_ns != CONSORT_NEVER && host.now() >= deadline_ns) return CONSORT_E_TIMEOUT;
      std::this_thread::yield();
    }
    return CONSORT_OK;
  }

 private:
  std::atomic<uint32_t> inside_{0};  // seq_cst: see Visitors
};

// A visit for as long as it lives.
class Visit {
 public:
  explicit Visit(Visitors &v) noexcept : v_(v) { v_.enter(); }  // Enters v; the destructor leaves it.
  ~Visit() { v_.leave(); }
  Visit(const Visit &) = delete;
  Visit &operator=(const Visit &) = delete;

 private:
  Visitors &v_;
};

// The workers that an instance serves. Until change() has named some, all of the topology.
class Members {
 public:
  explicit Members(const consort_topology &t) { look(t); }  // All of this topology.

  uint32_t classes() const noexcept { return nclasses_; }  // How many unit classes there are, at least 1.
  uint32_t count() const noexcept { return count_; }  // of the serving workers
  // Whether that worker is served.
  bool has(uint32_t worker) const noexcept { return worker < serves_.size() && serves_[worker]; }
  // What of a task's `where` this worker can run.
  uint64_t classes_of(uint32_t worker) const noexcept { return uint64_t{1} << (klass_[worker] & 63); }

  // For Scheduler::workers. Throws Error or bad_alloc; nothing has changed then.
  void change(const consort_topology &t, std::span<const uint32_t> add, std::span<const uint32_t> del) {
    Members next = *this;
    for (const uint32_t w : add)
      if (w >= t.nworkers)
        throw Error(CONSORT_E_INVAL, "worker " + std::to_string(w) +
                                         " was added, which is not in the topology; pass the newer snapshot");
    // The first call that adds some of those at the start says which ones serve.
    if (!chosen_ && !add.empty() && add[0] < serves_.size()) next.serves_.assign(serves_.size(), 0);
    next.chosen_ = true;
    next.serves_.resize(std::max<size_t>(serves_.size(), t.nworkers));
    for (const uint32_t w : add) next.serves_[w] = 1;
    for (const uint32_t w : del)
      if (w < next.serves_.size()) next.serves_[w] = 0;
    next.look(t);
    std::swap(*this, next);
  }

  // A task was added: names the workers that can run it, except `self` (push.from), which pops anyway.
  void announce(consort_wake *wake, uint64_t where, uint32_t self = CONSORT_NONE) const noexcept {
    if (!wake) return;
    for (uint32_t c = 0; c < nclasses_; ++c)
      if (where >> (c & 63) & 1)
        for (uint32_t i = 0; i < words_ && i < wake->nwords; ++i) wake->bits[i] |= candidates_[size_t{c} * words_ + i];
    if (self / 64 < wake->nwords) wake->bits[self / 64] &= ~(uint64_t{1} << self % 64);
    ++wake->k;
  }

 private:
  void look(const consort_topology &t) {
    nclasses_ = t.nclasses ? t.nclasses : 1;
    klass_.resize(std::max<size_t>(klass_.size(), t.nworkers));
    serves_.resize(klass_.size(), !chosen_);
    for (uint32_t w = 0; w < t.nworkers; ++w) klass_[w] = t.workers[w].klass;
    words_ = static_cast<uint32_t>(serves_.size() + 63) / 64;
    candidates_.assign(size_t{nclasses_} * words_, 0);
    count_ = 0;
    for (uint32_t w = 0; w < serves_.size(); ++w) {
      if (!serves_[w] || klass_[w] >= nclasses_) continue;
      candidates_[size_t{klass_[w]} * words_ + w / 64] |= uint64_t{1} << w % 64;
      ++count_;
    }
  }

  uint32_t nclasses_ = 1, words_ = 0, count_ = 0;
  std::vector<uint32_t> klass_;       // by worker
  std::vector<char> serves_;          // by worker
  std::vector<uint64_t> candidates_;  // [class][word]
  bool chosen_ = false;
};

}  // namespace consort::plugin
