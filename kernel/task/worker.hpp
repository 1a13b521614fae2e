// worker.hpp — a unit's turn to run tasks, as every room knows it: the token, the mailbox and the wakes.
//
// A worker is a token, not a thread: whoever holds it may step(). Each worker has a thread on duty that holds
// the token when nobody else does. A thread that submits leases the token of a free worker: it pushes as that
// worker and runs its tasks when it waits, so that submitter and worker share one core; when it falls silent,
// the thread on duty takes the token within a watch tick. A submitter that finds none free (it was off its core for
// longer than that) asks for one back, so that there are not more threads at work than workers.
//
// The threads of a worker and the step that runs tasks are its Executor's (exec/executor.hpp). Fields are the token
// holder's, but for those that say otherwise.
#pragma once
#include <atomic>
#include <cstdint>

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
  const bool has_queue;                          // its unit runs by itself: tasks are issued on a queue

  alignas(64) std::atomic<uint32_t> token{token::kFree};  // [any] release of who gives it up, acquire of who takes it
  std::atomic<uint32_t> asked{0};                // [any] by a submitter: the lease that it wants; see Executor::lend()
  std::atomic<bool> watched{false};              // [any] the thread on duty looks every tick; see Executor::watch()
  // [any] The parker that a wake for this worker reaches. Release in Executor::show_asleep() pairs with the acq_rel exchange
  // of the thread that wakes it, which sees an initialised parker; the fences are those of show_asleep() and rouse().
  std::atomic<Parker *> sleeping{nullptr};
  // [any] tasks bound to this worker, linked by pub.sched[0], newest first
  std::atomic<Task *> mailbox{nullptr};  // release in post(), acquire in Executor::next_bound()
  Task *bound = nullptr;                         // from the mailbox, oldest first
  std::atomic<uint32_t> staging{0};              // [any] tasks popped here whose data are on their way; relaxed: a count
  // Gangs (exec/gang.hpp) that wait for this worker, and the one that it has joined. Counted up with its place in the list,
  // down where it is released, both release: whoever steps here acquires, or asks the list under its mutex.
  std::atomic<uint32_t> called{0};
  alignas(64) std::atomic<uint64_t> ran{0};      // single writer: the token holder

  // Ready tasks that a submitting thread keeps back for a moment, to hand them over together: while nobody sleeps,
  // and for a few submissions at most. Whoever has the token (or its lease, inside a submission) may touch them;
  // whoever takes the token pushes them first (sched/kept_tasks.hpp).
  static constexpr uint32_t kKept = 8, kKeptFor = 64;
  Task *kept[kKept];
  uint32_t nkept = 0, kept_age = 0;

  // -- the token --
  bool try_take() noexcept;                      // free → held
  void give_up() noexcept;                       // held → free; the thread on duty is told if there is work
  // free → leased to the thread state; refused while the duty is vacant, for nobody would watch it, unless it is for_now:
  // lease_to_held() follows at once
  bool try_lease(ThreadState &, bool for_now = false) noexcept;
  bool lease_to_held(ThreadState &) noexcept;
  void held_to_lease(ThreadState &) noexcept;           // or free: see try_lease()
  // acquire pairs with the release in Executor::lend(): the worker's own fields move with the token
  bool leased_to(const ThreadState &thread) const noexcept {
    return token.load(std::memory_order_acquire) == token::lease(thread.id);
  }
  void ask_for_lease(ThreadState &) noexcept;           // of the thread on duty
  void wake_duty() noexcept;
  bool vacant() const noexcept { return vacant_.load(std::memory_order_relaxed); }  // [any] a hint

  void show_awake() noexcept;                    // it was shown asleep: no push wakes it any more
  // [any] Into the mailbox, and wakes. offered: it comes by here first, then goes to the policy; else it is this
  // worker's.
  void post(Task *, bool offered = false) noexcept;
  void rouse() noexcept;                         // [any] there is news in its mailbox, or of a gang: whoever sleeps there looks

 protected:
  ~Worker() = default;

  std::atomic<Parker *> duty_{nullptr};  // release pairs with wake_duty(); relaxed: compared alone
  // written under the mutex of the executor's crew: who is on duty waits in a body, for no spare was to be had
  std::atomic<bool> vacant_{false};
};

// The number of a worker; CONSORT_NONE of none.
inline uint32_t number_of(const Worker *w) noexcept { return w ? w->id : CONSORT_NONE; }

}  // namespace consort
