// wait.hpp — waits of the application, which run tasks meanwhile.
//
// Outside any task a waiting thread takes a worker's token and runs all ready tasks, unless it holds data or a flag
// forbids it. Inside a task it runs only tasks that are part of what it waits for. If there are none, it passes its
// token to another thread while it sleeps. Callbacks must not wait.
#pragma once
#include "exec/execution.hpp"

namespace consort {

// The wait of a submission whose window is full. May throw bad_alloc.
std::unique_ptr<WindowWait> make_window_wait();

// Returns the status of a failure and sets the error text to its chain. The failure counts as reported, unless flags
// has CONSORT_WAIT_KEEP_FAILURE. May throw bad_alloc.
consort_status answer_failure(const Failure &, uint32_t flags = 0);
// Returns the first of all unreported failures; further ones go to the log.
consort_status answer_unreported(const Execution &) noexcept;

// E_STALE: the group of that generation was destroyed meanwhile.
consort_status wait_group(Execution &, Group &, uint32_t generation, int64_t timeout_ns, uint32_t flags);
consort_status wait_all(Execution &, int64_t timeout_ns, uint32_t flags);
// Waits for its end and ignores its status. call: the name of the call, for the log.
consort_status wait_task(Execution &, TaskName, int64_t timeout_ns, uint32_t flags,
                         const char *call = "consort_task_wait()");
// E_BUSY in bodies. Returns the failure of the first tag that a failed task reached.
consort_status wait_tags(Execution &, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags);
// For a context other than the runtime's own; outside bodies.
consort_status wait_context(Execution &, uint64_t id, int64_t timeout_ns, uint32_t flags);
consort_status wait_no_ready(Execution &, int64_t timeout_ns);
consort_status wait_granted(Execution &, Task *hold, int64_t timeout_ns) noexcept;

// The right to step workers by hand. Not a mutex, because a body that leaves by longjmp must not keep it
// (mend_if_left()).
class PumpTurn {
 public:
  PumpTurn(Execution &rt, ThreadState &thread) noexcept
      : rt_(rt), outer_(rt.pumping.load(std::memory_order_relaxed) == &thread) {
    ThreadState *none = nullptr;
    for (Backoff wait; !outer_ && !rt.pumping.compare_exchange_weak(none, &thread, std::memory_order_acquire);
         none = nullptr)
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
  bool outer_;  // an outer frame of this thread already has it
};

// nested waiting bodies on one stack, beyond which a wait runs only its own tasks
inline constexpr uint32_t kDeepestWait = 64;

// Steps one worker by the calling thread, without helping: the manual pump's step. Returns false if there was nothing
// to do.
bool pump_one(Execution &, ThreadState &, uint32_t worker) noexcept;
// Manual pump: steps each worker in turn. In virtual time, if none had work, the clock advances to the next event, at
// most to `latest`. Returns false if there is nothing to do and no event to come.
bool pump_all(Execution &, ThreadState &, uint64_t latest) noexcept;

// Handles a body left by longjmp: the frames of its caller are gone, and this thread runs above them. Its task fails,
// and its worker continues. Checked by calls that wait. A body left together with bodies that it called ends these,
// too.
void mend_if_left(Execution &, ThreadState &, const void *here) noexcept;

}  // namespace consort
