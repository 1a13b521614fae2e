// shrink.hpp — makes a failing case smaller, as long as it fails in the same way. It has fewer programs and steps, a
// plainer machine, plainer steps, smaller data.
#pragma once
#include "storm/process.hpp"

namespace storm {

struct Smaller {
  Case result;
  Failure failure;       // of the smaller case
  bool repeats = false;  // else the case did not fail again, and is as it was
  int tries = 0;
};
Smaller shrink(const Case &, const Failure &, double seconds);

}  // namespace storm
