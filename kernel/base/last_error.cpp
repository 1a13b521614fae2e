#include "base/last_error.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <consort/shared/printable.hpp>

namespace consort {
namespace {
thread_local char slot[kErrorBytes];  // trivially constructed: no start-up code, no destructor
}

consort_status set_error(consort_status status, std::string_view text) noexcept {
  size_t n = std::min(text.size(), sizeof slot - 1);
  if (shared::is_printable({text.data(), n}, shared::Newlines::kKeep)) {
    std::memmove(slot, text.data(), n);
  } else {
    char safe[sizeof slot];  // a copy: the text may be the slot itself
    n = shared::make_printable(text, safe, sizeof safe - 1, shared::Newlines::kKeep);
    std::memcpy(slot, safe, n);
  }
  slot[n] = 0;
  return status;
}

consort_status set_error(const Error &e) noexcept { return set_error(e.status, e.text); }

consort_status set_errorf(consort_status status, const char *format, ...) noexcept {
  char text[sizeof slot];  // a copy: an argument may be the slot itself
  va_list args;
  va_start(args, format);
  const int n = std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return set_error(status, {text, n < 0 ? 0 : std::min<size_t>(static_cast<size_t>(n), sizeof text - 1)});
}

void clear_error() noexcept { slot[0] = 0; }
const char *error_text() noexcept { return slot; }

LastError::LastError() noexcept { std::memcpy(text_, slot, std::strlen(slot) + 1); }
consort_status LastError::restore(consort_status status) const noexcept { return set_error(status, text_); }

}  // namespace consort
