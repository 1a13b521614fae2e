// sched.cpp — `consort sched explain`: which scheduler a runtime uses here, which one it has selected, and why.
//
// A child process lists the settings, another starts a runtime without threads. A director's first choice, made before any task, is in its log.
#include <cstdio>

#include "catalog.hpp"
#include "commands.hpp"
#include "inventory.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Chosen {
  std::string scheduler, origin;   // the setting
  std::string current, reason;     // current: the scheduler's own name, unless it selects another
};

// "scheduler 'auto' selects 'lws': 4 like units"
void take_choice(const std::string &line, Chosen *c) {
  const std::string start = "scheduler '" + c->scheduler + "' selects '";
  if (!line.starts_with(start)) return;
  const size_t end = line.find('\'', start.size());
  if (end == line.npos) return;
  c->current = line.substr(start.size(), end - start.size());
  c->reason = line.size() > end + 3 ? line.substr(end + 3) : "";
}

void warn_of_all(const Examination &examination, const std::vector<std::string> &warnings) {
  for (const auto &[path, why] : examination.reasons())
    if (!why.empty()) warn(path + " " + why + ": it is left out");
  for (const std::string &w : warnings) warn(w);
}

}  // namespace

std::string choice_of_director(const std::string &scheduler, const std::vector<LogLine> &log, std::string *reason) {
  Chosen c{scheduler, "", "", ""};
  for (const LogLine &l : log) take_choice(l.text, &c);
  *reason = c.reason;
  return c.current;
}

int run_sched_explain(Settings &settings, bool json) {
  const std::vector<consort_setting> loud = {{"log", "debug"}};
  Examination examination;
  const Catalog found = take_catalog(settings, examination, Of::kSettings, loud);
  if (!found.valid) return 2;
  if (!found.error.empty()) return complain(found.error);
  Chosen chosen;
  for (const SettingRow &row : found.settings)
    if (row.key == "scheduler") chosen.scheduler = row.value, chosen.origin = row.origin;
  const Inventory all = [&] {
    const Progress progress("starting a runtime to query it");
    return take_inventory(settings, examination, loud);
  }();
  const std::vector<std::string> warnings = warnings_of(settings, found, examination);
  if (!json || !all.error.empty()) warn_of_all(examination, warnings);
  if (!all.error.empty()) return complain("no runtime starts here: " + all.error);
  chosen.current = choice_of_director(chosen.scheduler, all.log, &chosen.reason);
  const bool directs = !chosen.current.empty();
  if (json) {
    Json j = document("sched explain");
    j["scheduler"] = chosen.scheduler;
    j["origin"] = chosen.origin;
    j["current"] = directs ? chosen.current : chosen.scheduler;
    j["reason"] = chosen.reason.empty() ? Json() : Json(chosen.reason);
    for (const auto &[path, why] : examination.reasons())
      if (!why.empty()) j["left_out"].push_back({{"file", path}, {"reason", why}});
    j["warnings"] = warnings;
    print(j);
    return 0;
  }
  std::string text = "scheduler = \"" + chosen.scheduler + "\" (" + chosen.origin + ")";
  if (directs) {
    text += " selects " + chosen.current + (chosen.reason.empty() ? "" : ": " + chosen.reason);
    text += "\nit may change while tasks run: log = \"info\" reports each change, consort_explain() the current choice";
  } else {
    text += " takes all tasks; scheduler = \"auto\" selects one by the machine and the tasks";
  }
  std::printf("%s\n", printable(text, Newlines::kKeep).c_str());
  return 0;
}

}  // namespace tool
