// distribution.hpp — the state of the room remote: the job that this runtime has joined.
#pragma once
#include <atomic>
#include <memory>

#include "exec/execution.hpp"
#include "remote/checkpoints.hpp"
#include "remote/job.hpp"

namespace consort {

struct Distribution : Execution {
  using Execution::Execution;

  std::unique_ptr<Job> job;                // set and reset by Job::join() and at the stop
  std::unique_ptr<Checkpoints> checkpoints;  // with the job; reset before it
  std::atomic<Job *> joining{nullptr};     // release in join() pairs with acquire in event(): also while it connects
  std::atomic<Job *> joined{nullptr};      // release in join() pairs with acquire in the calls: all ranks are connected
};

inline Distribution &distribution_of(Core &core) noexcept { return static_cast<Distribution &>(core); }

}  // namespace consort
