// text.hpp — a line of text with inline storage: a message about an op must not fail for lack of memory.
//
// A value; longer lines are cut.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace sim {

class Text {
 public:
  explicit Text(const char *format, ...) noexcept __attribute__((format(printf, 2, 3))) {
    va_list args;
    va_start(args, format);
    std::vsnprintf(text_, sizeof text_, format, args);
    va_end(args);
  }
  operator std::string_view() const noexcept { return text_; }
  const char *c_str() const noexcept { return text_; }

 private:
  char text_[400];
};

}  // namespace sim
