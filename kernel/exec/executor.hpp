// The room exec: where tasks run and threads wait. Executors, device queues, teams at work (gang), waits that run tasks,
// the single-threaded pump. It includes graph and below; replay, observe, memory and api use it. Start with executor.hpp,
// then prepare.hpp, queue.hpp and wait.hpp.
//
// executor.hpp — a worker at work: its threads, and the step that runs tasks.
//
// A task that waits inside its body gives the worker's token up. When its wait is over it takes the token back if that is
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

#include "base/result.hpp"
#include "sched/kept_tasks.hpp"
#include "task/frame.hpp"
#include "task/worker.hpp"

namespace consort {

struct Gang;
struct Execution;
class Queue;

struct Executor final : Worker {
  Executor(Execution &, uint32_t id, const Unit &);
  ~Executor();

  Execution &rt;
  std::unique_ptr<Queue> queue;                  // with has_queue

  // [any] A wait that helps here sleeps and keeps the token. Release, after show_asleep() has shown that nothing is left
  // here, pairs with acquire in rests() (quiescence.cpp).
  std::atomic<bool> resting{false};
  // [any] the thread state that holds the token in pump_one(); it alone finds itself
  std::atomic<ThreadState *> pumped_by{nullptr};  // so relaxed
  // [any] it has joined a gang, and lends its core; cleared, release, by the one who leads
  std::atomic<bool> lent{false};
  std::atomic<uint64_t> extra_ran{0};            // [any] by bodies that lost the seat; relaxed: shown
  std::atomic<uint64_t> busy_ns{0};              // [any] also by bodies that lost the seat; relaxed: shown
  void count_busy(uint64_t from, uint64_t to) noexcept {
    if (to > from) busy_ns.fetch_add(to - from, std::memory_order_relaxed);
  }
  Gang *part = nullptr;                          // it has joined, and is to call the body, or to end the task
  uint32_t part_rank = 0;
  const Gang *joined = nullptr;                  // last; under Gangs' mutex, for words alone
  // Between joining and being released there is no work for it but the gang's.
  bool engaged() const noexcept { return part || lent.load(std::memory_order_acquire); }

  static constexpr uint32_t kAhead = 8;          // tasks whose data are brought while others run

  // held → free at rest: a push wakes the thread on duty. False: there was something to do, and it was done; the seat
  // may be lost.
  bool lie_down(ThreadState &, Frame &) noexcept;

  // -- steps; the caller holds the token and sits here (ThreadState::seat) --
  bool step(ThreadState &thread, Frame &f) noexcept { return steps(thread, f, 1) > 0; }  // false: nothing to do now
  uint32_t steps(ThreadState &, Frame &, uint32_t most) noexcept;  // fewer: nothing to do now, or the seat is lost
  void run(ThreadState &, Frame &, Task *, uint32_t impl) noexcept;  // and successors in place; the seat may be lost
  void show_asleep(Parker &) noexcept;           // from now on a push wakes; then step once more
  Task *next_bound() noexcept;                   // from the mailbox, oldest first

  // -- threads --
  Result<void> start_thread();
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
  // the token holder's: when it saw that it is asked (0: not yet), `ran` then
  uint64_t asked_since_ = 0, asked_at_ = 0;
};

// The executor of a worker: every worker is one.
inline Executor &executor_of(Worker &w) noexcept { return static_cast<Executor &>(w); }
inline Executor *executor_of(Worker *w) noexcept { return static_cast<Executor *>(w); }

// Between two looks for work of an idle thread: every look costs those who work a cache line, so the gaps grow.
// Answers how many rounds of spinning it was worth.
uint32_t look_again_later(uint32_t idle) noexcept;

}  // namespace consort
