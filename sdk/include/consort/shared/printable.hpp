// printable.hpp — text of plugins, files and applications, made safe for a terminal and for a log of lines.
//
// Control characters (C0, DEL, C1), direction overrides and bytes that are not UTF-8 become escapes: \n, \t, \x1b, \u202e.
// Text without any of them stays as it is, so escaping twice is the same as once. Pure functions; [any] thread; no
// allocation in the form that fills a buffer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace consort::shared {

enum class Newlines { kEscape, kKeep };

namespace detail {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;  // well-formed UTF-8
};

inline Character character_at(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t bytes = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (bytes == 0) return {first, 1, false};
  uint32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {first, 1, false};
  return {code, bytes, true};
}

// A terminal obeys controls; direction overrides show a text in another order than it is read by a program.
inline bool is_harmful(const Character &c, Newlines newlines) noexcept {
  if (!c.valid) return true;
  if (c.code == '\n') return newlines == Newlines::kEscape;
  return c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0) || (c.code >= 0x202a && c.code <= 0x202e) ||
         (c.code >= 0x2066 && c.code <= 0x2069) || c.code == 0x2028 || c.code == 0x2029;
}

inline size_t escape(const Character &c, char (&out)[8]) noexcept {
  const char *name = c.code == '\n' ? "\\n" : c.code == '\t' ? "\\t" : c.code == '\r' ? "\\r" : nullptr;
  if (name) return std::memcpy(out, name, 2), 2;
  const int n = std::snprintf(out, sizeof out, c.valid && c.code > 0xff ? "\\u%04x" : "\\x%02x", c.code);
  return static_cast<size_t>(n);
}

}  // namespace detail

inline bool is_printable(std::string_view text, Newlines newlines = Newlines::kEscape) noexcept {
  for (size_t at = 0; at < text.size();) {
    const detail::Character c = detail::character_at(text.substr(at));
    if (detail::is_harmful(c, newlines)) return false;
    at += c.bytes;
  }
  return true;
}

// Writes as many whole characters and escapes as fit `room`, without a NUL; returns their bytes. `out` must not overlap `text`.
inline size_t make_printable(std::string_view text, char *out, size_t room,
                             Newlines newlines = Newlines::kEscape) noexcept {
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const detail::Character c = detail::character_at(text.substr(at));
    char code[8];
    const bool harmful = detail::is_harmful(c, newlines);
    const size_t bytes = harmful ? detail::escape(c, code) : c.bytes;
    if (used + bytes > room) break;
    std::memcpy(out + used, harmful ? code : text.data() + at, bytes);
    used += bytes;
    at += c.bytes;
  }
  return used;
}

inline std::string printable(std::string_view text, Newlines newlines = Newlines::kEscape) {
  std::string out(text.size() * 4, '\0');  // "\x1b" of one byte is the most
  out.resize(make_printable(text, out.data(), out.size(), newlines));
  return out;
}

}  // namespace consort::shared
