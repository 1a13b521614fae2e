// lws.hpp — one instance of the policy, created by create(). lws.cpp has the plugin's table, instance.cpp the functions.
//
// Any thread may push, a worker's owner pops, the rest is [control]. lws.cpp describes the algorithm.
#pragma once
#include <consort/plugin/members.hpp>
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../doors.hpp"
#include "deque.hpp"
#include "group.hpp"
#include "levels.hpp"
#include "ring.hpp"

namespace lws {

struct Settings {
  uint32_t depth, patience;
  uint64_t seed;
};

using consort::plugin::SpinLock;

class Instance {
 public:
  Instance(const Settings &, const consort_host *, const consort_topology &, uint64_t epoch);

  uint32_t push(const consort_push &) noexcept;
  uint32_t pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept;
  consort_status workers(const consort_topology &, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd);
  uint32_t drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept;
  consort_status quiesce(uint64_t deadline) noexcept;
  const int32_t *urgency(uint32_t worker) noexcept;
  const consort_host *host() const noexcept { return host_; }

 private:
  static constexpr uint32_t kBatch = 16;     // tasks taken from a ring, or stolen, at once
  static constexpr uint32_t kFairness = 64;  // one pop in so many does not begin with the own newest task

  // Tasks outside deques. One pool per unit class, for tasks that only this class can run, and with several
  // classes one more for tasks that several classes can run. The latter has no ring, because a taker of a ring
  // cannot skip tasks that it cannot run.
  struct Pool {
    Ring ring;
    std::atomic<uint32_t> listed{0};  // in the levels; relaxed: a hint, read without the lock
    Levels levels;                    // guarded by lock_
  };

  void enter(Slot &) const noexcept;  // marks a worker's owner as inside
  static uint32_t leave(Slot &, uint32_t answer) noexcept;

  uint32_t pool_of(const consort_task *task) const noexcept;
  bool shared(uint32_t pool) const noexcept { return pool == nclasses_; }
  [[gnu::noinline]] uint32_t push_own(const Group &, const Group::Place &, const consort_push &) noexcept;
  [[gnu::noinline]] uint32_t push_outside(const consort_push &) noexcept;
  uint32_t place(const Group &, const consort_push &) noexcept;
  bool list(const Group &, const consort_push &, consort_task *const *tasks, uint32_t n, uint32_t self) noexcept;
  void list_one(consort_task *task) noexcept;
  void announce(const Group &, consort_wake *, const consort_task *, uint32_t pool, uint32_t n,
                uint32_t self) const noexcept;
  void publish() noexcept;
  [[gnu::noinline]] uint32_t leave_with(const Group &, const Group::Place &, consort_pick *out, uint32_t max) noexcept;
  uint32_t pop_more(Slot &, consort_pick *out, uint32_t max) noexcept;
  uint32_t pop_rare(const Group &, const Group::Place &, consort_pick *out, uint32_t max) noexcept;
  uint32_t take_urgent(uint32_t klass, consort_pick *out) noexcept;
  uint32_t take_listed(uint32_t pool, uint32_t klass, uint32_t lowest, uint32_t highest, consort_task **out,
                       uint32_t max) noexcept;
  uint32_t take_pools(const Group &, Slot &, consort_task **out) noexcept;
  uint32_t take_oldest(const Group &, Slot &, consort_pick *out, uint32_t max) noexcept;
  uint32_t rob(Slot &me, Slot &victim, bool *lone, consort_task **out) noexcept;
  uint32_t steal(const Group &, const Group::Place &, bool *lone, consort_task **out) noexcept;
  uint32_t hunt(const Group &, const Group::Place &, consort_pick *out, uint32_t max) noexcept;
  uint32_t keep(Slot &, consort_task **tasks, uint32_t n, consort_pick *out, uint32_t max) noexcept;
  Slot *slot(uint32_t id, uint32_t klass);
  bool serves(uint32_t worker) const noexcept { return worker < members_.size() && members_[worker]; }
  void choose_paths() noexcept;
  bool wait_outside(uint64_t deadline) noexcept;

  // Read by all threads, written rarely.
  alignas(kLine) std::atomic<uint64_t> epoch_;  // seq_cst with the visitors of a push
  std::atomic<const Group *> group_{nullptr};  // seq_cst in workers() pairs with push_own(), pop() and leave_with()
  std::atomic<uint32_t> draining_{0};  // pop answers 0, so that drain() sees every task; seq_cst, see pop_rare()
  uint32_t nclasses_, npools_;
  bool asymmetric_;                    // wait_outside() can make the stores of enter() visible
  bool chosen_ = false;                // workers() was called; until then all of the topology are served
  Settings settings_;
  const consort_host *host_;
  std::unique_ptr<Pool[]> pools_;
  std::unique_ptr<std::atomic<int32_t>[]> urgency_;  // by class: upper bound of waiting priorities above 0, else 0; see publish()
  std::vector<std::unique_ptr<Group>> groups_;       // all groups so far; [control]
  std::vector<std::unique_ptr<Slot>> slots_;         // by worker; [control]
  std::vector<Slot *> members_;                      // by worker; [control]
  policies::Doors doors_;                            // other threads, counted on entry and exit
  alignas(kLine) SpinLock lock_;                     // guards the levels of all pools and publish()
};

}  // namespace lws
