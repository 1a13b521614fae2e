// last_error.hpp — the calling thread's last error text, as consort_error() and host->fail() use it.
//
// One buffer per thread, allocated by the thread's first error. Without memory for it the text is cut short, so an
// out-of-memory error can be reported. Only its own thread reads it.
#pragma once
#include "base/result.hpp"

#include <string_view>

namespace consort {

// Stores as much of the text as fits; returns `status`.
consort_status set_error(consort_status status, std::string_view text) noexcept;
consort_status set_error(const Error &e) noexcept;
[[gnu::format(printf, 2, 3)]] consort_status set_errorf(consort_status status, const char *format, ...) noexcept;
void clear_error() noexcept;
const char *error_text() noexcept;

inline constexpr size_t kErrorBytes = 2048;  // of the slot, with the final zero

// A copy of the text on the stack, to be restored after calls that may overwrite the slot. Allocates nothing, so
// functions that may not fail can use it.
class LastError {
 public:
  LastError() noexcept;
  const char *text() const noexcept { return text_; }
  consort_status restore(consort_status) const noexcept;  // returns the status

 private:
  char text_[kErrorBytes];
};

}  // namespace consort
