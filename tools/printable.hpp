// printable.hpp — text of plugins and files as a terminal may show it: control characters, direction overrides and bytes that
// are not UTF-8 become escapes (\n, \x1b, \u202e), as in the kernel's log and errors (kernel/printable.hpp).
//
// Pure functions. JSON does not need them: its strings are escaped by the writer.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tool {

// The bytes of the character of UTF-8 that `text` begins with, and its code; 0 bytes: none.
inline size_t character_of(std::string_view text, uint32_t *code) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  *code = first;
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (bytes == 0) return 0;
  uint32_t c = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    c = c << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && c < 0x800) || (bytes == 4 && c < 0x10000);
  if (overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
  return *code = c, bytes;
}

// newlines: they stay, for texts of several lines.
inline std::string printable(std::string_view text, bool newlines = false) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t c;
    const size_t bytes = character_of(text.substr(at), &c);
    const bool harmful = !bytes || (c < 0x20 && !(newlines && c == '\n')) || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
                         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    char code[16];
    if (c == '\n' && harmful) out += "\\n";
    else if (c == '\t' && harmful) out += "\\t";
    else if (c == '\r' && harmful) out += "\\r";
    else if (harmful) std::snprintf(code, sizeof code, bytes && c > 0xff ? "\\u%04x" : "\\x%02x", c), out += code;
    else out += text.substr(at, bytes);
    at += bytes ? bytes : 1;
  }
  return out;
}

}  // namespace tool
