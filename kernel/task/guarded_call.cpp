#include "task/guarded_call.hpp"

#include <exception>

#include "base/last_error.hpp"

namespace consort {

consort_status guarded_call(consort_call_fn *fn, const consort_call *call) noexcept {
  clear_error();
  try {
    return fn(call);
  } catch (const std::exception &e) {
    return set_errorf(CONSORT_E_INTERNAL, "an exception left the function: %s", e.what());
  } catch (...) {
    return set_error(CONSORT_E_INTERNAL, "an exception of no standard type left the function");
  }
}

}  // namespace consort
