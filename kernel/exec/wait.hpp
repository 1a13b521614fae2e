// wait.hpp — waiting, and helping meanwhile.
//
// Outside any task a waiting thread takes a worker's token and runs whatever is ready, unless it holds data or
// was told not to. Inside a task it runs only what comes after that task; when there is none of it, it gives
// its token to another thread for as long as it sleeps. Nobody waits from a callback.
#pragma once
#include "exec/execution.hpp"

namespace consort {

// The wait of submissions whose window is full. May throw bad_alloc.
std::unique_ptr<WindowWait> make_window_wait();

// The answer of a call that tells a failure: its status, with the chain as text. The failure counts as told, unless
// flags has CONSORT_WAIT_KEEP_FAILURE. May throw bad_alloc.
consort_status answer_failure(const Failure &, uint32_t flags = 0);
// Of all failures that no call has answered, the first; further ones go to the log.
consort_status answer_untold(const Execution &) noexcept;

consort_status wait_group(Execution &, Group &, int64_t timeout_ns, uint32_t flags);
consort_status wait_all(Execution &, int64_t timeout_ns, uint32_t flags);
// Its end, not its status. call: what is waited in, for the log.
consort_status wait_task(Execution &, TaskName, int64_t timeout_ns, uint32_t flags,
                         const char *call = "consort_task_wait()");
// E_BUSY in bodies. The answer is that of the first tag that was reached by a failed task.
consort_status wait_tags(Execution &, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags);
// Of one context that is none of the runtime's own; outside bodies.
consort_status wait_context(Execution &, uint64_t id, int64_t timeout_ns, uint32_t flags);
consort_status wait_no_ready(Execution &, int64_t timeout_ns);
consort_status wait_granted(Execution &, Task *hold, int64_t timeout_ns) noexcept;

// The right to step workers by hand. Not a mutex: a body that leaves by longjmp must not keep it (mend_if_left()).
class PumpTurn {
 public:
  PumpTurn(Execution &rt, ThreadState &thread) noexcept
      : rt_(rt), outer_(rt.pumping.load(std::memory_order_relaxed) == &thread) {
    ThreadState *nobody = nullptr;
    for (Backoff wait; !outer_ && !rt.pumping.compare_exchange_weak(nobody, &thread, std::memory_order_acquire);
         nobody = nullptr)
      wait.once();
  }
  ~PumpTurn() { give_up(); }
  void give_up() noexcept {
    if (!outer_) rt_.pumping.store(nullptr, std::memory_order_release);
    outer_ = true;
  }
  PumpTurn(const PumpTurn &) = delete;
  PumpTurn &operator=(const PumpTurn &) = delete;

 private:
  Execution &rt_;
  bool outer_;  // somebody below on this stack has it already
};

inline constexpr uint32_t kDeepestWait = 64;  // bodies that wait, on one stack, before a wait looks for its own tasks alone

// One step of one worker by the calling thread, without helpers: what a manual pump does. False: nothing to do.
bool pump_one(Execution &, ThreadState &, uint32_t worker) noexcept;
// One step of each worker in turn, with a manual pump. In virtual time, when none had anything to do, the clock goes to
// the next event instead, not beyond `latest`. False: there is nothing to do, and nothing will happen by itself.
bool pump_all(Execution &, ThreadState &, uint64_t latest) noexcept;

// A body left by longjmp: its caller's frames are gone, and this thread is back above them. Its task fails, its
// worker goes on. Looked for by calls that wait; a body that was called by the one it left takes both along.
void mend_if_left(Execution &, ThreadState &, const void *here) noexcept;

}  // namespace consort
