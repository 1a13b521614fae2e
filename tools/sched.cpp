// sched.cpp — `consort sched explain`: which scheduler a runtime uses here, which one it has selected, and why.
//
// A child process starts a runtime without threads. A director's first choice, made before any task, is in its log.
#include <cstdio>

#include "commands.hpp"
#include "examine.hpp"
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

}  // namespace

std::string choice_of_director(const std::string &scheduler, const std::vector<LogLine> &log, std::string *reason) {
  Chosen c{scheduler, "", "", ""};
  for (const LogLine &l : log) take_choice(l.text, &c);
  *reason = c.reason;
  return c.current;
}

int run_sched_explain(Settings &settings, bool json) {
  consort_settings s;
  const std::vector<consort_setting> loud = {{"log", "debug"}};
  if (!settings.resolve(&s, loud)) return 2;
  Examination examination;
  examination.admit_for(&s);
  Chosen chosen;
  const auto row = [](void *user, const consort_config_row *r) {
    auto &c = *static_cast<Chosen *>(user);
    if (std::string_view(r->key) == "scheduler") c.scheduler = r->value, c.origin = r->origin;
  };
  if (consort_list_config(&s, row, &chosen) < 0) return failed();
  const Inventory all = [&] {
    const Progress progress("starting a runtime to query it");
    return take_inventory(settings, examination, loud);
  }();
  if (!all.error.empty()) return complain("no runtime starts here: " + all.error);
  chosen.current = choice_of_director(chosen.scheduler, all.log, &chosen.reason);
  const bool directs = !chosen.current.empty();
  if (json) {
    Json j = document("sched explain");
    j["scheduler"] = chosen.scheduler;
    j["origin"] = chosen.origin;
    j["current"] = directs ? chosen.current : chosen.scheduler;
    j["reason"] = chosen.reason.empty() ? Json() : Json(chosen.reason);
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
