// guarded_call.hpp — calls a function of the application and catches its exceptions.
#pragma once
#include <consort/driver.h>

namespace consort {

// Returns the function's status. If it throws: CONSORT_E_INTERNAL, with the reason as error text.
consort_status guarded_call(consort_call_fn *, const consort_call *) noexcept;

}  // namespace consort
