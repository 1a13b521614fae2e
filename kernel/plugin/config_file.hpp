// config_file.hpp — TOML to a flat list of keys with their lines. The one room that knows toml++.
//
// Pure but for reading the file; [control]. It knows no key: what they mean is the Config's affair.
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

// place: how errors and lines name the text ("file x.toml", "text"); ":line" is added.
Result<std::vector<ConfigLine>> read_toml(std::string_view text, const std::string &place);
// others: what who_else_may_write() says of it; may be NULL.
Result<std::string> read_config_file(const char *path, std::string *others = nullptr);

}  // namespace consort
