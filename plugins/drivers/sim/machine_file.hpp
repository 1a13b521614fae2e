// machine_file.hpp — quantities with units, and the subset of TOML that describes a machine.
//
// Pure functions; errors are thrown as Bad with their position.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

struct Bad { std::string text; };

uint64_t read_bytes(const std::string &where, const std::string &);     // "512M": K, M, G, T of 1024
double read_rate(const std::string &where, const std::string &);       // "12.5G": k, M, G, T of 1000, per second
uint64_t read_time(const std::string &where, const std::string &);     // "200us", "1.5ms", "2s"; a number alone: ns
double read_number(const std::string &where, const std::string &);
bool read_flag(const std::string &where, const std::string &);
std::vector<std::string> split(const std::string &list, char between);  // trimmed, without empty words

struct Table {                                                          // [name] or [[name]], with its entries
  struct Entry { std::string key, value, where; };
  std::string name, where;
  std::vector<Entry> entries;
};
// Strings, numbers, true and false; comments. No arrays, no tables in tables, no escapes.
std::vector<Table> read_tables(const std::string &file, const std::string &text);

}  // namespace sim
