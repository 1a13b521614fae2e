// config_file.hpp — converts TOML to a flat list of keys with their lines. The only unit that uses toml++.
//
// Pure except for reading the file; [control]. It knows no keys: Config interprets them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plugin/config_value.hpp"

namespace consort {

struct ConfigLine {
  std::string key;    // "window", "plugin.depth"
  std::string value;  // numbers in decimal, true or false, arrays with commas between
  std::string place;  // "file x.toml:3"
  Written written = Written::kText;
};

// place: the name of the text in errors ("file x.toml", "text"); ":line" is appended.
Result<std::vector<ConfigLine>> read_toml(std::string_view text, const std::string &place);
// others: receives the result of other_writers(); may be NULL.
Result<std::string> read_config_file(const char *path, std::string *others = nullptr);

}  // namespace consort
