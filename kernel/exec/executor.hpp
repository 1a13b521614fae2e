// The room exec: where tasks run and threads wait. Workers, device queues, teams at work (gang), waits that run tasks,
// the single-threaded pump. It includes graph and below; replay, observe, memory and api use it. Start with worker.hpp,
// then prepare.hpp, queue.hpp and wait.hpp.
//
// worker.hpp — a unit's turn to run tasks, and the step that runs them.
//
// A worker is a token, not a thread: whoever holds it may step(). Each worker has a thread on duty that holds
// the token when nobody else does. A thread that submits leases the token of a free worker: it pushes as that
// worker and runs its tasks when it waits, so that submitter and worker share one core; when it falls silent,
// the thread on duty takes the token within a watch tick. A submitter that finds none free (it was off its core for
// longer than that) asks for one back, so that there are not more threads at work than workers.
//
// A task that waits inside its body gives the token up. When its wait is over it takes the token back if that is
// free, and else goes on without: an extra thread for a while is better than one that waits for a stranger. So
// whoever ran a body looks afterwards whether it still sits here (ThreadState::seat).
//
// step() never blocks. Fields are the token holder's, but for those that say otherwise.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/topology.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct Gang;
struct Runtime;
class Queue;

namespace token {
inline constexpr uint32_t kFree = 0, kHeld = 1;
constexpr uint32_t lease(uint16_t thread) { return (uint32_t{thread} + 1) << 1; }
constexpr bool is_lease(uint32_t t) { return t > kHeld; }
constexpr uint16_t thread_of(uint32_t t) { return static_cast<uint16_t>((t >> 1) - 1); }
}  // namespace token

// What a body is called with, apart from the task. One per nesting of pumps, on the stack.
struct Frame {
  explicit Frame(const struct Worker &);
  ~Frame();
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  static constexpr uint32_t kInline = 12;
  consort_call call;
  consort_call_fn *fn = nullptr;
  const void **views;
  consort_arg *args;
  uint32_t view_room = kInline, arg_room = kInline;
  bool picked = false;                           // the implementation is the policy's choice
  const void *inline_views[kInline];
  consort_arg inline_args[kInline];
  bool make_room(uint32_t nviews, uint32_t nargs) noexcept;
};

struct Worker {
  Worker(Runtime &, uint32_t id, const Unit &);
  ~Worker();

  Runtime &rt;
  const uint32_t id;
  const Unit &unit;
  const uint32_t klass;
  const uint64_t reach;
  std::unique_ptr<Queue> queue;                  // of a unit that is not inline

  alignas(64) std::atomic<uint32_t> token{token::kFree};  // [any] release of who gives it up, acquire of who takes it
  std::atomic<uint32_t> asked{0};                // [any] by a submitter: the lease that it wants; see lend()
  std::atomic<bool> watched{false};              // [any] the thread on duty looks every tick; see watch()
  std::atomic<bool> resting{false};              // [any] whoever helps here sleeps, with the token; see quiescence.cpp
  std::atomic<Parker *> sleeping{nullptr};       // [any] whom a wake for this worker reaches; see show_asleep(), rouse()
  // [any] the thread state that holds the token in pump_one(); it alone finds itself
  std::atomic<ThreadState *> pumped_by{nullptr};  // so relaxed
  // [any] tasks bound to this worker, linked by pub.sched[0], newest first
  std::atomic<Task *> mailbox{nullptr};  // release in post(), acquire in next_bound()
  std::atomic<uint32_t> staging{0};              // [any] tasks popped here whose data are on their way; relaxed: a count
  // Gangs (gang.hpp) that wait for this worker, and the one that it has joined. Counted up with its place in the list,
  // down where it is released, both release: whoever steps here acquires, or asks the list under its mutex.
  std::atomic<uint32_t> called{0};
  // [any] it has joined, and lends its core; cleared, release, by the one who leads
  std::atomic<bool> lent{false};
  alignas(64) std::atomic<uint64_t> ran{0};      // single writer: the token holder
  std::atomic<uint64_t> extra_ran{0};            // [any] by bodies that lost the seat; relaxed: shown
  std::atomic<uint64_t> busy_ns{0};              // [any] also by bodies that lost the seat; relaxed: shown
  void count_busy(uint64_t from, uint64_t to) noexcept {
    if (to > from) busy_ns.fetch_add(to - from, std::memory_order_relaxed);
  }
  Task *bound = nullptr;                         // from the mailbox, oldest first
  Gang *part = nullptr;                          // it has joined, and is to call the body, or to end the task
  uint32_t part_rank = 0;
  const Gang *joined = nullptr;                  // last; under Gangs' mutex, for words alone
  // Between joining and being released there is no work for it but the gang's.
  bool engaged() const noexcept { return part || lent.load(std::memory_order_acquire); }

  // Ready tasks that a submitting thread keeps back for a moment, to hand them over together: while nobody sleeps,
  // and for a few submissions at most. Whoever has the token (or its lease, inside a submission) may touch them;
  // whoever takes the token pushes them first.
  static constexpr uint32_t kKept = 8, kKeptFor = 64;
  static constexpr uint32_t kAhead = 8;          // tasks whose data are brought while others run
  Task *kept[kKept];
  uint32_t nkept = 0, kept_age = 0;
  void push_kept() noexcept;

  // -- the token --
  bool try_take() noexcept;                      // free → held
  void give_up() noexcept;                       // held → free; the thread on duty is told if there is work
  // free → leased to the thread state; refused while the duty is vacant, for nobody would watch it, unless it is for_now:
  // lease_to_held() follows at once
  bool try_lease(ThreadState &, bool for_now = false) noexcept;
  bool lease_to_held(ThreadState &) noexcept;
  void held_to_lease(ThreadState &) noexcept;           // or free: see try_lease()
  static void end_lease(
      ThreadState &) noexcept;  // whichever the thread state has: free, what was kept back is handed over
  // acquire pairs with the release in lend(): the worker's own fields move with the token
  bool leased_to(const ThreadState &thread) const noexcept {
    return token.load(std::memory_order_acquire) == token::lease(thread.id);
  }
  void ask_for_lease(ThreadState &) noexcept;           // of the thread on duty
  void wake_duty() noexcept;
  // held → free at rest: a push wakes the thread on duty. False: there was something to do, and it was done; the seat
  // may be lost.
  bool lie_down(ThreadState &, Frame &) noexcept;

  // -- steps; the caller holds the token and sits here (ThreadState::seat) --
  bool step(ThreadState &thread, Frame &f) noexcept { return steps(thread, f, 1) > 0; }  // false: nothing to do now
  uint32_t steps(ThreadState &, Frame &, uint32_t most) noexcept;  // fewer: nothing to do now, or the seat is lost
  void run(ThreadState &, Frame &, Task *, uint32_t impl) noexcept;  // and successors in place; the seat may be lost
  void show_asleep(Parker &) noexcept;           // from now on a push wakes; then step once more
  void show_awake() noexcept;
  // [any] Into the mailbox, and wakes. offered: it comes by here first, then goes to the policy; else it is this
  // worker's.
  void post(Task *, bool offered = false) noexcept;
  void rouse() noexcept;                         // [any] there is news in its mailbox, or of a gang: whoever sleeps there looks
  Task *next_bound() noexcept;                   // from the mailbox, oldest first

  // -- threads --
  Result<void> start_thread();
  bool vacant() const noexcept { return vacant_.load(std::memory_order_relaxed); }  // [any] a hint
  bool relief(ThreadState &) noexcept;          // by the token's holder: a thread is to be had that would go on here
  bool leave_to_spare(ThreadState &) noexcept;  // for a task that waits: the token is free; true: somebody is on duty
  bool fill_vacancy(ThreadState &) noexcept;    // [any] where that said false, in a while: true: somebody is by now
  bool try_return(ThreadState &) noexcept;      // its wait is over; false: the token is in use, go on without it
  void join();
  void tell_threads_to_stop() noexcept;

 private:
  void thread_main(ThreadState *&mine);
  bool spare_at_hand(ThreadState &) noexcept;           // one rests, or is started
  bool promote_spare() noexcept;                 // to be on duty; crew_mutex_ is held
  void rest_as_spare(ThreadState &);
  void end_vacancy(const ThreadState &) noexcept;
  inline uint64_t run_chain(ThreadState &, Frame &, Task *, uint32_t impl) noexcept;
  void pump(ThreadState &, Frame &);
  bool watch(ThreadState &);                            // true: the token is held now
  bool lend(ThreadState &) noexcept;                    // held → leased, to the one who asks

  std::mutex crew_mutex_;                        // guards threads_, spares_; leaf
  std::vector<std::thread> threads_;
  std::vector<Parker *> crew_, spares_;          // all threads' parkers; of those off duty
  std::atomic<Parker *> duty_{nullptr};  // release pairs with wake_duty(); relaxed: compared alone
  // written under crew_mutex_: who is on duty waits in a body, for no spare was to be had
  std::atomic<bool> vacant_{false};
  // the token holder's: when it saw that it is asked (0: not yet), `ran` then
  uint64_t asked_since_ = 0, asked_at_ = 0;
};

// Between two looks for work of an idle thread: every look costs those who work a cache line, so the gaps grow.
// Answers how many rounds of spinning it was worth.
uint32_t look_again_later(uint32_t idle) noexcept;

}  // namespace consort
