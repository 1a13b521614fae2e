// guarded_call.hpp — a call of the application's function out of which no exception comes.
#pragma once
#include <consort/driver.h>

namespace consort {

// Returns the function's status; CONSORT_E_INTERNAL, with the reason in the error slot, if it throws.
consort_status guarded_call(consort_call_fn *, const consort_call *) noexcept;

}  // namespace consort
