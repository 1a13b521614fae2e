// described_file.hpp — quantities with units, and the subset of TOML that describes a machine and its network.
//
// Header only; for plugins and tools. Pure functions; errors are thrown as BadDescription with their position.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace consort::shared {

// A description that cannot be read: where, and what to write.
struct BadDescription { std::string text; };

// [name] or [[name]], with its entries.
struct Table {
  struct Entry { std::string key, value, where; };
  std::string name, where;
  std::vector<Entry> entries;
};

namespace described {

[[noreturn]] inline void refuse(const std::string &where, const std::string &value, const char *what) {
  throw BadDescription{where + " = \"" + value + "\" is not a " + what};
}

// Reads the number before the unit; `unit` gets the rest.
inline double leading(const std::string &where, const std::string &value, const char *what, std::string *unit) {
  const char *start = value.c_str();
  char *end = nullptr;
  const double x = std::strtod(start, &end);
  if (end == start || !std::isfinite(x) || x < 0) refuse(where, value, what);
  *unit = end;
  while (!unit->empty() && unit->front() == ' ') unit->erase(0, 1);
  return x;
}

inline double scaled(const std::string &where, const std::string &value, double thousand, const char *what) {
  std::string unit;
  double x = leading(where, value, what, &unit);
  if (unit.empty()) return x;
  const std::string units = "KMGT";
  const char first = static_cast<char>(unit[0] >= 'a' && unit[0] <= 'z' ? unit[0] - 32 : unit[0]);
  const size_t at = units.find(first);
  if (unit.size() != 1 || at == std::string::npos) refuse(where, value, what);
  for (size_t i = 0; i <= at; ++i) x *= thousand;
  return x;
}

inline std::string trimmed(const std::string &s) {
  const size_t a = s.find_first_not_of(" \t\r"), b = s.find_last_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

inline std::string without_comment(const std::string &line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

}  // namespace described

// "512M": K, M, G, T of 1024.
inline uint64_t read_bytes(const std::string &where, const std::string &value) {
  const double x = described::scaled(where, value, 1024, "number of bytes: write 1000000, 512M or 2G");
  if (x >= 1.8e19) described::refuse(where, value, "number of bytes that fits 64 bits");
  return static_cast<uint64_t>(x);
}

// "12.5G": k, M, G, T of 1000, per second.
inline double read_rate(const std::string &where, const std::string &value) {
  return described::scaled(where, value, 1000, "rate: write 12G for 12 000 000 000 per second");
}

// "200us", "1.5ms", "2s"; a number alone: ns.
inline uint64_t read_time(const std::string &where, const std::string &value) {
  constexpr char what[] = "time: write 2000 (ns), 20us, 1.5ms or 2s";
  std::string unit;
  const double x = described::leading(where, value, what, &unit);
  const double scale = unit.empty() || unit == "ns" ? 1
                       : unit == "us"               ? 1e3
                       : unit == "ms"               ? 1e6
                       : unit == "s"                ? 1e9
                                                    : 0;
  if (scale == 0 || x * scale > 1e18) described::refuse(where, value, what);
  return static_cast<uint64_t>(std::llround(x * scale));
}

// A number that is 0 or more.
inline double read_number(const std::string &where, const std::string &value) {
  std::string rest;
  const double x = described::leading(where, value, "number that is 0 or more", &rest);
  if (!rest.empty()) described::refuse(where, value, "number that is 0 or more");
  return x;
}

// true or false.
inline bool read_flag(const std::string &where, const std::string &value) {
  if (value != "true" && value != "false") described::refuse(where, value, "value: write true or false");
  return value == "true";
}

// The words of a list, trimmed, without empty ones.
inline std::vector<std::string> split(const std::string &list, char between) {
  std::vector<std::string> words;
  std::stringstream in(list);
  for (std::string word; std::getline(in, word, between);)
    if (word = described::trimmed(word); !word.empty()) words.push_back(word);
  return words;
}

// The tables of a text. Strings, numbers, true and false; comments. No arrays, no tables in tables, no escapes.
inline std::vector<Table> read_tables(const std::string &file, const std::string &text) {
  std::vector<Table> tables;
  std::stringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = file + ":" + std::to_string(++number);
    line = described::trimmed(described::without_comment(line));
    if (line.empty()) continue;
    if (line.front() == '[') {
      const bool twice = line.size() > 3 && line[1] == '[';
      const std::string close = twice ? "]]" : "]";
      const size_t from = close.size();
      if (line.size() <= 2 * from || line.substr(line.size() - from) != close)
        throw BadDescription{where + ": \"" + line + "\" is not a table: write [[device]]"};
      tables.push_back({described::trimmed(line.substr(from, line.size() - 2 * from)), where, {}});
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string::npos || tables.empty())
      throw BadDescription{where + ": \"" + line + "\": write key = value below a table such as [[device]]"};
    std::string key = described::trimmed(line.substr(0, equals)), value = described::trimmed(line.substr(equals + 1));
    if (key.size() > 2 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
    if (!value.empty() && value.front() == '"') {
      if (value.size() < 2 || value.back() != '"') throw BadDescription{where + ": " + key + " has a string without an end"};
      value = value.substr(1, value.size() - 2);
    }
    if (key.empty()) throw BadDescription{where + ": \"" + line + "\" has no key"};
    tables.back().entries.push_back({key, value, where + ": " + key});
  }
  return tables;
}

}  // namespace consort::shared
