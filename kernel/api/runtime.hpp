// The room api: the functions of the C API, one file for each header of them, and the Runtime, which owns an object of
// every room. It includes every room; no other room may include it, and floors.txt lists those that still do. Start
// with entry.hpp (how a call enters), then tasks.cpp and lifecycle.cpp.
//
// runtime.hpp — everything that one runtime owns, in the order in which it must live and die.
//
// The application holds a Shell (base/process.hpp), never this. Rooms reach one another through it; it has no
// behaviour of its own but starting, stopping, and the few sums over all thread states.
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "exec/gang.hpp"
#include "exec/idle_pump.hpp"
#include "exec/lost_devices.hpp"
#include "exec/worker.hpp"
#include "graph/bundle.hpp"
#include "graph/completion_hold.hpp"
#include "graph/copy_codelet.hpp"
#include "graph/partition_plan.hpp"
#include "graph/repeat.hpp"
#include "graph/tags.hpp"
#include "machine/cores.hpp"
#include "machine/topology.hpp"
#include "memory/memory.hpp"
#include "memory/pinned.hpp"
#include "observe/reports.hpp"
#include "plugin/config.hpp"
#include "plugin/registry.hpp"
#include "replay/recording.hpp"
#include "sched/policy.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/failure.hpp"
#include "task/group.hpp"
#include "task/kinds.hpp"
#include "task/task.hpp"
#include "task/thread_state.hpp"
#include "task/waiters.hpp"

namespace consort {

class GraphObserver;
class Models;
class PutOffEnds;
class LinkBenchmark;
class IssueQueue;
class RunObserver;
class Tracer;

// The states of all threads that ever were; a number finds its thread state. Grows only.
class ThreadStates {
 public:
  static constexpr uint32_t kMost = 4096;
  ~ThreadStates();
  // pairs with the release in add()
  ThreadState *at(uint32_t i) const noexcept { return all_[i].load(std::memory_order_acquire); }
  uint32_t size() const noexcept { return n_.load(std::memory_order_acquire); }
  ThreadState *adopt_or_add(Runtime &, uint32_t batch) noexcept;  // nullptr: 4096 threads at once, or no memory

 private:
  friend struct Debug;
  std::mutex mutex_;
  std::atomic<ThreadState *> all_[kMost] = {};  // see at()
  std::atomic<uint32_t> n_{0};  // release in adopt_or_add() pairs with size(): states below are there
};

void adopt_thread(Runtime &, ThreadState &);          // the calling thread's from now on; may throw bad_alloc
void keep_thread(Runtime &, ThreadState &) noexcept;  // a worker's thread: its only one of this runtime

// The runtime that this thread used last, and its thread state there. Trivial, so that reading it is one load.
struct CurrentThread {
  uint64_t number;
  ThreadState *thread;
};
extern thread_local constinit CurrentThread current_thread;
ThreadState *worker_thread() noexcept;  // of a thread that a worker started; nullptr: the calling thread is another

struct Runtime {
  static constexpr uint32_t kMaxWorkers = 1024;
  static constexpr uint32_t kTaskSlots = 1u << word::kRecordBits;

  static Result<std::unique_ptr<Runtime>> start(const consort_settings *);
  ~Runtime();  // no task pending; joins all threads

  ThreadState *this_thread() noexcept {  // of the calling thread; nullptr: none to be had, told in the error slot
    return current_thread.number == number ? current_thread.thread : find_thread();
  }
  ThreadState *this_thread_if_any() const noexcept;
  template <class F> void for_each_thread(F f) const {
    const uint32_t n = threads.size();
    for (uint32_t i = 0; i < n; ++i) f(*threads.at(i));
  }
  uint64_t submitted() const noexcept;     // sums, as in task/group.hpp: finished first
  uint64_t finished() const noexcept;
  void wake(const consort_wake &) noexcept;
  void choose_paths() noexcept;            // the short way where nobody asks for more: after whatever changes who asks
  uint32_t successors(const Task &, const consort_task **out, uint32_t max) const noexcept;
  void log(int32_t level, const std::string &text) const noexcept;
  Task *task_at(TaskName name) const noexcept { return tasks.at(static_cast<uint32_t>(name)); }
  TaskName name_before(TaskName record) const noexcept {  // what a recorded task was called when it ran last
    const uint64_t now = task_at(record)->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff};
    return (now - (uint64_t{1} << 32)) | record;
  }
  bool is_live(TaskName name) const noexcept { return consort::is_live(*task_at(name), name); }

  LostDevices lost;

  // -- settled at the start --
  const uint64_t number;                   // never used twice in a process
  const bool asymmetric;
  uint32_t window = 0, return_batch = 1, bypass = 0, spin_rounds = 0, sleeper_words = 1;
  bool detect_repeats = false;
  bool manual = false, profile = false;
  bool virtual_time = false;               // then manual too: the clock goes from event to event
  uint64_t submit_ns = 0;                  // in virtual time: what a submission costs
  std::atomic<bool> observed{false};       // somebody is told of starts and ends; see choose_paths()
  void (*log_fn)(void *, int32_t, const char *) = nullptr;
  void *log_user = nullptr;
  int32_t log_level = 1;
  void (*trace_fn)(void *, const consort_trace_event *) = nullptr;
  void *trace_user = nullptr;

  // -- the hot shared words --
  // the thread state that submits without locks; kNobody: none yet; kEverybody: data are locked
  alignas(64) std::atomic<uint32_t> bias;  // release where it changes pairs with the acquire of a submission
  static constexpr uint32_t kNobody = 0xffffffff, kEverybody = 0xfffffffe, kRevoking = 0xfffffffd;
  std::atomic<bool> stopping{false};  // released also by the wakes behind it
  alignas(64) std::atomic<uint64_t> sleepers[kMaxWorkers / 64] = {};  // bit: the worker's thread sleeps; see sched/policy.hpp

  // -- those who wait --
  alignas(64) Waiters waiters;
  const std::unique_ptr<WindowWait> window_wait;  // of submissions; exec/wait.hpp makes it
  const std::unique_ptr<PutOffEnds> put_off_ends;  // of callbacks; graph/complete.hpp makes it
  std::atomic<bool> said_no_thread{false};  // relaxed: the first exchange says it; others read a hint
  std::atomic<ThreadState *> pumping{nullptr};    // manual pump: the one thread that steps just now; see PumpTurn
  std::atomic<uint64_t> charged{0};        // virtual time: submissions paid for; relaxed: one exchange pays

  // -- rooms, in the order of their lives --
  Kinds kinds;
  std::shared_ptr<Config> config;
  Clock clock;
  std::unique_ptr<Registry> registry;
  Reports reports;                         // plugins of the registry
  std::unique_ptr<Topology> topology;
  CoreLease cores;
  TaskArena tasks;
  ThreadStates threads;
  Groups groups;
  Group *const standard_group;
  Codelets codelets;
  FailureLog failures;
  Tags tags;
  CompletionHolds ends;
  Bundles bundles;
  Repeats repeats;
  DataTable data;
  Memory memory;
  PinnedMemory pinned;
  Recordings recordings;
  PartitionPlans plans;
  CopyCodelets copying;
  IdlePump idle_pump;                      // virtual time
  Policy policy;
  const std::unique_ptr<Models> models;
  Gangs gangs;
  std::unique_ptr<Tracer> tracer;          // nullptr: nobody wants a trace
  RunObserver *run_observer = nullptr;     // the tracer
  GraphObserver *graph_observer = nullptr; // the tracer's graph
  std::unique_ptr<Host> codelet_host;      // what bodies see of us: clock and log
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<IssueQueue *> queues;        // by number; owned by the workers
  std::atomic<bool> keep_back{false};      // may a submitter hold ready tasks back for a moment? (graph/link_steps.hpp); relaxed: a hint
  std::atomic<LinkBenchmark *> probe{
      nullptr};                            // at the start, while a link is measured; release and acquire: completed()
  bool shared_domains = false;             // some queues wait for one another's tickets
  bool far_units = false;                  // some unit does not reach the memory at home
  uint64_t inline_classes = 0;             // those of units that run host code where they are called
  std::atomic<TaskName> elder{0};          // the one that keeps tokens while parked (graph/commute.hpp); relaxed: a name
  std::mutex blame_mutex;                  // of data that several tasks may fail on at once; leaf

 private:
  Runtime(uint64_t number, std::shared_ptr<Config>);
  ThreadState *find_thread() noexcept;
  Result<void> open(const consort_settings *);
  Result<void> open_workers(Plugin &scheduler);
};

}  // namespace consort
