// json.hpp — output of commands with --json: one object with stable names, in the order of docs/command-json.md.
#pragma once
#include <consort/consort.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace tool {

using Json = nlohmann::ordered_json;

// {"command": …, "format": 1, "consort": version}, A later format may drop or change names; new names do not change it.
inline Json document(const char *command) { return {{"command", command}, {"format", 1}, {"consort", consort_version()}}; }

// Bytes that are not UTF-8 become U+FFFD.
inline std::string text_of(const Json &json, int indent = 2) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}
inline void print(const Json &json) { std::printf("%s\n", text_of(json).c_str()); }

}  // namespace tool
