// config_value.hpp — the value of a setting: its type, its range, its canonical text.
//
// Types: bool, i32, i64, u32, u64, f64, string, list (strings between commas). Ranges: "a..b" for numbers (either end
// may be missing), "x|y|z" for anything, including each element of a list. Pure functions, [any] thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace consort {

// How a value is written in a file. A value from a text is parsed by the expected type.
enum class Written : uint8_t { kText, kInteger, kReal, kTruth, kArray };

struct ConfigValue {
  std::string text;    // canonical: decimal numbers, true or false, list elements without blanks
  int64_t number = 0;  // numbers (u64: its bits; f64: truncated), bool: 0 or 1
};

// The error text states what is expected, not where the value came from: "expects u32 in 1..64, not \"many\"".
Result<ConfigValue> read_value(std::string_view text, std::string_view type, std::string_view range);
// Checks that a value of this type may be written so. `strict`: texts must be quoted; else a number is accepted as
// text.
Result<void> check_written(Written, std::string_view text, std::string_view type, std::string_view range, bool strict);
// Checks that the type is known and the range fits it. For declarations of plugins.
Result<void> check_type(std::string_view type, std::string_view range);

std::vector<std::string> split_list(std::string_view text, char separator = ',');  // trimmed, without empty elements

}  // namespace consort
