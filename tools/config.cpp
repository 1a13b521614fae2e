// config.cpp — `consort config`: every setting, its value and origin, as a valid TOML file.
#include <algorithm>
#include <cstdio>

#include "catalog.hpp"
#include "commands.hpp"
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

std::string literal(const SettingRow &row) {
  const std::string &type = row.type, &value = row.value;
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

void print(Printer &printer, const SettingRow &row) {
  const std::string &key = row.key, &origin = row.origin;
  if (printer.changed_only && origin == "default") return;
  if (printer.json) {
    printer.json->push_back({{"key", key}, {"value", row.value}, {"origin", origin}, {"type", row.type}, {"default", row.dflt},
                             {"range", row.range}, {"help", row.help}});
    return;
  }
  const size_t dot = key.find('.');
  if (dot != key.npos && key.substr(0, dot) != printer.section) {
    printer.section = key.substr(0, dot);
    std::printf("\n%s\n", bold("[" + printable(printer.section) + "]").c_str());
  }
  std::string about = "# " + row.help + " (" + row.type + (row.range.empty() ? "" : " ") + row.range;
  if (origin != "default") about += std::string("; default ") + (row.dflt.empty() ? "none" : row.dflt);
  std::printf("%s\n", dim(printable(about + ")")).c_str());
  std::printf("%s = %s  %s\n", printable(key.substr(dot == key.npos ? 0 : dot + 1)).c_str(), literal(row).c_str(),
              dim("# " + printable(origin)).c_str());
}

}  // namespace

// A child loads plugins for their parameters; a plugin that ends its process is reported and left out.
int run_config(Settings &settings, bool changed_only, bool json) {
  Examination examination;
  const Catalog found = [&] {
    const Progress progress("loading plugins");
    return take_catalog(settings, examination, Of::kSettings);
  }();
  if (!found.valid) return 2;
  const std::vector<std::string> warnings = warnings_of(settings, found, examination);
  Json all = document("config");
  Json &list = all["settings"] = Json::array();
  Printer printer{changed_only, {}, json ? &list : nullptr};
  for (const SettingRow &row : found.settings) print(printer, row);
  for (const auto &[path, why] : examination.reasons())
    if (!why.empty()) {
      if (json) all["left_out"].push_back({{"file", path}, {"reason", why}});
      else warn(path + " " + why + ": its settings are left out");
    }
  if (json) all["warnings"] = warnings;
  else
    for (const std::string &w : warnings) warn(w);
  if (json) tool::print(all);
  return found.error.empty() ? 0 : complain(found.error);
}

}  // namespace tool
