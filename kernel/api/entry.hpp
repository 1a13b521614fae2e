// entry.hpp — calls from C: from a shell to its runtime; converts exceptions to statuses.
#pragma once
#include <exception>
#include <new>

#include "api/active_calls.hpp"
#include "api/runtime.hpp"
#include "base/last_error.hpp"
#include "base/process.hpp"

namespace consort {

consort_status refuse_shell(const consort_runtime *) noexcept;

// Returns E_BUSY if the calling thread is inside a body or a callback of this runtime, for whose end `what` would wait.
consort_status refuse_inside(Runtime &, const char *what) noexcept;

// Error for unknown bits, of a newer application or an uninitialised word. `known`: the known ones, as text.
inline consort_status refuse_bits(const char *what, uint32_t unknown, const char *known) noexcept {
  return set_errorf(CONSORT_E_INVAL, "%s has 0x%x, which this runtime does not know: %s", what, unknown, known);
}
inline consort_status check_wait_flags(uint32_t flags) noexcept {
  constexpr uint32_t kKnown = CONSORT_WAIT_NO_HELP | CONSORT_WAIT_KEEP_FAILURE;
  return flags & ~kKnown ? refuse_bits("flags", flags & ~kKnown,
                                       "CONSORT_WAIT_NO_HELP and CONSORT_WAIT_KEEP_FAILURE are what there is")
                         : CONSORT_OK;
}

inline consort_status check_space(const Runtime &rt, uint32_t space) noexcept {
  const size_t n = rt.topology->spaces().size();
  if (space < n) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL, "space %u does not exist: there are %zu, numbered from 0", space, n);
}

// Returns whether a task of this name was ever submitted here.
inline bool known(const Runtime &rt, TaskName name) noexcept {
  return name >> 32 && rt.tasks.holds(static_cast<uint32_t>(name)) &&
         word::generation(rt.task_at(name)->word.load(std::memory_order_acquire)) >= name >> 32;
}
inline consort_status no_task() noexcept {
  return set_error(CONSORT_E_INVAL, "no task of this runtime: consort_submit() gives its name");
}

// Scope of one call from C: inside the runtime to the end of the scope, so that a stop waits for it. False: the call
// may not enter; refuse_shell() sets the reason.
class ApiCall {
 public:
  // kBegins: starts work or creates an object. Refused once a stop has begun, except in bodies and callbacks. kEnds:
  // queries, or ends an object. kWaits: as kEnds; if refused while the runtime is stopping, it waits for the end of
  // that stop, so that no thread accesses the caller's memory afterwards.
  enum Kind { kBegins, kEnds, kWaits };
  static constexpr Kind waits(int64_t timeout_ns) noexcept { return timeout_ns ? kWaits : kEnds; }

  explicit ApiCall(consort_runtime *shell, Kind kind = kBegins) noexcept {
    CallRecord *const v = visitor;
    if (shell && v->inside.load(std::memory_order_relaxed) == CallRecord::kOutside) [[likely]] {
      if ((runtime_ = mark(shell, *v))) [[likely]] {
        mine_ = v;
        return;
      }
      unmark(*v);
    }
    enter(shell, kind);
  }
  ~ApiCall() {
    if (lent_) [[unlikely]] visitors::give_back(mine_);
    else if (mine_) unmark(*mine_);
  }
  ApiCall(const ApiCall &) = delete;
  ApiCall &operator=(const ApiCall &) = delete;

  // Marks the thread's first record, which is outside of all runtimes. nullptr: not every call may enter. The light
  // fence pairs with the heavy one of process::set_phase(); if it would not be free, `live` is never set.
  static Runtime *mark(const consort_runtime *shell, CallRecord &v) noexcept {
    v.inside.store(reinterpret_cast<uintptr_t>(shell), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return shell->live.load(std::memory_order_acquire);  // pairs with the release that opened the shell
  }
  // release: a stop that sees it sees the effects of the call
  static void unmark(CallRecord &v) noexcept { v.inside.store(CallRecord::kOutside, std::memory_order_release); }

  explicit operator bool() const noexcept { return runtime_; }
  Runtime *operator->() const noexcept { return runtime_; }
  Runtime &operator*() const noexcept { return *runtime_; }
  bool is_nested() const noexcept { return nested_; }      // this thread is inside another call of the same runtime
  const CallRecord *record() const noexcept { return mine_; }

 private:
  void enter(consort_runtime *, Kind) noexcept;

  Runtime *runtime_ = nullptr;
  CallRecord *mine_ = nullptr;
  bool lent_ = false, nested_ = false;
};

// Runs f, which returns a status; converts exceptions to statuses (bad_alloc: E_NOMEM).
template <class F>
consort_status guarded(F f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc &) {
    return set_error(CONSORT_E_NOMEM, "no memory");
  } catch (const std::exception &e) {
    return set_errorf(CONSORT_E_INTERNAL, "unexpected: %s", e.what());
  }
}

}  // namespace consort
