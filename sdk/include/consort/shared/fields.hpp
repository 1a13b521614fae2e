// fields.hpp — appends lines of fields to the text of a trace or of the log of submissions. A run of a million tasks has as
// many lines, so numbers are written without a format string. All functions may throw bad_alloc.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace consort::shared {

struct Hex {
  uint64_t value;
};

// Writes one field to [to, end), which has room for it, and returns the end of what was written.
inline char *put_field(char *to, char *, char value) {
  *to = value;
  return to + 1;
}
inline char *put_field(char *to, char *end, Hex value) { return std::to_chars(to, end, value.value, 16).ptr; }
template <std::integral T> char *put_field(char *to, char *end, T value) { return std::to_chars(to, end, value).ptr; }
inline char *put_field(char *to, char *end, float value) {  // whole numbers: the longest has 39 digits and a sign
  return std::to_chars(to, end, value, std::chars_format::fixed, 0).ptr;
}

// Appends fields without anything between them.
template <class... T> void append(std::string *text, T... fields) {
  char piece[40 * sizeof...(T)], *at = piece;
  ((at = put_field(at, piece + sizeof piece, fields)), ...);
  text->append(piece, at);
}

// Appends a line: its name, then each field after a tab.
template <class... T> void append_line(std::string *text, std::string_view name, T... fields) {
  char piece[41 * sizeof...(T) + 1], *at = piece;
  ((*at++ = '\t', at = put_field(at, piece + sizeof piece, fields)), ...);
  *at++ = '\n';
  text->append(name).append(piece, at);
}

}  // namespace consort::shared
