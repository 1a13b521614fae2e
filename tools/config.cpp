// config.cpp — `consort config`: every setting, its value and origin, as a valid TOML file.
#include <algorithm>
#include <cstdio>

#include "commands.hpp"
#include "examine.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Printer {
  bool changed_only;
  std::string section;
  Json *json;                                      // NULL: TOML is printed
};

std::string quote(const std::string &s) {
  std::string out = "\"";
  for (const char c : s) {
    char code[8];
    if (c == '"' || c == '\\') out += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      std::snprintf(code, sizeof code, "\\u%04x", c), out += code;
    else out += c;
  }
  return out + "\"";
}

std::string literal(const consort_config_row &row) {
  const std::string type = row.type, value = row.value;
  if (type == "string") return quote(value);
  if (type != "list") {
    // TOML has no integers beyond 63 bits; quoted ones are accepted. Floats need a point.
    if (type == "u64" && value.size() >= 19) return quote(value);
    return type == "f64" && value.find_first_of(".e") == value.npos ? value + ".0" : value;
  }
  std::string out = "[";
  for (size_t at = 0; at < value.size();) {
    const size_t end = std::min(value.find(',', at), value.size());
    out += (at ? ", " : "") + quote(value.substr(at, end - at));
    at = end + 1;
  }
  return out + "]";
}

void print(void *user, const consort_config_row *row) {
  auto &printer = *static_cast<Printer *>(user);
  const std::string key = row->key, origin = row->origin;
  if (printer.changed_only && origin == "default") return;
  if (printer.json) {
    printer.json->push_back({{"key", key}, {"value", row->value}, {"origin", origin}, {"type", row->type}, {"default", row->dflt},
                             {"range", row->range}, {"help", row->help}});
    return;
  }
  const size_t dot = key.find('.');
  if (dot != key.npos && key.substr(0, dot) != printer.section) {
    printer.section = key.substr(0, dot);
    std::printf("\n%s\n", bold("[" + printable(printer.section) + "]").c_str());
  }
  std::string about = std::string("# ") + row->help + " (" + row->type + (*row->range ? " " : "") + row->range;
  if (origin != "default") about += std::string("; default ") + (*row->dflt ? row->dflt : "none");
  std::printf("%s\n", dim(printable(about + ")")).c_str());
  std::printf("%s = %s  %s\n", printable(key.substr(dot == key.npos ? 0 : dot + 1)).c_str(), literal(*row).c_str(),
              dim("# " + printable(origin)).c_str());
}

}  // namespace

// Loads plugins for their parameters; a plugin that ends its process is reported and left out.
int run_config(Settings &settings, bool changed_only, bool json) {
  consort_settings s;
  if (!settings.resolve(&s)) return 2;
  std::vector<std::string> warnings;
  if (!settings.loud) {                            // else the runtime shows them
    s.log_user = &warnings;
    s.log = [](void *user, int32_t level, const char *line) {
      if (level == 1) static_cast<std::vector<std::string> *>(user)->push_back(line);
    };
  }
  Examination examination;
  {
    const Progress progress("loading plugins");
    examination.admit_for(&s);
  }
  Json all = document("config");
  Json &list = all["settings"] = Json::array();
  Printer printer{changed_only, {}, json ? &list : nullptr};
  const consort_status status = consort_list_config(&s, print, &printer);
  for (const auto &[path, why] : examination.reasons())
    if (!why.empty()) {
      if (json) all["left_out"].push_back({{"file", path}, {"reason", why}});
      else warn(path + " " + why + ": its settings are left out");
      std::erase(warnings, printable(path + " " + why));
    }
  if (json) all["warnings"] = warnings;
  else
    for (const std::string &w : warnings) warn(w);
  if (json) tool::print(all);
  return status < 0 ? failed() : 0;
}

}  // namespace tool
