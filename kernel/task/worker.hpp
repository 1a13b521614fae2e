// worker.hpp — a worker as every room knows it: token, mailbox and wake-ups.
//
// A worker is a token, not a thread: the holder of the token may step(). Each worker has a thread on duty, which holds
// the token when no other thread does. A submitting thread leases the token of a free worker. It pushes as that worker
// and runs its tasks when it waits, so submitter and worker share one core. When the submitter is silent for a watch
// tick, the thread on duty takes the token. A submitter that finds no free token (it was off its core for longer) asks
// for one back, so that no more threads than workers are active.
//
// The threads of a worker and the step that runs tasks belong to its Executor (exec/executor.hpp). Fields are used by
// the token holder, unless marked otherwise.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/relaxed_value.hpp"
#include "machine/topology.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct Core;

namespace token {
inline constexpr uint32_t kFree = 0, kHeld = 1;
constexpr uint32_t lease(uint16_t thread) { return (uint32_t{thread} + 1) << 1; }
constexpr bool is_lease(uint32_t t) { return t > kHeld; }
constexpr uint16_t thread_of(uint32_t t) { return static_cast<uint16_t>((t >> 1) - 1); }
}  // namespace token

struct Worker {
  Worker(Core &c, uint32_t number, const Unit &u)
      : core(c), id(number), unit(u), klass(u.klass), reach(u.reach), has_queue(!(u.desc.flags & CONSORT_UNIT_INLINE)) {}
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  Core &core;
  const uint32_t id;
  const Unit &unit;
  const uint32_t klass;
  const uint64_t reach;
  const bool has_queue;                          // the unit runs by itself: tasks are issued on a queue

  alignas(64) std::atomic<uint32_t> token{token::kFree};  // [any] release where it is given up, acquire where it is taken
  std::atomic<uint32_t> asked{0};                // [any] the lease that a submitter asks for; see Executor::lend()
  std::atomic<bool> watched{false};              // [any] the thread on duty checks every tick; see Executor::watch()
  // [any] The parker that a wake for this worker reaches. Release in Executor::show_asleep() pairs with the acq_rel
  // exchange of the thread that wakes it, which sees an initialised parker. The fences are those of show_asleep() and
  // rouse().
  std::atomic<Parker *> sleeping{nullptr};
  // [any] tasks bound to this worker, linked by pub.sched[0], newest first
  std::atomic<Task *> mailbox{nullptr};  // release in post(), acquire in Executor::next_bound()
  Task *bound = nullptr;                         // from the mailbox, oldest first
  std::atomic<uint32_t> staging{0};              // [any] tasks popped here whose data are in flight; relaxed: a count
  // Gangs (exec/gang.hpp) that wait for this worker, plus the one that it has joined. Incremented when listed,
  // decremented at the release, both with release: the stepping thread acquires, or reads the list under its mutex.
  std::atomic<uint32_t> called{0};
  alignas(64) std::atomic<uint64_t> ran{0};      // single writer: the token holder

  // Each task that a push adds wakes one sleeping worker that can run it, if there is one (Scheduling::wake()). That
  // worker looks for it next, so no other one need wake. If it begins anything else first, a task of its mailbox, a team's
  // task or the rest of a body that waited, the task would wait while other workers sleep: it passes the wake on.
  // Relaxed: a submitter that is preempted in try_lease() may still write them while the next holder does, and then wakes
  // the thread on duty. Bytes: see Scheduling::keep_back.
  RelaxedValue<uint8_t> listed = false;          // its sleeper bit was set, and is cleared by a waker or show_awake()
  RelaxedValue<uint8_t> owes_look = false;       // woken for a task of the policy, and has not looked for it yet

  // Ready tasks that a submitting thread holds back briefly, to push them together: while no worker sleeps, and for a
  // few submissions at most. Used by the holder of the token (or of its lease, inside a submission). A thread that
  // takes the token pushes them first (sched/kept_tasks.hpp).
  static constexpr uint32_t kKept = 8, kKeptFor = 64;
  Task *kept[kKept];
  uint32_t nkept = 0, kept_age = 0;

  // -- the token --
  bool try_take() noexcept;                      // free → held
  void give_up() noexcept;                       // held → free; wakes the thread on duty if there is work
  // free → leased to the thread state. Refused while the duty is vacant, because no thread would watch the lease,
  // unless for_now: lease_to_held() follows at once
  bool try_lease(ThreadState &, bool for_now = false) noexcept;
  bool lease_to_held(ThreadState &) noexcept;
  void held_to_lease(ThreadState &) noexcept;           // or free: see try_lease()
  // acquire pairs with the release in Executor::lend(): the worker's own fields move with the token
  bool leased_to(const ThreadState &thread) const noexcept {
    return token.load(std::memory_order_acquire) == token::lease(thread.id);
  }
  void ask_for_lease(ThreadState &) noexcept;           // from the thread on duty
  void wake_duty() noexcept;
  bool vacant() const noexcept { return vacant_.load(std::memory_order_relaxed); }  // [any] a hint

  void show_awake() noexcept;                    // no push and no post wakes it any more
  // The first half of show_awake(): clears its sleeper bit. If a waker was faster, owes_look is set. The parker stays.
  void unlist() noexcept;
  // [any] Adds the task to the mailbox and wakes the worker. offered: this worker gets it first, then the policy; else
  // it is bound to this worker.
  void post(Task *, bool offered = false) noexcept;
  void rouse() noexcept;                         // [any] its mailbox or a gang has news: wakes a sleeping thread

 protected:
  ~Worker() = default;

  std::atomic<Parker *> duty_{nullptr};  // release pairs with wake_duty(); relaxed: compared alone
  // written under the executor's crew mutex: the thread on duty waits in a body, and no spare was available
  std::atomic<bool> vacant_{false};
};

// The number of a worker; CONSORT_NONE for nullptr.
inline uint32_t number_of(const Worker *w) noexcept { return w ? w->id : CONSORT_NONE; }

}  // namespace consort
