// api.hpp — the door from C: from a shell to its runtime, and no exception out.
#pragma once
#include <exception>
#include <new>

#include "error_slot.hpp"
#include "process.hpp"
#include "runtime.hpp"

namespace consort {

consort_status refuse_shell(const consort_runtime *) noexcept;

// E_BUSY, where the calling thread is inside a body or a callback of this runtime, whose end `what` would wait for.
consort_status refuse_inside(Runtime &, const char *what) noexcept;

// Bits that have no meaning here: a newer application's, or an uninitialised word. `known`: what there is, in words.
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

// Was a task of this name ever submitted here?
inline bool known(const Runtime &rt, TaskName name) noexcept {
  return name >> 32 && rt.tasks.holds(static_cast<uint32_t>(name)) &&
         word::generation(rt.task_at(name)->word.load(std::memory_order_acquire)) >= name >> 32;
}
inline consort_status no_task() noexcept {
  return set_error(CONSORT_E_INVAL, "no task of this runtime: consort_submit() gives its name");
}

// The runtime behind a shell; nullptr: told in the error slot.
inline Runtime *enter(consort_runtime *shell) noexcept {
  // acquire pairs with the release that opened the shell
  if (shell) [[likely]]
    if (Runtime *rt = shell->live.load(std::memory_order_acquire)) [[likely]] return rt;
  return nullptr;
}

// Runs f, which answers a status; memory that ran out is told like everything else.
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
