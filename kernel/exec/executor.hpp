// The room exec: where tasks run and threads wait. Executors, device queues, teams at work (gang), waits that run tasks,
// the single-threaded pump. It includes graph and below; replay, observe, memory and api use it. Start with executor.hpp,
// then prepare.hpp, queue.hpp and wait.hpp.
//
// executor.hpp — the executor of a worker: its threads, and the step that runs tasks.
//
// A task that waits inside its body gives up the worker's token. After the wait it takes the token back if that is
// free, and else continues without. An additional running thread is better than a wait for another task's body. So the
// caller of a body checks afterwards whether it still holds the token (ThreadState::seat).
//
// step() never blocks. Fields are accessed by the token holder, unless their comments say otherwise.
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
  std::unique_ptr<Queue> queue;                  // set if the unit has a queue

  // [any] A helping wait sleeps here and keeps the token. The release, after show_asleep() and a last step that found
  // nothing, pairs with the acquire in rests() (quiescence.cpp).
  std::atomic<bool> resting{false};
  // [any] full at the last show_asleep(), so its sleeper bit is not set. Before the release of `sleeping`, which rests()
  // acquires.
  std::atomic<bool> full_asleep{false};
  // [any] the thread state that holds the token in pump_one(); read to recognize the thread itself
  std::atomic<ThreadState *> pumped_by{nullptr};  // so relaxed
  // [any] joined a gang and lends its core; cleared, with release, by the leader
  std::atomic<bool> lent{false};
  std::atomic<uint64_t> extra_ran{0};            // [any] tasks of bodies that lost the seat; relaxed: statistics
  std::atomic<uint64_t> busy_ns{0};              // [any] also of bodies that lost the seat; relaxed: statistics
  void count_busy(uint64_t from, uint64_t to) noexcept {
    if (to > from) busy_ns.fetch_add(to - from, std::memory_order_relaxed);
  }
  Gang *part = nullptr;                          // joined; the member will call the body, or end the task
  uint32_t part_rank = 0;
  const Gang *joined = nullptr;                  // the last one joined; under Gangs' mutex, for descriptions
  // Between joining and release the worker runs nothing but the gang's task.
  bool engaged() const noexcept { return part || lent.load(std::memory_order_acquire); }

  static constexpr uint32_t kAhead = 8;          // tasks whose data are fetched while others run

  // held → free at rest: from then on a push wakes the thread on duty. Returns false if there was work, which was done;
  // the seat may be lost.
  bool go_idle(ThreadState &, Frame &) noexcept;

  // -- steps; the caller holds the token and the seat (ThreadState::seat) --
  bool step(ThreadState &thread, Frame &f) noexcept { return steps(thread, f, 1) > 0; }  // false: nothing to do now
  uint32_t steps(ThreadState &, Frame &, uint32_t most) noexcept;  // fewer: nothing to do now, or the seat is lost
  void run(ThreadState &, Frame &, Task *, uint32_t impl) noexcept;  // with successors run in place; the seat may be lost
  void show_asleep(Parker &) noexcept;           // from now on a push wakes; call step() once more
  Task *next_bound() noexcept;                   // from the mailbox, oldest first

  // -- threads --
  Result<void> start_thread();
  bool relief(ThreadState &) noexcept;          // called by the token holder: a thread is available that would continue here
  bool pass_duty_to_spare(ThreadState &) noexcept;  // before a task waits: frees the token; true: a thread is on duty
  bool fill_vacancy(ThreadState &) noexcept;    // [any] to be repeated after false; true: a thread is on duty now
  bool try_return(ThreadState &) noexcept;      // after the wait; false: the token is in use, continue without
  void join();
  void tell_threads_to_stop() noexcept;

 private:
  bool is_full() const noexcept;
  void begin_other_work() noexcept;
  void thread_main(ThreadState *&mine);
  bool has_spare(ThreadState &) noexcept;           // a spare rests, or a thread was started
  bool promote_spare() noexcept;                 // puts a spare on duty; precondition: crew_mutex_ is held
  void rest_as_spare(ThreadState &);
  void end_vacancy(const ThreadState &) noexcept;
  inline uint64_t run_chain(ThreadState &, Frame &, Task *, uint32_t impl) noexcept;
  void pump(ThreadState &, Frame &);
  void sleep(ThreadState &) noexcept;
  bool watch(ThreadState &);                            // true: the token is held now
  bool lend(ThreadState &) noexcept;                    // held → leased to the asking thread

  std::mutex crew_mutex_;                        // guards threads_, crew_, spares_; leaf
  std::vector<std::thread> threads_;
  std::vector<Parker *> crew_, spares_;          // parkers of all threads; parkers of threads off duty
  // used by the token holder: time when it saw the request (0: not yet), and `ran` at that time
  uint64_t asked_since_ = 0, asked_at_ = 0;
};

// Every worker is an executor.
inline Executor &executor_of(Worker &w) noexcept { return static_cast<Executor &>(w); }
inline Executor *executor_of(Worker *w) noexcept { return static_cast<Executor *>(w); }

// Pauses between two polls of an idle thread. Each poll costs the working threads a cache line, so the pauses grow.
// Returns the number of spin rounds that it counts for.
uint32_t look_again_later(uint32_t idle) noexcept;

}  // namespace consort
