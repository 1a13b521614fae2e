// task_graph.hpp — the state of the room graph: the right to submit, tags, held completions, bundles, repeats, plans.
#pragma once
#include <atomic>
#include <memory>

#include "graph/bundle.hpp"
#include "graph/completion_hold.hpp"
#include "graph/graph_memory.hpp"
#include "graph/partition_plan.hpp"
#include "graph/repeat.hpp"
#include "graph/tags.hpp"
#include "sched/scheduling.hpp"

namespace consort {

struct TaskGraph : Scheduling {
  TaskGraph(uint64_t number, std::shared_ptr<Config> c)
      : Scheduling(number, std::move(c)), tags(*this), plans(*this) {}

  GraphMemory *graph_memory = nullptr;     // set by the constructor of the room memory
  bool copies_are_moved = false;           // some unit cannot access memory at home, or has a queue; set at the start
  // the thread state that submits without locks; kNoThread: none yet; kAllLock: submitters lock their data
  alignas(64) std::atomic<uint32_t> bias{kNoThread};  // release where it changes pairs with the acquire of a submission
  static constexpr uint32_t kNoThread = 0xffffffff, kAllLock = 0xfffffffe, kRevoking = 0xfffffffd;
  // the task that keeps tokens while parked (graph/commute.hpp); relaxed: a name
  alignas(64) std::atomic<TaskName> elder{0};

  // -- in the order of construction --
  Tags tags;
  CompletionHolds ends;
  Bundles bundles;
  Repeats repeats;
  PartitionPlans plans;
};

}  // namespace consort
