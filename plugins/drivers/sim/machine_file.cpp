#include "machine_file.hpp"

#include <cmath>
#include <cstdlib>
#include <sstream>

namespace sim {
namespace {

[[noreturn]] void refuse(const std::string &where, const std::string &value, const char *what) {
  throw Bad{where + " = \"" + value + "\" is not a " + what};
}

// Reads the number before the unit; `unit` gets the rest.
double leading(const std::string &where, const std::string &value, const char *what, std::string *unit) {
  const char *start = value.c_str();
  char *end = nullptr;
  const double x = std::strtod(start, &end);
  if (end == start || !std::isfinite(x) || x < 0) refuse(where, value, what);
  *unit = end;
  while (!unit->empty() && unit->front() == ' ') unit->erase(0, 1);
  return x;
}

double scaled(const std::string &where, const std::string &value, double thousand, const char *what) {
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

std::string trimmed(const std::string &s) {
  const size_t a = s.find_first_not_of(" \t\r"), b = s.find_last_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::string without_comment(const std::string &line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

}  // namespace

uint64_t read_bytes(const std::string &where, const std::string &value) {
  const double x = scaled(where, value, 1024, "number of bytes: write 1000000, 512M or 2G");
  if (x >= 1.8e19) refuse(where, value, "number of bytes that fits 64 bits");
  return static_cast<uint64_t>(x);
}

double read_rate(const std::string &where, const std::string &value) {
  return scaled(where, value, 1000, "rate: write 12G for 12 000 000 000 per second");
}

uint64_t read_time(const std::string &where, const std::string &value) {
  constexpr char what[] = "time: write 2000 (ns), 20us, 1.5ms or 2s";
  std::string unit;
  const double x = leading(where, value, what, &unit);
  const double scale = unit.empty() || unit == "ns" ? 1
                       : unit == "us"               ? 1e3
                       : unit == "ms"               ? 1e6
                       : unit == "s"                ? 1e9
                                                    : 0;
  if (scale == 0 || x * scale > 1e18) refuse(where, value, what);
  return static_cast<uint64_t>(std::llround(x * scale));
}

double read_number(const std::string &where, const std::string &value) {
  std::string rest;
  const double x = leading(where, value, "number that is 0 or more", &rest);
  if (!rest.empty()) refuse(where, value, "number that is 0 or more");
  return x;
}

bool read_flag(const std::string &where, const std::string &value) {
  if (value != "true" && value != "false") refuse(where, value, "value: write true or false");
  return value == "true";
}

std::vector<std::string> split(const std::string &list, char between) {
  std::vector<std::string> words;
  std::stringstream in(list);
  for (std::string word; std::getline(in, word, between);)
    if (word = trimmed(word); !word.empty()) words.push_back(word);
  return words;
}

std::vector<Table> read_tables(const std::string &file, const std::string &text) {
  std::vector<Table> tables;
  std::stringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = file + ":" + std::to_string(++number);
    line = trimmed(without_comment(line));
    if (line.empty()) continue;
    if (line.front() == '[') {
      const bool twice = line.size() > 3 && line[1] == '[';
      const std::string close = twice ? "]]" : "]";
      const size_t from = close.size();
      if (line.size() <= 2 * from || line.substr(line.size() - from) != close)
        throw Bad{where + ": \"" + line + "\" is not a table: write [[device]]"};
      tables.push_back({trimmed(line.substr(from, line.size() - 2 * from)), where, {}});
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string::npos || tables.empty())
      throw Bad{where + ": \"" + line + "\": write key = value below a table such as [[device]]"};
    std::string key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (key.size() > 2 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
    if (!value.empty() && value.front() == '"') {
      if (value.size() < 2 || value.back() != '"') throw Bad{where + ": " + key + " has a string without an end"};
      value = value.substr(1, value.size() - 2);
    }
    if (key.empty()) throw Bad{where + ": \"" + line + "\" has no key"};
    tables.back().entries.push_back({key, value, where + ": " + key});
  }
  return tables;
}

}  // namespace sim
