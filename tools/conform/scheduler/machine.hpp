// machine.hpp — the machine of a policy under test: workers, classes, spaces, and consort.sched/1.
//
// Owned by one case. Only resize() changes the topology. An older snapshot is valid until the policy's workers() has
// returned; from then on a load from it crashes, so a machine that is resized has one instance. The table's functions
// may be called by any thread; their results depend on task and worker, and on set_load(), alone.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "conform/host.hpp"

namespace conform {

class Machine {
 public:
  // klass[w]: the class of worker w. Spaces: one for each class; the first is space 0, used by class 0.
  Machine(Host &, std::vector<uint32_t> klass);

  const consort_topology *topology() const { return now_.load(std::memory_order_relaxed); }
  const std::vector<uint32_t> &classes() const { return klass_; }
  uint32_t nworkers() const { return static_cast<uint32_t>(klass_.size()); }
  bool suits(uint32_t worker, uint64_t where) const { return worker < klass_.size() && (where >> klass_[worker] & 1); }
  void resize(std::vector<uint32_t> klass);      // adds a snapshot with the next generation; call workers() with it
  void renew() { resize(klass_); }               // the same workers in another snapshot
  bool forget_older();                           // all snapshots but the latest; false: there were none

  void set_load(uint32_t worker, float ns);      // of popped tasks that are prepared; no call may be in progress

  uint64_t decisions() const { return decisions_; }
  static uint64_t run_ns(const consort_task &, uint32_t klass);

 private:
  // A topology in pages of its own, with all that it points to but the names of classes.
  class Snapshot {
   public:
    Snapshot(const std::vector<uint32_t> &klass, uint32_t generation);
    ~Snapshot();
    Snapshot(const Snapshot &) = delete;
    Snapshot &operator=(const Snapshot &) = delete;
    const consort_topology *table() const { return static_cast<const consort_topology *>(pages_); }
    bool forget();                               // false: it was already

   private:
    size_t bytes_;
    void *pages_;
    bool is_forgotten_ = false;
  };
  static Machine &of(const consort_host *h) { return *static_cast<Machine *>(Host::of(h).user); }
  static const consort_sched_host *services();
  void describe();

  std::vector<uint32_t> klass_;
  std::vector<float> load_;                      // by worker; 0 beyond
  std::deque<Snapshot> snapshots_;
  std::atomic<const consort_topology *> now_{nullptr};
  std::atomic<uint64_t> decisions_{0};
};

// Returns the classes of that many workers each: {4} is four of class 0, {3, 2} three of class 0 and two of class 1.
std::vector<uint32_t> workers_of(const std::vector<uint32_t> &each);

}  // namespace conform
