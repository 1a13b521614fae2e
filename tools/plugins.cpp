// plugins.cpp — `consort plugins`: the plugins that were found, and why some are not used.
//
// --verbose and --json load the plugins in child processes.
#include <algorithm>
#include <cstdio>

#include "catalog.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

std::vector<std::string> flags_of(uint32_t flags) {
  constexpr struct { uint32_t bit; const char *name; } names[] = {{CONSORT_PF_UNLOADABLE, "unloadable"},
                                                                  {CONSORT_PF_SWAPPABLE, "swappable"},
                                                                  {CONSORT_PF_VIRTUAL, "virtual time"},
                                                                  {CONSORT_PF_NEEDS_MINOR, "needs its minor"},
                                                                  {CONSORT_PF_BY_NAME, "by name only"},
                                                                  {CONSORT_PF_PROBED, "where its devices are found"},
                                                                  {CONSORT_PF_LAST, "devices that others leave"}};
  std::vector<std::string> all;
  for (const auto &n : names)
    if ((flags & n.bit) && !(n.bit == CONSORT_PF_BY_NAME && (flags & CONSORT_PF_PROBED))) all.push_back(n.name);
  return all;
}

void print_details(const PluginRow &f) {
  const std::string kind = kind_name(f.kind), name = printable(f.name);
  std::printf("%s %s%s%s\n", bold(kind + " " + name).c_str(), printable(f.version).c_str(), f.summary.empty() ? "" : ": ",
              printable(f.summary).c_str());
  std::printf("  file       %s\n", f.path.empty() ? "linked into the program" : printable(f.path).c_str());
  std::printf("  built for  host ABI %s, %s ABI %s\n", f.host_abi.c_str(), kind.c_str(), f.abi.c_str());
  std::string is;
  for (const std::string &flag : flags_of(f.flags)) is += (is.empty() ? "" : ", ") + flag;
  if (!is.empty()) std::printf("  is         %s\n", is.c_str());
  if (!f.license.empty()) std::printf("  licence    %s\n", printable(f.license).c_str());
  for (const Parameter &p : f.parameters) {
    const std::string range = p.range.empty() ? "" : " " + p.range;
    std::printf("  %s.%s = %s  (%s) %s\n", name.c_str(), printable(p.key).c_str(), p.dflt.empty() ? "\"\"" : printable(p.dflt).c_str(),
                printable(p.type + range).c_str(), printable(p.help).c_str());
  }
}

void print_lists(const Catalog &lists, bool verbose) {
  Table used({"KIND", "NAME", "VERSION", "FILE"});
  bool first = true, refused = false;
  for (const PluginRow &f : lists.plugins) {
    if (!f.usable) continue;
    if (verbose && !first) std::puts("");
    first = false;
    if (verbose) print_details(f);
    else used.add({kind_name(f.kind), f.name, f.version, f.path.empty() ? "(linked into the program)" : f.path});
  }
  if (!used.empty()) used.print();
  for (const PluginRow &f : lists.plugins) {
    if (f.usable) continue;
    if (!refused) std::printf("\n%s\n", yellow("not used:").c_str());
    refused = true;
    std::printf("  %s\n", printable(f.reason).c_str());
  }
}

Json json_of(const Catalog &lists, const std::vector<std::string> &warnings) {
  Json j = document("plugins");
  j["plugins"] = Json::array();
  for (const PluginRow &f : lists.plugins) {
    Json p = {{"kind", kind_name(f.kind)}, {"name", f.name}, {"version", f.version}, {"file", f.path}, {"usable", f.usable}, {"reason", f.reason},
              {"host_abi", f.host_abi}, {"abi", f.abi}, {"flags", flags_of(f.flags)}, {"summary", f.summary}, {"licence", f.license},
              {"parameters", Json::array()}};
    for (const Parameter &q : f.parameters)
      p["parameters"].push_back({{"key", f.name + "." + q.key}, {"type", q.type}, {"default", q.dflt}, {"range", q.range}, {"help", q.help}});
    j["plugins"].push_back(std::move(p));
  }
  j["warnings"] = warnings;
  return j;
}

}  // namespace

int run_plugins(Settings &settings, bool verbose, bool json) {
  const Catalog lists = [&] {
    const Progress progress("loading plugins");
    Examination examination;
    return verbose || json ? take_catalog(settings, examination, Of::kPlugins) : take_catalog_unloaded(settings);
  }();
  if (!lists.valid) return 2;
  std::vector<std::string> warnings;               // that are not reasons of a refusal
  for (const LogLine &l : lists.log) {
    const auto same = [&](const PluginRow &p) { return printable(p.reason) == l.text; };
    if (l.level == 1 && !settings.loud && std::none_of(lists.plugins.begin(), lists.plugins.end(), same)) warnings.push_back(l.text);
  }
  if (json) print(json_of(lists, warnings));
  else print_lists(lists, verbose);
  if (!json)
    for (const std::string &w : warnings) warn(w);
  return lists.error.empty() ? 0 : complain(lists.error);
}

}  // namespace tool
