// config_value.hpp — a setting's value: its type, its range, its one way of being written.
//
// Types: bool, i32, i64, u32, u64, f64, string, list (strings between commas). Ranges: "a..b" for numbers (either
// end may be missing), "x|y|z" for anything, each element of a list included. Pure functions, [any] thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace consort {

// How it stands in a file. What comes as a text, from anywhere, is read by what is expected.
enum class Written : uint8_t { kText, kInteger, kReal, kTruth, kArray };

struct ConfigValue {
  std::string text;    // canonical: decimal numbers, true or false, list elements without blanks
  int64_t number = 0;  // numbers (u64: its bits; f64: cut), bool: 0 or 1
};

// The error says what is expected, not where the value came from: "expects u32 in 1..64, not \"many\"".
Result<ConfigValue> read_value(std::string_view text, std::string_view type, std::string_view range);
// Is that a way to write a value of this type? `strict`: a text stands in quotes; else its reader takes a number, too.
Result<void> check_written(Written, std::string_view text, std::string_view type, std::string_view range, bool strict);
// Is this a type, and a range that makes sense with it? For what plugins declare.
Result<void> check_type(std::string_view type, std::string_view range);

std::vector<std::string> split_list(std::string_view text, char separator = ',');  // trimmed, none empty

}  // namespace consort
