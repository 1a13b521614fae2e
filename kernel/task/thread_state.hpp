// thread_state.hpp — the state of a thread in a runtime: its task records, its counts, its right to submit without
// locks.
//
// Each thread that calls into a runtime, and each worker's thread, has one. Only that thread uses it, except fields
// marked otherwise. A thread that ends leaves its state to the next new thread. Thread states live as long as the
// runtime (the thread may live longer and detects that by the runtime's number).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/idle_spin.hpp"
#include "base/park.hpp"
#include "base/stack_headroom.hpp"
#include "task/sequence_detector.hpp"
#include "task/start_report.hpp"
#include "task/task.hpp"

namespace consort {

struct Core;
class PutOffEnds;
class SubmissionRecorder;
class TraceRing;
struct Worker;

// The tasks counted by one thread: the count of its current group, in one word with the group's number, so that a
// reader never takes one group's count for another's. Only the thread stores; readers sum over all thread states. When
// the thread turns to another group, the count is added to the old group and to `before`.
struct Tally {
  static constexpr uint32_t kGroupShift = 48;
  static constexpr uint64_t kCount = (uint64_t{1} << kGroupShift) - 1;

  std::atomic<uint64_t> turn{0};    // group number << 48 | count; one writer, release; Core::finished() acquires
  std::atomic<uint64_t> before{0};  // sum of all earlier turns; release pairs with the acquire where they are summed

  bool counts_for(uint32_t group) const noexcept {
    return turn.load(std::memory_order_relaxed) >> kGroupShift == group;
  }
  void add() noexcept {  // release: pairs with the acquire where counts are summed (group.cpp)
    turn.store(turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[gnu::always_inline]] bool add_for(uint32_t group) noexcept {  // add(), if it counts for that group; else false
    const uint64_t now = turn.load(std::memory_order_relaxed);
    if (now >> kGroupShift != group) [[unlikely]] return false;
    turn.store(now + 1, std::memory_order_release);
    return true;
  }
};

// Tasks run in a row, each released by the one before.
struct Chain {
  uint32_t run = 0;       // number of them
  uint32_t turn_end = 0;  // number at which another task gets its turn; see give_way()
  uint64_t since = 0;     // time when that was first reached
};

// Whether this thread is inside a task's function called by a driver. No other thread can replace it while it waits.
extern thread_local constinit bool on_a_device;

struct ThreadState;

// The wait of a submitting thread while its window is full. Implemented by the room exec: the thread runs tasks
// meanwhile.
class WindowWait {
 public:
  // Returns when a quarter of the window is free again, or when something is free and there is nothing else to run.
  // False: no pending task can end unless the application acts, possibly on this very thread, so the window is
  // exceeded.
  virtual bool wait(ThreadState &) noexcept = 0;
  virtual ~WindowWait() = default;
};

struct ThreadState {
  ThreadState(Core &runtime, uint16_t number, uint32_t batch, PutOffEnds *ends)
      : rt(runtime), id(number), put_off_ends(ends), return_batch(batch) {}

  // -- the line that each submission touches --
  std::atomic<uint32_t> busy{0};      // inside a submission; pairs with TaskGraph::bias, Worker::token: see SubmissionRight
  Core &rt;
  const uint16_t id;
  Task *free = nullptr;               // free records, linked by Task::extra
  int32_t nfree = 0;                  // lower bound of their number: a batch may be counted a moment after it is taken
  int32_t floor = 0;                  // free records not available for tasks: lent ones exceeded the window
  uint32_t carved = 0;                // records that this thread state has carved
  // the worker that this thread drives now; a body that waited may have lost it
  Worker *seat = nullptr;
  Worker *lease = nullptr;            // the worker whose token it may take (exec/executor.hpp)
  Worker *crew_of = nullptr;          // the worker to whose crew this thread belongs
  Task *task = nullptr;               // the task whose body runs on this thread
  bool in_callback = false, ending = false;
  bool asking = false;                // inside a codelet's can_execute(); in_callback is then true, too
  uint8_t watched = 0;                // submissions use the slow path because they are observed (kWatched*)
  uint32_t lease_tries = 0;
  uint32_t kept_waits = 0;            // waits for a task that this thread held back: see run_if_kept()
  uint32_t polls = 0;                 // virtual time: consecutive waits of timeout 0 that found nothing; see exec/pump.cpp
  bool gave_way = false;              // the window was exceeded at the last check: nothing could end without this thread
  uint32_t depth = 0;                 // nesting of waits inside tasks on this thread's stack
  StackHeadroom stack;
  Chain chain;
  PutOffEnds *const put_off_ends;     // of the runtime
  // tasks ended by the application inside a callback, linked by pub.sched[0] (callback.hpp)
  Task *ended = nullptr, *last_ended = nullptr;
  StartReport told;                          // of the innermost body whose start was reported
  void *frame = nullptr;              // stack address of the body's caller: detects a longjmp over it
  // Arguments of a push of one task, filled except for the task and `from`: a push does not nest.
  uint64_t candidates = 0;
  consort_task *ready = nullptr;
  consort_wake wake{1, 0, &candidates};
  consort_push push{0, CONSORT_NONE, CONSORT_PUSH_NEW, &ready, 1, 0, &wake};
  // The task that a scheduler has popped last on this thread, and its rank: time of the critical path behind it
  // (consort_sched_host.ranked).
  TaskName ranked = 0;
  float rank = 0;                     // ns, at most kLongest
  static constexpr float kLongest = 1e15f;
  float rank_of(TaskName t) const noexcept { return t == ranked ? rank : 0; }
  alignas(64) Tally in;
  alignas(64) Tally out;

  static constexpr uint8_t kWatchedByRecorder = 1, kWatchedForRepeats = 2;
  SubmissionRecorder *recorder = nullptr;  // owned by the runtime's recordings
  std::unique_ptr<SequenceDetector> watch;
  TraceRing *trace_ring = nullptr;         // owned by the runtime's tracer; nullptr: this thread has recorded nothing yet
  // Contexts that this thread has entered, the innermost last, each with the body or callback in which it did (0:
  // outside).
  struct Entered { TaskName task; bool in_callback; uint64_t context; };
  std::vector<Entered> entered;

  // -- records on their way back to their owner: one batch at a time --
  const uint32_t return_batch;
  Task *back_first = nullptr, *back_last = nullptr;
  uint32_t back_count = 0;
  uint16_t back_thread = 0;

  alignas(64) std::atomic<Task *> returned{nullptr};  // [any] batches returned by other threads; see drain_returned()
  std::atomic<int32_t> returned_count{0};             // [any] records in those batches, not yet in nfree; see there
  std::atomic<bool> wants_records{false};  // [any] the owner sleeps; see the fences of WaitCondition::announce()
  // Data that this thread has acquired and not released. Another thread may release them: [any] under held_lock.
  struct Held { TaskName name; Datum *datum; uint32_t mode; bool later; };  // later: the thread did not wait for it
  SpinLock held_lock;
  std::vector<Held> held;
  uint32_t expected = 0;                              // capacity is reserved for as many more
  std::atomic<uint32_t> nholds{0};  // relaxed: a count; the hold's task orders the datum
  // [any] runs a body without a worker's token, after a wait. release pairs with exec/quiescence.cpp
  std::atomic<bool> away{false};
  std::atomic<bool> orphan{false};  // [any] its thread has ended; release pairs with acquire in adopt_or_add()
  Parker parker;
  IdleSpin spin;                                      // before it sleeps there

  Task *take_record() noexcept {                              // for a submission; nullptr: out of memory
    if (nfree > floor) [[likely]] return pop_free();
    return refill(!task && !in_callback && !on_a_device && !nholds.load(std::memory_order_relaxed)) ? pop_free() : nullptr;
  }
  Task *take_lent() noexcept {                                // a record to lend: ignores the window
    return free || drain_returned() || carve(2) ? pop_free() : nullptr;
  }
  void give_record(Task *t) noexcept {                        // of any thread state
    if (t->thread != id) [[unlikely]] return give_foreign(t);
    t->extra = reinterpret_cast<Extra *>(free);
    free = t;
    ++nfree;
  }
  void flush_records() noexcept;
  bool drain_returned() noexcept;                             // takes the returned batches; false: none

 private:
  Task *pop_free() noexcept {
    Task *t = free;
    free = reinterpret_cast<Task *>(t->extra);
    --nfree;
    // The next one may come from another core: prefetches its lines for writing.
    const auto next = reinterpret_cast<uintptr_t>(free);  // 0 at the end: harmless
    __builtin_prefetch(reinterpret_cast<const void *>(next), 1);
    __builtin_prefetch(reinterpret_cast<const void *>(next + 64), 1);
    __builtin_prefetch(reinterpret_cast<const void *>(next + 128), 1);
    return t;
  }
  void give_foreign(Task *) noexcept;                         // batches records of one owner
  bool refill(bool may_wait) noexcept;                        // waits if the window is full and may_wait
  bool carve(uint32_t n) noexcept;
  friend struct Core;
};

}  // namespace consort
