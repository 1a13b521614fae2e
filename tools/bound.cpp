// bound.cpp — `consort bound`: compares a recorded run with the shortest possible one on its machine.
//
// The output is that of the report "bound", a plugin; only its settings are here.
#include <consort/reports.h>

#include <cstdio>

#include "commands.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {

int run_bound(Settings &settings, const BoundOptions &o) {
  std::vector<consort_setting> extra;
  const auto set = [&](const char *key, const std::string &value) {
    if (!value.empty()) extra.push_back({key, value.c_str()});
  };
  set("bound.kind", o.kind);
  set("bound.seconds", o.seconds);
  set("bound.lp", o.lp);
  set("bound.mps", o.mps);
  set("bound.dot", o.dot);
  if (o.integer) extra.push_back({"bound.integer", "true"});
  if (o.json) extra.push_back({"bound.json", "true"});
  consort_settings s;
  if (!settings.resolve(&s, extra)) return 2;
  Progress progress("computing the bound of " + o.record);
  if (o.json) {                                    // the report writes one line, an object
    Json all = document("bound");
    const consort_status told = consort_report_file(&s, "bound", o.record.c_str(), [](void *user, const char *line) {
      if (const Json said = Json::parse(line, nullptr, false); said.is_object()) static_cast<Json *>(user)->update(said);
    }, &all);
    progress.clear();
    if (told >= 0) print(all);
    return told < 0 ? failed() : 0;
  }
  const consort_status told = consort_report_file(
      &s, "bound", o.record.c_str(), [](void *user, const char *line) {
        static_cast<Progress *>(user)->clear();
        std::puts(printable(line).c_str());
      }, &progress);
  return told < 0 ? failed() : 0;
}

}  // namespace tool
