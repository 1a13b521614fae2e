// plugins.cpp — `consort plugins`: what was found, and why something is not used.
#include <cstdio>

#include "commands.hpp"

namespace tool {
namespace {

struct Lists {
  bool verbose;
  Table used{{"KIND", "NAME", "VERSION", "FILE"}};
  std::vector<std::string> refused;
  bool first = true;
};

std::string version(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::string flags_of(uint32_t flags) {
  constexpr struct { uint32_t bit; const char *name; } names[] = {{CONSORT_PF_UNLOADABLE, "unloadable"},
                                                                  {CONSORT_PF_SWAPPABLE, "swappable"},
                                                                  {CONSORT_PF_VIRTUAL, "virtual time"},
                                                                  {CONSORT_PF_NEEDS_MINOR, "needs its minor"},
                                                                  {CONSORT_PF_BY_NAME, "by name only"}};
  std::string text;
  for (const auto &n : names)
    if (flags & n.bit) text += (text.empty() ? "" : ", ") + std::string(n.name);
  return text;
}

void print_details(const consort_plugin_row &row) {
  std::printf("%s %s %s%s%s\n", kind_name(row.kind), row.name, row.version, *row.summary ? ": " : "", row.summary);
  std::printf("  file       %s\n", *row.path ? row.path : "linked into the program");
  std::printf("  built for  host ABI %s, %s ABI %s\n", version(row.host_major, row.host_minor).c_str(),
              kind_name(row.kind), version(row.abi_major, row.abi_minor).c_str());
  if (row.flags) std::printf("  is         %s\n", flags_of(row.flags).c_str());
  if (*row.license) std::printf("  licence    %s\n", row.license);
  for (uint32_t i = 0; i < row.nparams; ++i) {
    const consort_param &p = row.params[i];
    std::printf("  %s.%s = %s  (%s%s%s) %s\n", row.name, p.key, *p.dflt ? p.dflt : "\"\"", p.type, p.range ? " " : "",
                p.range ? p.range : "", p.help ? p.help : "");
  }
}

void take(void *user, const consort_plugin_row *row) {
  auto &lists = *static_cast<Lists *>(user);
  if (!row->usable) {
    lists.refused.push_back(row->reason);
  } else if (lists.verbose) {
    if (!lists.first) std::puts("");
    lists.first = false;
    print_details(*row);
  } else {
    lists.used.add(
        {kind_name(row->kind), row->name, row->version, *row->path ? row->path : "(linked into the program)"});
  }
}

}  // namespace

int run_plugins(Settings &settings, bool verbose) {
  consort_settings s;
  if (!settings.resolve(&s)) return 2;
  Lists lists;
  lists.verbose = verbose;
  const consort_status status = consort_list_plugins(&s, verbose ? CONSORT_LIST_LOAD : 0, take, &lists);
  if (!verbose && !lists.used.empty()) lists.used.print();
  if (!lists.refused.empty()) {
    std::puts("\nnot used:");
    for (const std::string &reason : lists.refused) std::printf("  %s\n", reason.c_str());
  }
  return status < 0 ? failed() : 0;
}

}  // namespace tool
