// thread_state.hpp — a thread's part in a runtime: its task records, its counts, its right to submit unlocked.
//
// Each thread that calls into a runtime, and each worker's thread, has one; only that thread touches it, but
// for the fields that say otherwise. A thread that ends leaves its thread state to the next one that comes. Thread states live
// as long as the runtime (their thread may live longer: it finds out by the runtime's number).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/park.hpp"
#include "base/stack_headroom.hpp"
#include "task/sequence_detector.hpp"
#include "task/start_report.hpp"
#include "task/task.hpp"

namespace consort {

struct Core;
class PutOffEnds;
class SubmissionRecorder;
struct Worker;

// Tasks counted by one thread: how many of the group that it counts just now, in one word with that group's
// number so that a reader never takes one group's count for another's. The thread alone stores; others sum over
// all thread states. When another group's turn comes the count is moved to the old group and to `before`.
struct Tally {
  static constexpr uint32_t kGroupShift = 48;
  static constexpr uint64_t kCount = (uint64_t{1} << kGroupShift) - 1;

  std::atomic<uint64_t> turn{0};    // group number << 48 | count; one writer, release; Core::finished() acquires
  std::atomic<uint64_t> before{0};  // all counts of earlier turns; release pairs with the acquire where they are summed

  bool counts_for(uint32_t group) const noexcept {
    return turn.load(std::memory_order_relaxed) >> kGroupShift == group;
  }
  void add() noexcept {  // release: pairs with the acquire of whoever sums (group.cpp)
    turn.store(turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

// Tasks run in a row, each released by the one before.
struct Chain {
  uint32_t run = 0;       // so many
  uint32_t turn_end = 0;  // at so many others have their turn; see give_way()
  uint64_t since = 0;     // when it was that for the first time
};

// Is this thread inside a task's function that a driver called? Nobody can take its place while it waits.
extern thread_local constinit bool on_a_device;

struct ThreadState;

// How a submitting thread waits while its window is full. The room exec implements it: the thread runs tasks meanwhile.
class WindowWait {
 public:
  // Returns when a quarter of the window is free again, or something is and there is nothing else to run. False: nothing
  // that is pending can end unless the application does something, and that may be this very thread's to do: the window
  // gives way.
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
  Task *free = nullptr;               // records at hand, linked by Task::extra
  int32_t nfree = 0;                  // how many at least: a batch may be counted a moment after it is taken
  int32_t floor = 0;                  // as many free ones are not for tasks: lent records came on top of the window
  uint32_t carved = 0;                // records that are this thread state's
  // the worker that this thread drives just now; a body that waited may have lost it
  Worker *seat = nullptr;
  Worker *lease = nullptr;            // the worker whose turn it may take (exec/executor.hpp)
  Worker *crew_of = nullptr;          // the worker whose thread this is
  Task *task = nullptr;               // the task whose body runs on this thread
  bool in_callback = false, ending = false;
  bool asking = false;                // inside a codelet's can_execute(); in_callback then too
  uint8_t watched = 0;                // submissions go the long way: somebody looks at them (kWatched*)
  uint32_t lease_tries = 0;
  uint32_t polls = 0;                 // in virtual time: waits of timeout 0 in a row that found nothing; see exec/pump.cpp
  bool gave_way = false;              // the window, at the last look: nothing could end without this thread
  uint32_t depth = 0;                 // of waits inside tasks on this thread's stack
  StackHeadroom stack;
  Chain chain;
  PutOffEnds *const put_off_ends;     // the runtime's
  // ended by the application inside a callback, linked by pub.sched[0] (callback.hpp)
  Task *ended = nullptr, *last_ended = nullptr;
  StartReport told;                          // of the innermost body whose start was reported
  void *frame = nullptr;              // stack address of the body's caller: a longjmp over it is found out by it
  // What a push of one task is given, filled but for the task and `from`: a push does not nest.
  uint64_t candidates = 0;
  consort_task *ready = nullptr;
  consort_wake wake{1, 0, &candidates};
  consort_push push{0, CONSORT_NONE, CONSORT_PUSH_NEW, &ready, 1, 0, &wake};
  // Of the task that a scheduler answered last on this thread: what hangs on it (consort_sched_host.ranked).
  TaskName ranked = 0;
  float rank = 0;                     // ns, at most kLongest
  static constexpr float kLongest = 1e15f;
  float rank_of(TaskName t) const noexcept { return t == ranked ? rank : 0; }
  alignas(64) Tally in;
  alignas(64) Tally out;

  static constexpr uint8_t kWatchedByRecorder = 1, kWatchedForRepeats = 2;
  SubmissionRecorder *recorder = nullptr;  // owned by the runtime's recordings
  std::unique_ptr<SequenceDetector> watch;
  // Contexts that this thread has entered, the innermost last: in which body or callback (0: outside).
  struct Entered { TaskName task; bool in_callback; uint64_t context; };
  std::vector<Entered> entered;

  // -- records on their way back to their owner: one batch at a time --
  const uint32_t return_batch;
  Task *back_first = nullptr, *back_last = nullptr;
  uint32_t back_count = 0;
  uint16_t back_thread = 0;

  alignas(64) std::atomic<Task *> returned{nullptr};  // [any] batches that others gave back; see drain_returned()
  std::atomic<int32_t> returned_count{0};             // [any] records in those batches, not yet in nfree; see there
  std::atomic<bool> wants_records{false};  // [any] the owner sleeps; see the fences of WaitCondition::announce()
  // Data that this thread has acquired and not released. Another thread may release: [any] under held_lock.
  struct Held { TaskName name; Datum *datum; uint32_t mode; bool later; };  // later: the thread did not wait for it
  SpinLock held_lock;
  std::vector<Held> held;
  uint32_t expected = 0;                              // there is room for as many more
  std::atomic<uint32_t> nholds{0};  // relaxed: a count; the hold's task orders the datum
  // [any] runs a body and has no worker's turn: it waited. release pairs with exec/quiescence.cpp
  std::atomic<bool> away{false};
  std::atomic<bool> orphan{false};                    // [any] its thread has ended; release pairs with acquire in adopt_or_add()
  Parker parker;

  Task *take_record() noexcept {                              // for a submission; nullptr: no memory
    if (nfree > floor) [[likely]] return pop_free();
    return refill(!task && !in_callback && !on_a_device && !nholds.load(std::memory_order_relaxed)) ? pop_free() : nullptr;
  }
  Task *take_lent() noexcept {                                // a record to lend: ignores the window
    return free || drain_returned() || carve(2) ? pop_free() : nullptr;
  }
  void give_record(Task *t) noexcept {                        // any thread state's
    if (t->thread != id) [[unlikely]] return give_foreign(t);
    t->extra = reinterpret_cast<Extra *>(free);
    free = t;
    ++nfree;
  }
  void flush_records() noexcept;
  bool drain_returned() noexcept;                             // takes what others gave back; false: nothing

 private:
  Task *pop_free() noexcept {
    Task *t = free;
    free = reinterpret_cast<Task *>(t->extra);
    --nfree;
    // The next one may have come back from another core: ask for its lines now, to write them.
    const auto next = reinterpret_cast<uintptr_t>(free);  // 0 at the end: harmless
    __builtin_prefetch(reinterpret_cast<const void *>(next), 1);
    __builtin_prefetch(reinterpret_cast<const void *>(next + 64), 1);
    __builtin_prefetch(reinterpret_cast<const void *>(next + 128), 1);
    return t;
  }
  void give_foreign(Task *) noexcept;                         // batches those of one owner
  bool refill(bool may_wait) noexcept;                        // waits where the window is full and it may
  bool carve(uint32_t n) noexcept;
  friend struct Core;
};

}  // namespace consort
