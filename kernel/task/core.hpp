// core.hpp — the state shared by the rooms from task upwards: task settings, records, threads, groups, codelets and
// data.
//
// Derives from Platform; the struct of each room above derives from this one. Runtime (api/) is the last of the chain.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fence.hpp"
#include "base/relaxed_value.hpp"
#include "base/tick_clock.hpp"
#include "machine/platform.hpp"
#include "task/callback.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/failure.hpp"
#include "task/group.hpp"
#include "task/kinds.hpp"
#include "task/task_arena.hpp"
#include "task/thread_states.hpp"
#include "task/waiters.hpp"

namespace consort {

class DataKeepers;
class IdleStepper;
class IssueQueue;
class RunObserver;
struct Worker;

struct Core : Platform {
  static constexpr uint32_t kMaxWorkers = 1024;
  static constexpr uint32_t kTaskSlots = 1u << word::kRecordBits;

  Core(uint64_t n, std::shared_ptr<Config> c)
      : Platform(std::move(c)), number(n), asymmetric(fence::asymmetric()), groups(*this),
        standard_group(groups.usable() ? &groups.standard() : nullptr), data(*this) {}

  ThreadState *this_thread() noexcept {  // of the calling thread; nullptr: not available, error text set
    return current_thread.number == number ? current_thread.thread : find_thread();
  }
  ThreadState *this_thread_if_any() const noexcept;
  template <class F> void for_each_thread(F f) const { threads.each(f); }
  uint64_t submitted() const noexcept;     // sums, as in task/group.hpp: read finished() first
  uint64_t finished() const noexcept;
  Task *task_at(TaskName name) const noexcept { return tasks.at(static_cast<uint32_t>(name)); }
  TaskName name_before(TaskName record) const noexcept {  // the name of a recorded task in its last run
    const uint64_t now = task_at(record)->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff};
    return (now - (uint64_t{1} << 32)) | record;
  }
  bool is_live(TaskName name) const noexcept { return consort::is_live(*task_at(name), name); }

  // -- constant after the start --
  alignas(64) const uint64_t number;       // never reused in a process
  const bool asymmetric;
  bool detect_repeats = false;
  RelaxedValue<bool> profile = false;      // times are taken; changes under Scheduling::paths_mutex
  RelaxedValue<uint32_t> window = 0;       // of each submitting thread; grows with the first policy that looks ahead
  uint32_t return_batch = 1, bypass = 0, spin_rounds = 0, sleeper_words = 1;
  uint64_t spin_ns = 0;                    // the longest time that an idle thread spins before it sleeps
  void (*trace_fn)(void *, const consort_trace_event *) = nullptr;  // called at starts and ends of tasks
  void *trace_user = nullptr;
  uint32_t only_worker = CONSORT_NONE;     // setting teams = "single": team tasks run on teams or on this worker
  uint64_t inline_classes = 0;             // classes whose units run host code where they are called
  std::atomic<bool> observed{false};       // starts and ends are reported to the policy, the models or a tracer; relaxed: a hint

  // -- hot shared words --
  // Set once, by ~Runtime() (seq_cst), before each thread is woken: Parker::wake() releases it again. Acquire in the
  // loops of workers pairs with the store, so a worker that ends sees the runtime's earlier stores.
  std::atomic<bool> stopping{false};
  // Bit: the worker's thread sleeps. Set and cleared with acq_rel. The fences in Executor::show_asleep() (heavy) and in
  // each push (light) order it against ready tasks: see sched/policy.hpp.
  alignas(64) std::atomic<uint64_t> sleepers[kMaxWorkers / 64] = {};
  alignas(64) Waiters waiters;
  DataKeepers *data_keepers = nullptr; // set at the start
  RunObserver *run_observer = nullptr;     // a tracer; nullptr: none. Set at the start
  RelaxedValue<uint32_t> traced = 0;       // what it records (task/trace_categories.hpp); changes under Scheduling::paths_mutex
  bool traces(uint32_t category) const noexcept { return traced & category; }
  TickClock ticks;                         // that stamps its records; set at the start
  std::unique_ptr<PutOffEnds> put_off_ends;  // of callbacks; made by the room graph at the start
  std::unique_ptr<WindowWait> window_wait;  // of submissions; made by the room exec at the start
  IdleStepper *idle_stepper = nullptr;     // in virtual time; set at the start

  // -- in the order of construction --
  Kinds kinds;
  TaskArena tasks;
  ThreadStates threads;
  Groups groups;
  Group *const standard_group;
  Codelets codelets;
  FailureLog failures;
  DataTable data;
  std::unique_ptr<Host> codelet_host;      // the runtime as seen by bodies: clock and log
  std::vector<IssueQueue *> queues;        // by number; owned by the room exec
  std::vector<Worker *> workers;           // by number; owned by the room exec

 private:
  ThreadState *find_thread() noexcept;
};

}  // namespace consort
