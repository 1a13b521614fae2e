// why_not.cpp — `consort why-not NAME`: why a plugin, a worker or a core of the machine is not used, and the remedy.
//
// Uses public functions (the lists of plugins and settings, a runtime without threads) and reads the log of the runtime
// and its drivers. Child processes load the plugins and start the runtime. Prints one line per
// reason. Exit status: 0 it is used, 1 it is not.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <consort/defaults.h>

#include "catalog.hpp"
#include "commands.hpp"
#include "inventory.hpp"
#include "json.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Plugin {
  uint32_t kind;
  std::string name, version, path, reason;
  bool usable, by_name;
  std::string subject() const { return std::string(kind ? kind_name(kind) : "file") + " \"" + name + "\""; }
};
struct Setting {
  std::string value, origin;
};
struct Worker {
  std::string name, klass;
  int32_t os_cpu;
};

struct Answer {
  std::string subject, text;
  bool used;
};

struct Facts {
  mutable std::vector<Answer> answers;
  std::vector<Plugin> plugins;
  std::string selection;  // error in the settings' selection of plugins
  std::map<std::string, Setting> settings;
  std::vector<std::string> log;
  std::string selected, selected_why;  // the scheduler that the director in use selects; "": there is no director
  std::vector<Worker> workers;
  std::string no_start;  // why no runtime starts; "" if it starts
  std::string culprit, ending;  // the driver that ends the process then, and how; "": none
};

void hear(Facts &facts, const std::string &line) {
  if (std::find(facts.log.begin(), facts.log.end(), line) == facts.log.end()) facts.log.push_back(line);
}

// False: the settings are invalid.
bool ask(Settings &settings, Facts &facts) {
  const std::vector<consort_setting> loud = {{"log", "debug"}};
  Examination examination;
  const Catalog found = take_catalog(settings, examination, Of::kBoth, loud);
  if (!found.valid) return false;
  for (const PluginRow &p : found.plugins)
    facts.plugins.push_back({p.kind, p.name, p.version, p.path, p.reason, p.usable,
                             (p.flags & (CONSORT_PF_BY_NAME | CONSORT_PF_PROBED)) == CONSORT_PF_BY_NAME});
  for (const SettingRow &row : found.settings) facts.settings[row.key] = {row.value, row.origin};
  for (const LogLine &l : found.log) hear(facts, l.text);
  facts.selection = found.error;
  if (facts.plugins.empty() && !facts.selection.empty()) return false;
  Inventory all = take_inventory(settings, examination, loud);
  facts.no_start = all.error;
  facts.culprit = all.culprit;
  facts.ending = all.ending;
  facts.selected = choice_of_director(facts.settings["scheduler"].value, all.log, &facts.selected_why);
  for (const LogLine &l : all.log) hear(facts, l.text);
  for (const Unit &u : all.units) facts.workers.push_back({u.name, u.klass, u.os_cpu});
  return true;
}

// The logged text after `start`, "" if none.
std::string logged(const Facts &facts, const std::string &start) {
  for (const std::string &line : facts.log)
    if (line.starts_with(start)) return line.substr(start.size());
  return {};
}

std::string said_by(const Facts &facts, const std::string &driver) {
  std::string all;
  for (const std::string &line : facts.log)
    if (line.starts_with(driver + ": ")) all += (all.empty() ? "" : "; ") + line.substr(driver.size() + 2);
  return all;
}

int used(const Facts &facts, const std::string &subject, const std::string &how) {
  return facts.answers.push_back({subject, subject + " is used: " + how, true}), 0;
}
int unused(const Facts &facts, const std::string &subject, const std::string &why) {
  return facts.answers.push_back({subject, subject + " is not used: " + why, false}), 1;
}

std::string because(const Facts &facts, const std::string &key) {
  const auto it = facts.settings.find(key);
  if (it == facts.settings.end()) return key;
  return key + " = \"" + it->second.value + "\" (" + it->second.origin + ")";
}

int explain_driver(const Facts &facts, const Plugin &p) {
  const std::string driver = "driver \"" + p.name + "\" ";
  if (p.name == facts.culprit)
    return unused(facts, p.subject(), "it " + facts.ending + " when it starts; drivers = \"^" + p.name + "\" leaves it out");
  if (const std::string why = logged(facts, driver + "did not start: "); !why.empty())
    return unused(facts, p.subject(), "it did not start: " + why + "; `consort plugins -v` lists its parameters");
  if (const std::string why = logged(facts, driver + "is not started: "); !why.empty())
    return unused(facts, p.subject(), why + "; drivers = \"*, " + p.name + "\" starts it anyway, and logs what is missing");
  if (const std::string offer = logged(facts, driver + "offers "); !offer.empty()) {
    if (!offer.starts_with("0 devices")) return used(facts, p.subject(), "it offers " + offer + "; `consort topo` shows them");
    const std::string said = said_by(facts, p.name);
    return unused(facts, p.subject(), "it started and found no device: " +
                               (said.empty() ? "it gives no reason; is the device there?" : said));
  }
  if (!facts.no_start.empty()) return unused(facts, p.subject(), "no runtime starts here: " + facts.no_start);
  return unused(facts, p.subject(), because(facts, "drivers") + " does not select it" +
                             (p.by_name ? ", which starts only by its name" : "") + "; add " + p.name + " there" +
                             (p.by_name ? "" : ", or set drivers = \"*\""));
}

int explain_usable(const Facts &facts, const Plugin &p) {
  const std::string from = p.path.empty() ? "linked into the program" : p.path;
  switch (p.kind) {
    case CONSORT_KIND_DRIVER:
      return explain_driver(facts, p);
    case CONSORT_KIND_SCHEDULER: {
      const auto chosen = facts.settings.find("scheduler");
      if (facts.selected == p.name && facts.no_start.empty())
        return used(facts, p.subject(), because(facts, "scheduler") + " selects it" +
                                            (facts.selected_why.empty() ? "" : ": " + facts.selected_why));
      if (chosen == facts.settings.end() || chosen->second.value != p.name)
        return unused(facts, p.subject(), because(facts, "scheduler") + " selects another; set CONSORT_SCHEDULER=" + p.name);
      return facts.no_start.empty() ? used(facts, p.subject(), because(facts, "scheduler") + ", from " + from)
                                    : unused(facts, p.subject(), "no runtime starts here: " + facts.no_start);
    }
    case CONSORT_KIND_INTERFACE:
      return used(facts, p.subject(), "it is loaded with the first datum that names it, from " + from);
    case CONSORT_KIND_REPORT:
    case CONSORT_KIND_LAYER: {
      const std::string key = p.kind == CONSORT_KIND_REPORT ? "reports" : "layers";
      const auto checked = facts.settings.find("check_access");
      if (p.kind == CONSORT_KIND_LAYER && p.name == CONSORT_DEFAULT_ACCESS_CHECK && facts.no_start.empty() &&
          checked != facts.settings.end() && checked->second.value == "true")
        return used(facts, p.subject(), because(facts, "check_access") + " asks for it, from " + from);
      const auto named = facts.settings.find(key);
      const std::string list = named == facts.settings.end() ? "" : "," + named->second.value + ",";
      if (list.find("," + p.name + ",") == list.npos)
        return unused(facts, p.subject(), because(facts, key) + " does not name it; set CONSORT_" +
                                   (p.kind == CONSORT_KIND_REPORT ? "REPORTS=" : "LAYERS=") + p.name);
      return facts.no_start.empty() ? used(facts, p.subject(), because(facts, key) + ", from " + from)
                                    : unused(facts, p.subject(), "no runtime starts here: " + facts.no_start);
    }
    default:
      return unused(facts, p.subject(), "it can be loaded, but this version uses no " + std::string(kind_name(p.kind)));
  }
}

int explain_refused(const Facts &facts, const Plugin &p) {
  std::string remedy;
  if (p.reason.find(" ends the process ") != p.reason.npos || p.reason.find(" does not return ") != p.reason.npos)
    remedy = "; fix the plugin (consort conform " + p.path + "), or remove it from its folder";
  else if (p.reason.starts_with("left out by "))
    remedy = "; change that setting";
  else if (p.reason.find(" gives way: ") != p.reason.npos)
    remedy = "; select this file by plugins = \"+" + p.path + "\"";
  else if (p.reason.find("cannot be loaded: ") != p.reason.npos)
    remedy = "; install what is missing, or rebuild the plugin (ldd -r shows what it needs)";
  else if (p.kind == 0)
    remedy = "; build it with consort_add_plugin(), or remove it from the folder";
  return unused(facts, p.subject(), p.reason + remedy);
}

// A name selects all plugins of that name; a path selects one file.
int explain_plugins(const Facts &facts, const std::vector<const Plugin *> &mine) {
  int status = 1;
  for (const Plugin *p : mine)
    if ((p->usable ? explain_usable(facts, *p) : explain_refused(facts, *p)) == 0) status = 0;
  return status;
}

bool has(const std::string &list, unsigned long cpu) {  // "0-3,8"
  for (const char *p = list.c_str(); *p;) {
    char *end;
    unsigned long low = std::strtoul(p, &end, 10), high = low;
    if (end == p) return false;
    if (*end == '-') high = end[1] ? std::strtoul(end + 1, &end, 10) : (++end, ~0ul);
    if (cpu >= low && cpu <= high) return true;
    p = *end == ',' ? end + 1 : end;
    if (*end && *end != ',') return false;
  }
  return false;
}

struct Unused {
  std::string cpus, why;
};
std::vector<Unused> unused_cpus(const Facts &facts) {  // as logged by drivers: "DRIVER: os cpus LIST not used: WHY"
  std::vector<Unused> all;
  for (const std::string &line : facts.log) {
    const size_t at = line.find(": os cpus "), middle = line.find(" not used: ");
    if (at == line.npos || middle == line.npos || middle < at + 10) continue;
    all.push_back({line.substr(at + 10, middle - at - 10), line.substr(middle + 11)});
  }
  return all;
}

int explain_cpu(const Facts &facts, const std::string &text) {
  const std::string subject = "os cpu " + text;
  char *end;
  const unsigned long cpu = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end || !std::isdigit(static_cast<unsigned char>(text[0]))) {
    return complain("\"os:" + text + "\" is not a core; write os:3, a number of /proc/cpuinfo", 2);
  }
  if (!facts.no_start.empty()) return unused(facts, subject, "no runtime starts here: " + facts.no_start);
  for (const Unused &u : unused_cpus(facts))
    if (has(u.cpus, cpu)) return unused(facts, subject, u.why);
  for (const Worker &w : facts.workers)
    if (w.os_cpu >= 0 && static_cast<unsigned long>(w.os_cpu) == cpu) return used(facts, subject, "by worker " + w.name);
  return unused(facts, subject, "no driver reports it; lscpu shows this machine's cores");
}

int explain_worker(const Facts &facts, const std::string &name) {
  for (const Worker &w : facts.workers)
    if (w.name == name)
      return used(facts, "worker " + name,
                  w.os_cpu < 0 ? "it is bound to no core" : "it runs on os cpu " + std::to_string(w.os_cpu));
  const std::string klass = name.substr(0, name.find_last_not_of("0123456789") + 1);
  const auto n =
      std::count_if(facts.workers.begin(), facts.workers.end(), [&](const Worker &w) { return w.klass == klass; });
  if (n == 0 || klass == name) return -1;
  const std::vector<Unused> left = unused_cpus(facts);
  unused(facts, "worker " + name, "there are " + std::to_string(n) + " of class " + klass + ", " + klass + "0 to " + klass +
                               std::to_string(n - 1) +
                               (left.empty() ? ": every core of this machine has a worker" : ""));
  for (const Unused &u : left) facts.answers.back().text += "\n  os cpus " + u.cpus + ": " + u.why;
  return 1;
}

int explain_absence(const Facts &facts, const std::string &name) {
  std::vector<std::string> names;
  for (const Plugin &p : facts.plugins) names.push_back(p.name);
  for (const Worker &w : facts.workers) names.push_back(w.name);
  std::string text = "no plugin, file or worker of that name was found" + did_you_mean(name, names) + "; looked in";
  std::string folders;
  for (const std::string &line : facts.log)
    if (line.starts_with("plugin folder ")) folders += (folders.empty() ? " " : ", ") + line.substr(14);
  return unused(facts, "\"" + name + "\"",
                text + (folders.empty() ? " no folder" : folders) + "; add its folder to CONSORT_PLUGIN_PATH");
}

int explain(const Facts &facts, const std::string &name) {
  std::vector<const Plugin *> mine;
  for (const Plugin &p : facts.plugins) {
    const std::string file = p.path.substr(p.path.rfind('/') + 1);
    if (name == p.name || name == p.path || name == file || name + ".so" == file) mine.push_back(&p);
  }
  if (!mine.empty()) return explain_plugins(facts, mine);
  if (name.starts_with("os:")) return explain_cpu(facts, name.substr(3));
  if (const int status = explain_worker(facts, name); status >= 0) return status;
  const std::string driver = name.substr(0, name.find_last_not_of("0123456789") + 1);
  for (const Plugin &p : facts.plugins)  // a worker of this driver
    if (p.kind == CONSORT_KIND_DRIVER && p.name == driver) mine.push_back(&p);
  if (mine.empty()) return explain_absence(facts, name);
  facts.answers.push_back({"worker " + name, "worker " + name + " does not exist", false});
  explain_plugins(facts, mine);
  return 1;
}

}  // namespace

int run_why_not(Settings &settings, const std::string &name, bool json) {
  Facts facts;
  const bool asked = [&] {
    const Progress progress("starting a runtime to query it");
    return ask(settings, facts);
  }();
  if (!asked) return facts.selection.empty() ? 2 : complain(facts.selection);
  const int status = explain(facts, name);
  if (status == 2) return status;
  Json all = document("why-not");
  all["name"] = name;
  all["used"] = status == 0;
  all["answers"] = Json::array();
  for (const Answer &a : facts.answers) {
    if (json) all["answers"].push_back({{"subject", a.subject}, {"used", a.used}, {"text", a.text}});
    else std::printf("%s\n", printable(a.text, Newlines::kKeep).c_str());
  }
  if (json) print(all);
  return status;
}

}  // namespace tool
