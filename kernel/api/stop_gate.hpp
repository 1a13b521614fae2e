// stop_gate.hpp — refuses the calls of other threads step by step during a stop, and waits for calls under way.
//
// Used by the thread that stops the runtime, after process::begin_stop(). See consort_runtime::Phase, ApiCall and
// active_calls.hpp.
#pragma once
#include "api/active_calls.hpp"
#include "base/process.hpp"

namespace consort {

class StopGate {
 public:
  StopGate(consort_runtime *shell, const CallRecord *mine) noexcept : shell_(shell), mine_(mine) {}
  // Refuses every call from here on, and waits until none is under way. Returns false if a task was submitted before
  // that (by a callback, or by a call under way), or if a call takes long. Then calls may enter as before.
  bool close(Runtime &, ThreadState &) noexcept;
  void lock() noexcept;      // no thread accesses the runtime any more, not even to be refused
  void end() noexcept;       // the runtime has ended
  void give_up() noexcept;   // the runtime continues

 private:
  consort_runtime *const shell_;
  const CallRecord *const mine_;
};

// Waits for all tasks, and until no other thread is inside a call. Tasks that wait for a tag that no thread can reach
// are cancelled. May throw bad_alloc.
consort_status wait_to_stop(Runtime &, ThreadState &, StopGate &);

// Waits until the current stop has ended or given up; `stops`: the shell's count, read before the stop was seen.
void wait_for_end(const consort_runtime *, uint64_t stops) noexcept;

}  // namespace consort
