// stop_gate.hpp — what a stop does to the calls of other threads: turns them away step by step, and waits for those under way.
//
// Of the thread that stops the runtime, after process::begin_stop(). See consort_runtime::Phase, ApiCall and active_calls.hpp.
#pragma once
#include "api/active_calls.hpp"
#include "base/process.hpp"

namespace consort {

class StopGate {
 public:
  StopGate(consort_runtime *shell, const CallRecord *mine) noexcept : shell_(shell), mine_(mine) {}
  // Every call is refused from here on, and none is under way. False: a task came in before that (a callback, or a call
  // that was under way, has submitted it), or a call takes longer. Then calls may enter as before.
  bool close(Runtime &, ThreadState &) noexcept;
  void lock() noexcept;      // no thread looks at the runtime any more, not even to be refused
  void end() noexcept;       // the runtime is gone
  void give_up() noexcept;   // the runtime goes on

 private:
  consort_runtime *const shell_;
  const CallRecord *const mine_;
};

// Waits for all tasks, and until no other thread is inside a call. Tasks that wait for a tag that no thread is left to
// reach are cancelled. May throw bad_alloc.
consort_status wait_to_stop(Runtime &, ThreadState &, StopGate &);

// Until the stop that is under way has ended; `stops`: of the shell, read before it was seen to be under way.
void wait_for_end(const consort_runtime *, uint64_t stops) noexcept;

}  // namespace consort
