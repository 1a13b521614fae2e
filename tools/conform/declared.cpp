#include "declared.hpp"

#include <cstdio>

#include "child.hpp"
#include "param_text.hpp"
#include "plugin.hpp"

namespace conform {
namespace {

constexpr double kSeconds = 20;
constexpr uint32_t kMost = 1024;
// Delimits the list: a plugin may print anything when it is loaded and when the process ends.
const std::string kBegin = "\n\x01parameters\n", kEnd = "\x01end\n";
constexpr const char *kBetween = "\x02";

std::string line_of(const consort_param &p) {
  const auto text = [](const char *s) { return std::string(s ? s : ""); };
  return text(p.key) + kBetween + text(p.type) + kBetween + text(p.range) + "\n";
}

void print_params(const Subject &s) {
  const Library library(s.path);
  if (!library.error().empty()) return;
  const Host host;
  const consort_plugin *p = find_plugin(library.entry()(host.table()), s.name());
  if (!p) return;
  const consort_plugin whole = copy_manifest(p);
  if (whole.nparams > kMost || (whole.nparams && !whole.params)) return;
  std::string list = kBegin;
  for (uint32_t i = 0; i < whole.nparams; ++i) list += line_of(whole.params[i]);
  std::fputs((list + kEnd).c_str(), stdout);
}

}  // namespace

std::optional<std::vector<Param>> declared_params(const Subject &s) {
  if (!s.note.kind) return {};
  const std::string printed = run_apart(kSeconds, [&] { print_params(s); }).printed;
  const size_t begin = printed.find(kBegin), end = printed.find(kEnd);
  if (begin == printed.npos || end == printed.npos || end < begin) return {};
  std::vector<Param> all;
  const std::string list = printed.substr(begin + kBegin.size(), end - begin - kBegin.size());
  for (const std::string &line : split(list, "\n")) {
    const std::vector<std::string> parts = split(line, kBetween);
    if (parts.size() == 3) all.push_back({parts[0], parts[1], parts[2]});
  }
  return all;
}

}  // namespace conform
