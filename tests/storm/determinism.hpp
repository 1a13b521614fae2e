// determinism.hpp — each case twice: after other cases in one process, and alone in a process of its own. The texts of all
// calls, answers and bodies, with their times, must be equal.
#pragma once
#include "storm/process.hpp"

namespace storm {

// Runs the seeds of the plan, one after another. Each difference or failure is told. Returns the number of cases.
uint64_t check_determinism(const Plan &, const std::function<void(const Failure &)> &told);

}  // namespace storm
