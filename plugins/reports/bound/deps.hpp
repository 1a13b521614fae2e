// deps.hpp — the bound of Level::kDeps without building the whole program: only the relevant constraints of the order.
//
// Used by one thread.
#pragma once
#include "program.hpp"

namespace bound {

// solution.least is a valid bound, also if stopped early; if exact, it is within kClose of
// the program's optimum. The solution has no values.
inline constexpr double kClose = 1e-6;
Solution solve_deps(const Problem &, double seconds);

}  // namespace bound
