// outstanding.hpp — the outstanding items of a queue, an endpoint or a scheduler, as far as a layer can know them.
//
// Each record has a mutex, held for the record alone and never during a call of a plugin. A record that runs out of memory
// is blind from then on: it reports nothing rather than something wrong.
#pragma once
#include <consort/scheduler.h>
#include <consort/transport.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace checks {

// Operations submitted and not completed, oldest first.
class Flight {
 public:
  enum class Found { kYes, kNo, kOutOfTurn };

  void order(bool in_order) { in_order_ = in_order; }
  // To be called before the driver's submit(): a completion may come from another thread while it runs.
  void add(uint64_t cookie) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      cookies_.push_back(cookie);
    } catch (const std::bad_alloc &) {
      blind_ = true;
    }
  }
  void retract(uint64_t cookie) noexcept {  // the youngest with that cookie was not accepted
    const std::lock_guard lock(mutex_);
    const auto at = std::find(cookies_.rbegin(), cookies_.rend(), cookie);
    if (at != cookies_.rend()) cookies_.erase(std::next(at).base());
  }
  Found complete(uint64_t cookie) noexcept {
    const std::lock_guard lock(mutex_);
    if (blind_) return Found::kYes;
    const auto at = std::find(cookies_.begin(), cookies_.end(), cookie);
    if (at == cookies_.end()) return Found::kNo;
    const bool first = at == cookies_.begin();
    cookies_.erase(at);
    return in_order_ && !first ? Found::kOutOfTurn : Found::kYes;
  }
  size_t left() noexcept {
    const std::lock_guard lock(mutex_);
    return blind_ ? 0 : cookies_.size();
  }
  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t>().swap(cookies_);
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> cookies_;
  bool blind_ = false, in_order_ = false;
};

// Tasks queued in one instance of a scheduler. A task is recorded before push() is entered and until after pop(),
// drain() or dropped() has returned. Threads inside one of these are counted; when drain() sees none, every
// recorded task is queued in the instance. The counter is incremented before the instance is entered and
// decremented, with release, after the record is written: a thread that reads zero with acquire sees the record.
class Tasks {
 public:
  struct Inside {
    explicit Inside(Tasks &t) : tasks(t) { tasks.inside_.fetch_add(1, std::memory_order_seq_cst); }
    ~Inside() { tasks.inside_.fetch_sub(1, std::memory_order_release); }
    Inside(const Inside &) = delete;
    Tasks &tasks;
  };

  // To be called before push(), and accept() or refuse() afterwards. Returns whether none of them is queued already.
  bool push(const consort_push &p) noexcept {
    const std::lock_guard lock(mutex_);
    bool fresh = true;
    try {
      for (uint32_t i = 0; i < p.n; ++i) fresh &= waiting_.try_emplace(p.ready[i], Entry{p.epoch, false}).second;
    } catch (const std::bad_alloc &) {
      blind_ = true;
    }
    return fresh;
  }
  void accept(const consort_push &p) noexcept {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < p.n; ++i)
      if (const auto at = waiting_.find(p.ready[i]); at != waiting_.end()) at->second.accepted = true;
  }
  void refuse(const consort_push &p) noexcept {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < p.n; ++i) waiting_.erase(p.ready[i]);
  }
  bool out(consort_task *t) noexcept {
    const std::lock_guard lock(mutex_);
    return waiting_.erase(t) != 0 || blind_;
  }

  void begin(uint64_t epoch) noexcept { epoch_.store(epoch, std::memory_order_release); }
  // To be called around drain(). The second returns the number of tasks left although drain() returned 0; only certain ones count.
  void draining(uint64_t epoch) noexcept {
    if (epoch_.load(std::memory_order_relaxed) != epoch) epoch_.store(kUnsettled, std::memory_order_release);
  }
  size_t drained(uint64_t epoch, bool empty) noexcept {
    epoch_.store(epoch, std::memory_order_release);
    if (!empty || inside_.load(std::memory_order_seq_cst) != 0) return 0;
    const std::lock_guard lock(mutex_);
    if (blind_) return 0;
    return static_cast<size_t>(std::count_if(
        waiting_.begin(), waiting_.end(), [&](const auto &w) { return w.second.accepted && w.second.epoch != epoch; }));
  }
  // Read before and after push(): if both are equal and differ from the push's epoch, accepting the push was a violation.
  uint64_t settled() const noexcept { return epoch_.load(std::memory_order_acquire); }
  static constexpr uint64_t kUnsettled = UINT64_MAX - 1;

  size_t left() noexcept {
    const std::lock_guard lock(mutex_);
    return blind_ ? 0 : waiting_.size();
  }
  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    waiting_ = {};
  }

  // Sets the workers. To be called while changed workers do not pop.
  void know(const consort_topology &t) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      classes_.assign(size_t{t.nworkers} + t.nteams, 64);
      for (uint32_t i = 0; i < t.nworkers; ++i) note(t.workers[i].id, t.workers[i].klass);
      for (uint32_t i = 0; i < t.nteams; ++i) note(t.teams[i].id, t.teams[i].klass);
    } catch (const std::bad_alloc &) {
      classes_.clear();
    }
  }
  bool suits(uint32_t worker, const consort_task &t) noexcept {
    const std::lock_guard lock(mutex_);
    return worker >= classes_.size() || classes_[worker] >= 64 || (t.where >> classes_[worker] & 1);
  }
  size_t workers() noexcept {
    const std::lock_guard lock(mutex_);
    return classes_.size();
  }

 private:
  struct Entry {
    uint64_t epoch;
    bool accepted;
  };
  void note(uint32_t id, uint32_t klass) {
    if (id < classes_.size()) classes_[id] = klass;
  }

  std::mutex mutex_;
  std::unordered_map<consort_task *, Entry> waiting_;
  std::vector<uint32_t> classes_;  // by worker
  bool blind_ = false;
  std::atomic<uint32_t> inside_{0};  // seq_cst with drained(): at least one of the two sees the other
  std::atomic<uint64_t> epoch_{kUnsettled};  // the epoch of the last drain() that returned; release; settled() acquires
};

// Allocated addresses, or keys, that must be freed.
class Taken {
 public:
  using Key = std::pair<uint64_t, uint64_t>;
  void take(Key k) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      ++all_[k];
    } catch (const std::bad_alloc &) {
      blind_ = true;
    }
  }
  bool give_back(Key k) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(k);
    if (at == all_.end()) return blind_;
    if (--at->second == 0) all_.erase(at);
    return true;
  }
  size_t left() noexcept {
    const std::lock_guard lock(mutex_);
    return blind_ ? 0 : all_.size();
  }

 private:
  std::mutex mutex_;
  std::map<Key, uint32_t> all_;
  bool blind_ = false;
};

}  // namespace checks
