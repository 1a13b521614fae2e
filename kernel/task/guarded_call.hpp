// guarded_call.hpp — calls a function of the application and catches its exceptions.
#pragma once
#include <consort/driver.h>

#include "base/last_error.hpp"

namespace consort {

// Inside a handler. Stores the exception's text as error text; returns CONSORT_E_INTERNAL.
[[gnu::cold]] consort_status report_exception() noexcept;

// Returns the function's status. If it throws: CONSORT_E_INTERNAL, with the reason as error text.
[[gnu::always_inline]] inline consort_status guarded_call(consort_call_fn *fn, const consort_call *call) noexcept {
  clear_error();
  try {
    return fn(call);
  } catch (...) {
    return report_exception();
  }
}

}  // namespace consort
