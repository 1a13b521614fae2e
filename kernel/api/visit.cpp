// visit.cpp — which calls of the C API may enter a stopping runtime, and how a stop waits for the calls inside.
#include <time.h>

#include "api/entry.hpp"
#include "api/stop_gate.hpp"
#include "exec/wait.hpp"

namespace consort {
namespace {

constexpr int64_t kNap = 50'000;  // ns between two checks of a condition without a wake-up

void nap() noexcept {
  const timespec t{0, kNap};
  nanosleep(&t, nullptr);
}

// Returns whether the calling thread is inside a body or a callback of this runtime.
bool works_for(const Runtime &rt) noexcept {
  const ThreadState *thread = rt.this_thread_if_any();
  return on_a_device || (thread && (thread->task || thread->in_callback));
}

// The record says that this thread is inside a call of the runtime; returns whether a longjmp has left that call.
bool left_by_jump(Runtime &rt) noexcept {
  ThreadState *thread = rt.this_thread_if_any();
  if (!thread || !thread->task) return false;
  mend_if_left(rt, *thread, __builtin_frame_address(0));
  return !thread->task;
}

}  // namespace

void ApiCall::enter(consort_runtime *shell, Kind kind) noexcept {
  if (!shell) return;
  const uint64_t stops = shell->stops.load(std::memory_order_acquire);
  uintptr_t state = shell->state.load(std::memory_order_acquire);  // pairs with open_shell()
  Runtime *const seen = consort_runtime::runtime(state);
  if (CallRecord *outer = visitors::find(shell)) {
    if (!seen) return;  // this thread is freeing the runtime's memory
    if (!left_by_jump(*seen)) {
      nested_ = true;
      runtime_ = seen;  // the enclosing call keeps the runtime alive
      return;
    }
    visitors::leave(outer);
  }
  // A body run by a worker's own thread is an unfinished task, which keeps the runtime alive.
  const ThreadState *own = worker_thread();
  if (own && &own->rt == seen && own->task && !own->in_callback) {
    runtime_ = seen;
    return;
  }
  if (!state) return;
  for (;; nap()) {
    CallRecord *const v = visitors::take();
    if (!v) return;
    v->inside.store(reinterpret_cast<uintptr_t>(shell), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the heavy fence of process::set_phase()
    state = shell->state.load(std::memory_order_acquire);
    Runtime *const rt = consort_runtime::runtime(state);
    const bool works = rt && works_for(*rt), may_drain = works || kind != kBegins;
    const auto phase = consort_runtime::phase(state);
    if (rt && (phase == consort_runtime::kOpen || (phase == consort_runtime::kDraining && may_drain))) {
      runtime_ = rt;
      mine_ = v;
      lent_ = v != visitor;
      return;
    }
    visitors::give_back(v);
    if (phase == consort_runtime::kClosing && may_drain) continue;
    if (state && kind == kWaits && !works && !own) wait_for_end(shell, stops);
    return;
  }
}

consort_status refuse_shell(const consort_runtime *shell) noexcept {
  if (!shell) return set_error(CONSORT_E_INVAL, "the runtime is NULL: consort_start() gives one");
  const uintptr_t state = shell->state.load(std::memory_order_relaxed);
  if (state && consort_runtime::phase(state) == consort_runtime::kOpen)
    return set_error(CONSORT_E_NOMEM, "no memory for this call: 65536 calls are under way, or the system has none");
  return set_error(CONSORT_E_STOPPED, state ? "the runtime is being stopped by another thread"
                                            : "the runtime has stopped, or was started before a fork: a child process "
                                              "starts its own");
}

bool StopGate::close(Runtime &rt, ThreadState &thread) noexcept {
  constexpr uint32_t kLooks = 20;  // then waiting calls may enter: a call under way may need one of them
  process::set_phase(shell_, consort_runtime::kClosing);
  rt.tags.give_up_waits(true);
  fence::light(rt.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
  rt.waiters.wake();
  uint32_t seen = 0;
  for (uint32_t look = 0; rt.groups.all_idle() && look < kLooks; ++look) {
    if (visitors::all_outside(shell_, mine_, &seen)) {
      if (!rt.groups.all_idle()) break;
      process::set_phase(shell_, consort_runtime::kClosed);
      return true;
    }
    thread.parker.wait(kNap);
  }
  rt.tags.give_up_waits(false);
  process::set_phase(shell_, consort_runtime::kDraining);
  return false;
}

void StopGate::lock() noexcept {
  process::set_phase(shell_, consort_runtime::kGone);
  for (uint32_t seen = 0; !visitors::all_outside(shell_, mine_, &seen);) nap();
}

void StopGate::end() noexcept { process::end_stop(shell_); }

void StopGate::give_up() noexcept { process::cancel_stop(shell_); }

// The count alone does not do: a call may read it between the two stores of end_stop(), and no stop adds to it if it
// gives up. acquire: pairs with the release in end_stop() and set_phase(), so the runtime's end is visible.
void wait_for_end(const consort_runtime *shell, uint64_t stops) noexcept {
  while (shell->stops.load(std::memory_order_acquire) == stops &&
         consort_runtime::phase(shell->state.load(std::memory_order_acquire)) != consort_runtime::kOpen)
    nap();
}

}  // namespace consort
