// profiling.hpp — moments of a task, while they are asked for.
#pragma once
#include <starpu.h>

#include "instance.hpp"

namespace starpu_layer {

// Whether times are kept: starpu_profiling_status_set().
extern std::atomic<bool> profiling_on;

inline void stamp(timespec &at) {
  const uint64_t t = now_ns();
  at.tv_sec = static_cast<time_t>(t / STARPU_NS_PER_S);
  at.tv_nsec = static_cast<long>(t % STARPU_NS_PER_S);
}

}  // namespace starpu_layer
