// deps.hpp — the least of the program of Level::kDeps without writing it down: as large as what matters of the order.
//
// The caller's, one thread.
#pragma once
#include "program.hpp"

namespace bound {

// No run is shorter than the solution's `least`, however early it was stopped; where that is exact, it is within kClose of
// the program's. It has no values.
inline constexpr double kClose = 1e-6;
Solution solve_deps(const Problem &, double seconds);

}  // namespace bound
