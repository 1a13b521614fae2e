#include "plugin/config_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace consort {
namespace {

constexpr std::array<std::string_view, 8> kTypes = {"bool", "i32", "i64", "u32", "u64", "f64", "string", "list"};

std::string_view trim(std::string_view s) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = s.find_first_not_of(blanks);
  return first == s.npos ? std::string_view{} : s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

// A bound or value of a numeric range: exact for all integers, and for doubles.
struct Number {
  __int128 whole = 0;
  double real = 0;
};

bool is_number(std::string_view type) { return type != "bool" && type != "string" && type != "list"; }

bool read_whole(std::string_view s, __int128 *out) {
  bool minus = false;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) minus = s[0] == '-', s.remove_prefix(1);
  int base = 10;
  if (s.starts_with("0x") || s.starts_with("0X")) base = 16, s.remove_prefix(2);
  if (s.empty() || s[0] == '-' || s[0] == '+') return false;
  std::string digits(s);  // 1_000_000 means 1000000
  if (digits.front() == '_' || digits.back() == '_') return false;
  std::erase(digits, '_');
  uint64_t n = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), n, base);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return false;
  *out = minus ? -static_cast<__int128>(n) : static_cast<__int128>(n);
  return true;
}

bool read_number(std::string_view s, std::string_view type, Number *out) {
  if (type == "f64") {
    if (s.starts_with('+')) s.remove_prefix(1);
    const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), out->real);
    return problem == std::errc{} && end == s.data() + s.size() && std::isfinite(out->real);
  }
  return read_whole(s, &out->whole);
}

bool fits(const Number &n, std::string_view type) {
  const auto within = [&](auto low, auto high) { return n.whole >= low && n.whole <= high; };
  if (type == "i32") return within(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  if (type == "i64") return within(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (type == "u32") return within(0, std::numeric_limits<uint32_t>::max());
  if (type == "u64") return within(0, std::numeric_limits<uint64_t>::max());
  return true;
}

bool less(const Number &a, const Number &b, std::string_view type) {
  return type == "f64" ? a.real < b.real : a.whole < b.whole;
}

bool in_range(const Number &n, std::string_view type, std::string_view range) {
  const size_t dots = range.find("..");
  if (dots == range.npos) return true;
  const std::string_view low = trim(range.substr(0, dots)), high = trim(range.substr(dots + 2));
  Number bound;
  if (!low.empty() && read_number(low, type, &bound) && less(n, bound, type)) return false;
  if (!high.empty() && read_number(high, type, &bound) && less(bound, n, type)) return false;
  return true;
}

bool is_choice(std::string_view range) { return !range.empty() && range.find("..") == range.npos; }

bool among(std::string_view word, std::string_view range) {
  const auto choices = split_list(range, '|');
  return std::find(choices.begin(), choices.end(), word) != choices.end();
}

std::string print(const Number &n, std::string_view type) {
  char text[64];
  std::to_chars_result r{};
  if (type == "f64") r = std::to_chars(text, text + sizeof text, n.real);
  else if (n.whole < 0) r = std::to_chars(text, text + sizeof text, static_cast<int64_t>(n.whole));
  else r = std::to_chars(text, text + sizeof text, static_cast<uint64_t>(n.whole));
  return {text, r.ptr};
}

bool read_bool(std::string_view s, bool *out) {
  for (std::string_view yes : {"true", "1", "yes", "on"})
    if (s == yes) return *out = true, true;
  for (std::string_view no : {"false", "0", "no", "off"})
    if (s == no) return *out = false, true;
  return false;
}

std::string expectation(std::string_view type, std::string_view range) {
  if (type == "bool") return "expects true or false";
  if (is_choice(range)) return (type == "list" ? "expects a list of " : "expects ") + std::string(range);
  return "expects " + std::string(type) + (range.empty() ? "" : " in " + std::string(range));
}

std::string shortened(std::string_view text) {
  constexpr size_t kEnough = 60;
  return std::string(text.substr(0, kEnough)) + (text.size() > kEnough ? "…" : "");
}

Error expected(std::string_view text, std::string_view type, std::string_view range) {
  return error(CONSORT_E_INVAL, expectation(type, range) + ", not \"" + shortened(text) + "\"");
}

}  // namespace

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    const std::string_view element = trim(text.substr(0, end));
    if (!element.empty()) out.emplace_back(element);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

Result<void> check_type(std::string_view type, std::string_view range) {
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
    return error(CONSORT_E_INVAL, "type \"" + std::string(type) +
                                      "\" is not known: a newer host may know it; here there are " +
                                      "bool, i32, i64, u32, u64, f64, string and list");
  const size_t dots = range.find("..");
  if (dots == range.npos) return {};
  Number bound;
  for (std::string_view end : {trim(range.substr(0, dots)), trim(range.substr(dots + 2))})
    if (!is_number(type) || (!end.empty() && !read_number(end, type, &bound)))
      return error(CONSORT_E_INVAL,
                   "range \"" + std::string(range) + "\" makes no sense for type " + std::string(type));
  return {};
}

Result<void> check_written(Written written, std::string_view text, std::string_view type, std::string_view range,
                           bool strict) {
  const bool is_text = type == "string";
  bool fine = true;
  switch (written) {
    case Written::kText: return {};
    case Written::kInteger: fine = is_number(type) || (is_text && !strict); break;
    case Written::kReal: fine = type == "f64" || (is_text && !strict); break;
    case Written::kTruth: fine = type == "bool" || (is_text && !strict); break;
    case Written::kArray: fine = type == "list" || (is_text && !strict); break;
  }
  if (fine) return {};
  constexpr std::string_view kNames[] = {"text ", "integer ", "number ", "truth value ", "array of "};
  std::string e = expectation(type, range) + ", not the " + std::string(kNames[static_cast<size_t>(written)]);
  e += text.empty() ? "nothing" : shortened(text);
  if (is_text) e += ": a text stands in quotes";
  if (type == "list") e += ": a list is written [\"a\", \"b\"]";
  return error(CONSORT_E_INVAL, std::move(e));
}

Result<ConfigValue> read_value(std::string_view text, std::string_view type, std::string_view range) {
  ConfigValue value;
  const std::string_view s = trim(text);
  if (type == "bool") {
    bool b = false;
    if (!read_bool(s, &b)) return expected(text, type, range);
    value.text = b ? "true" : "false";
    value.number = b;
  } else if (type == "list") {
    for (const std::string &element : split_list(s)) {
      if (is_choice(range) && !among(element, range)) return expected(element, type, range);
      value.text += (value.text.empty() ? "" : ",") + element;
    }
  } else if (is_number(type)) {
    Number n;
    if (!read_number(s, type, &n) || !fits(n, type) || !in_range(n, type, range)) return expected(text, type, range);
    value.text = print(n, type);
    if (type == "f64")
      value.number = n.real >= 9.2e18 ? INT64_MAX : n.real <= -9.2e18 ? INT64_MIN : static_cast<int64_t>(n.real);
    else value.number = static_cast<int64_t>(static_cast<uint64_t>(n.whole));
    if (is_choice(range) && !among(value.text, range)) return expected(text, type, range);
  } else {
    value.text = std::string(text);
    if (is_choice(range) && !among(value.text, range)) return expected(text, type, range);
  }
  if (value.text.find('\0') != std::string::npos) return error(CONSORT_E_INVAL, "must not contain a zero byte");
  return value;
}

}  // namespace consort
