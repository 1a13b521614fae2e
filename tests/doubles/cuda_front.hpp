// The front of NVIDIA's driver library: functions with the names and arguments of its header, each a call into the
// core.
#pragma once
#include <cuda.h>

#include "acts.hpp"
#include "call.hpp"
#include "context.hpp"
#include "graph.hpp"
#include "module.hpp"

namespace gpu {

template <class F>
CUresult cu(const char *name, Need what, F &&body) noexcept {
  return static_cast<CUresult>(call(name, what, std::forward<F>(body)));
}

inline void *address(uint64_t value) { return reinterpret_cast<void *>(value); }

}  // namespace gpu
