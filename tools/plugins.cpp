// plugins.cpp — `consort plugins`: the plugins that were found, and why some are not used.
//
// --verbose and --json load each plugin, after a child process has loaded it successfully.
#include <algorithm>
#include <cstdio>

#include "commands.hpp"
#include "examine.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Parameter {
  std::string key, type, dflt, range, help;
};
struct Found {
  uint32_t kind, flags;
  std::string name, version, path, reason, summary, license, host_abi, abi;
  bool usable;
  std::vector<Parameter> parameters;
};
struct Lists {
  std::vector<Found> all;
  std::vector<std::string> warnings;
};

std::string text(const char *s) { return s ? s : ""; }
std::string version(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

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

void take(void *user, const consort_plugin_row *row) {
  Found f{row->kind, row->flags, row->name, row->version, row->path, row->reason, row->summary, row->license,
          version(row->host_major, row->host_minor), version(row->abi_major, row->abi_minor), row->usable != 0, {}};
  for (uint32_t i = 0; i < row->nparams; ++i) {
    const consort_param &p = row->params[i];
    f.parameters.push_back({text(p.key), text(p.type), text(p.dflt), text(p.range), text(p.help)});
  }
  static_cast<Lists *>(user)->all.push_back(std::move(f));
}

void print_details(const Found &f) {
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

void print_lists(const Lists &lists, bool verbose) {
  Table used({"KIND", "NAME", "VERSION", "FILE"});
  bool first = true, refused = false;
  for (const Found &f : lists.all) {
    if (!f.usable) continue;
    if (verbose && !first) std::puts("");
    first = false;
    if (verbose) print_details(f);
    else used.add({kind_name(f.kind), f.name, f.version, f.path.empty() ? "(linked into the program)" : f.path});
  }
  if (!used.empty()) used.print();
  for (const Found &f : lists.all) {
    if (f.usable) continue;
    if (!refused) std::printf("\n%s\n", yellow("not used:").c_str());
    refused = true;
    std::printf("  %s\n", printable(f.reason).c_str());
  }
}

Json json_of(const Lists &lists) {
  Json j = document("plugins");
  j["plugins"] = Json::array();
  for (const Found &f : lists.all) {
    Json p = {{"kind", kind_name(f.kind)}, {"name", f.name}, {"version", f.version}, {"file", f.path}, {"usable", f.usable}, {"reason", f.reason},
              {"host_abi", f.host_abi}, {"abi", f.abi}, {"flags", flags_of(f.flags)}, {"summary", f.summary}, {"licence", f.license},
              {"parameters", Json::array()}};
    for (const Parameter &q : f.parameters)
      p["parameters"].push_back({{"key", f.name + "." + q.key}, {"type", q.type}, {"default", q.dflt}, {"range", q.range}, {"help", q.help}});
    j["plugins"].push_back(std::move(p));
  }
  j["warnings"] = lists.warnings;
  return j;
}

}  // namespace

int run_plugins(Settings &settings, bool verbose, bool json) {
  consort_settings s;
  if (!settings.resolve(&s)) return 2;
  Lists lists;
  if (!settings.loud) {                            // hides warnings that are not reasons of a refusal
    s.log_user = &lists;
    s.log = [](void *user, int32_t level, const char *line) {
      if (level == 1) static_cast<Lists *>(user)->warnings.push_back(line);
    };
  }
  Examination examination;
  const bool load = verbose || json;
  const consort_status status = [&] {
    const Progress progress("loading plugins");
    if (load) examination.admit_for(&s);
    return consort_list_plugins(&s, load ? CONSORT_LIST_LOAD : 0, take, &lists);
  }();
  std::erase_if(lists.warnings, [&](const std::string &w) {
    return std::any_of(lists.all.begin(), lists.all.end(), [&](const Found &f) { return printable(f.reason) == w; });
  });
  if (json) print(json_of(lists));
  else print_lists(lists, verbose);
  if (!json)
    for (const std::string &w : lists.warnings) warn(w);
  return status < 0 ? failed() : 0;
}

}  // namespace tool
