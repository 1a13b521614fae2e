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
