// The front of AMD's library: functions with the names and arguments of its header, each a call into the core.
//
// HIP has no contexts: a thread has a device, and its objects are there. In the core a device's context begins with the
// first call about that device. It ends with the last object on it, so that leaks are seen.
#pragma once
#include <hip/hip_runtime_api.h>

#include "acts.hpp"
#include "call.hpp"
#include "context.hpp"
#include "module.hpp"

namespace gpu {

int &device_of_thread();

class Visit {  // of this thread, on its device
 public:
  explicit Visit(Need what) noexcept;
  ~Visit();
  Visit(const Visit &) = delete;
  Visit &operator=(const Visit &) = delete;
  int error() const { return code; }

 private:
  Device *device = nullptr;
  int code = 0;
};

template <class F>
hipError_t hip(const char *name, Need what, F &&body) noexcept {
  Visit visit(what);
  return static_cast<hipError_t>(visit.error() ? visit.error() : call(name, what, std::forward<F>(body)));
}

inline uint64_t number(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline void *address(uint64_t value) { return reinterpret_cast<void *>(value); }

}  // namespace gpu
