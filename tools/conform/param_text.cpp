#include "param_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace conform {
namespace {

bool is_within(const std::string &type, long double value, const std::string &range) {
  const std::vector<std::string> ends = split(range, "..");
  if (ends.size() != 2) return true;  // no range, or an invalid one, which rule P-7 reports
  long double bound = 0;
  if (!ends[0].empty() && read_number(type, ends[0], &bound) && value < bound) return false;
  return ends[1].empty() || !read_number(type, ends[1], &bound) || value <= bound;
}

}  // namespace

std::vector<std::string> split(const std::string &text, const std::string &by) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(by, at);
    parts.push_back(text.substr(at, end == text.npos ? end : end - at));
    if (end == text.npos) return parts;
    at = end + by.size();
  }
}

bool is_integer(const std::string &type) { return type == "i32" || type == "i64" || type == "u32" || type == "u64"; }
bool is_real(const std::string &type) { return type == "f64"; }

// Parses a number of that type. Large integers keep the precision needed for a comparison with a range.
bool read_number(const std::string &type, const std::string &text, long double *out) {
  const char *begin = text.c_str(), *end = begin + text.size();
  const auto whole = [&](auto n) {
    const auto r = std::from_chars(begin, end, n);
    *out = static_cast<long double>(n);
    return r.ec == std::errc{} && r.ptr == end;
  };
  if (type == "i32") return whole(int32_t{});
  if (type == "i64") return whole(int64_t{});
  if (type == "u32") return whole(uint32_t{});
  if (type == "u64") return whole(uint64_t{});
  char *stop = nullptr;
  *out = std::strtold(begin, &stop);
  return stop == end && stop != begin;
}

std::string as_told(const std::string &type, const std::string &value) {
  if (type != "bool") return value;
  if (value == "yes" || value == "on" || value == "1") return "true";
  if (value == "no" || value == "off" || value == "0") return "false";
  return value;
}

std::string fault_of_value(const std::string &type, const std::string &range, const std::string &value) {
  const bool choice = !range.empty() && range.find("..") == range.npos;
  const auto has_choice = [&](const std::string &word) {
    const std::vector<std::string> choices = split(range, "|");
    return std::find(choices.begin(), choices.end(), word) != choices.end();
  };
  bool fine = true;
  if (type == "bool") {
    fine = value == "true" || value == "false";
  } else if (is_integer(type) || is_real(type)) {
    long double number = 0;
    fine = read_number(type, value, &number) && (choice ? has_choice(value) : is_within(type, number, range));
  } else if (choice && type == "string") {
    fine = has_choice(value);
  } else if (choice && !value.empty()) {
    for (const std::string &word : split(value, ",")) fine = fine && has_choice(word);
  }
  if (fine) return {};
  std::string expected = type == "bool" ? "true or false"
                         : choice       ? range
                                        : type + (range.empty() ? "" : " in " + range);
  if (type == "list") expected = "a list of " + expected;
  return "expects " + expected + ", not \"" + value + "\"";
}

}  // namespace conform
