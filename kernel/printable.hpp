// printable.hpp — text of plugins, files and applications, made safe for a terminal and for a log of lines.
//
// Control characters (C0, DEL, C1), direction overrides and bytes that are not UTF-8 become escapes: \n, \t, \x1b, \u202e.
// Text without any of them stays as it is, so escaping twice is the same as once. Pure functions; [any] thread; no
// allocation in the form that fills a buffer.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace consort {

enum class Newlines { kEscape, kKeep };

bool is_printable(std::string_view text, Newlines = Newlines::kEscape) noexcept;
// Writes as many whole characters and escapes as fit `room`, without a NUL; returns their bytes. `out` must not overlap `text`.
size_t make_printable(std::string_view text, char *out, size_t room, Newlines = Newlines::kEscape) noexcept;
std::string printable(std::string_view text, Newlines = Newlines::kEscape);

}  // namespace consort
