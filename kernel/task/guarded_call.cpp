#include "task/guarded_call.hpp"

#include <exception>

namespace consort {

consort_status report_exception() noexcept {
  try {
    throw;
  } catch (const std::exception &e) {
    return set_errorf(CONSORT_E_INTERNAL, "an exception left the function: %s", e.what());
  } catch (...) {
    return set_error(CONSORT_E_INTERNAL, "an exception of no standard type left the function");
  }
}

}  // namespace consort
