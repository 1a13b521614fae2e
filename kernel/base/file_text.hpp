// file_text.hpp — helpers for text files: a name on one line, and the checksum at the end of a file.
//
// Pure functions; any thread. May throw bad_alloc.
#pragma once
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace consort {

inline std::string one_line(std::string text) {  // control characters become '?'
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return text;
}

inline std::string hex_sum(std::string_view text) {  // FNV-1a, as 16 digits
  uint64_t sum = 0xcbf29ce484222325u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, sum);
  return digits;
}

}  // namespace consort
