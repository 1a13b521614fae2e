// execution.hpp — the state of the room exec: executors, queues, gangs, and the manual pump.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "exec/execution_memory.hpp"
#include "exec/executor.hpp"
#include "exec/gang.hpp"
#include "exec/other_ranks.hpp"
#include "exec/submitter_turns.hpp"
#include "graph/task_graph.hpp"

namespace consort {

struct Execution : TaskGraph {
  Execution(uint64_t number, std::shared_ptr<Config> c) : TaskGraph(number, std::move(c)), gangs(*this) {}

  ExecutionMemory *execution_memory = nullptr;  // set by the constructor of the room memory
  uint64_t submit_ns = 0, drop_ns = 0;     // virtual time: cost of a submission, and of a task of another rank; set at the start
  std::atomic<uint64_t> dropped{0};        // with drop_ns: tasks of other ranks, not charged yet; relaxed: a count
  std::atomic<bool> said_no_thread{false};  // relaxed: the first exchange logs; others read a hint
  // Manual pump: the thread that steps now. Used as a lock: the acquire in PumpTurn pairs with the release at its end.
  std::atomic<ThreadState *> pumping{nullptr};
  std::atomic<uint64_t> charged{0};        // virtual time: submissions accounted for; relaxed: only rises
  SubmitterTurns submitter_turns;          // virtual time
  std::atomic<OtherRanks *> other_ranks{nullptr};  // virtual time; release after the job was joined pairs with acquire in pump_all()

  // -- in the order of construction --
  Gangs gangs;
  std::vector<std::unique_ptr<Executor>> executors;  // the workers, by number
};

// The Execution of the runtime that a thread state belongs to.
inline Execution &execution_of(Core &core) noexcept { return static_cast<Execution &>(core); }

}  // namespace consort
