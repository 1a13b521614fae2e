#include "base/last_error.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <consort/shared/printable.hpp>

namespace consort {
namespace {

// Thread-locals are initial-exec. A program that loads the library while it runs (an interpreter) has a few hundred bytes
// for those of all libraries, so the text of a thread is allocated by its first error. Without memory, and after the
// thread's key has been destroyed, the text is cut to the short one.
constexpr size_t kShort = 96;
thread_local constinit char short_text[kShort]{};
thread_local constinit char *long_text = nullptr;

struct Slot { char *text; size_t bytes; };

void free_slot(void *text) {
  long_text = nullptr;
  std::free(text);
}

// A key, not a destructor of a thread_local: registering that one aborts where there is no memory.
bool free_at_end(void *text) noexcept {
  static pthread_key_t key;
  static const bool usable = pthread_key_create(&key, free_slot) == 0;
  return usable && pthread_setspecific(key, text) == 0;
}

[[gnu::noinline, gnu::cold]] Slot first_slot() noexcept {
  char *text = static_cast<char *>(std::calloc(1, kErrorBytes));
  if (text && !free_at_end(text)) {
    std::free(text);
    text = nullptr;
  }
  if (!text) return {short_text, kShort};
  short_text[0] = 0;
  long_text = text;
  return {text, kErrorBytes};
}

Slot slot() noexcept { return long_text ? Slot{long_text, kErrorBytes} : first_slot(); }

}  // namespace

consort_status set_error(consort_status status, std::string_view text) noexcept {
  const auto [to, bytes] = slot();
  size_t n = std::min(text.size(), bytes - 1);
  if (shared::is_printable({text.data(), n}, shared::Newlines::kKeep)) {
    std::memmove(to, text.data(), n);
  } else {
    char safe[kErrorBytes];  // a copy: the text may be the slot itself
    n = shared::make_printable(text, safe, bytes - 1, shared::Newlines::kKeep);
    std::memcpy(to, safe, n);
  }
  to[n] = 0;
  return status;
}

consort_status set_error(const Error &e) noexcept { return set_error(e.status, e.text); }

consort_status set_errorf(consort_status status, const char *format, ...) noexcept {
  char text[kErrorBytes];  // a copy: an argument may be the slot itself
  va_list args;
  va_start(args, format);
  const int n = std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return set_error(status, {text, n < 0 ? 0 : std::min<size_t>(static_cast<size_t>(n), sizeof text - 1)});
}

void clear_error() noexcept { (long_text ? long_text : short_text)[0] = 0; }
const char *error_text() noexcept { return long_text ? long_text : short_text; }

LastError::LastError() noexcept {
  const char *text = error_text();
  std::memcpy(text_, text, std::strlen(text) + 1);
}
consort_status LastError::restore(consort_status status) const noexcept { return set_error(status, text_); }

}  // namespace consort
