// doctor.cpp — `consort doctor`: features of this machine, missing packages, and the line that installs them.
#include "doctor.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "catalog.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

void look_at_plugins(Settings &settings, Examination &examination, Findings *out) {
  const Catalog found = take_catalog(settings, examination, Of::kPlugins);
  if (!found.valid) return;
  std::map<std::string, uint32_t> counts;          // by kind
  std::vector<std::string> refused;                // reasons
  for (const PluginRow &p : found.plugins) {
    if (p.usable) ++counts[kind_name(p.kind)];
    else refused.push_back(p.reason);
  }
  std::string text;
  for (const auto &[kind, n] : counts) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + kind + (n == 1 ? "" : "s");
  out->add("plugins", "found", counts.empty() ? State::kBad : State::kGood, counts.empty() ? "none" : text,
           counts.empty() ? "add the plugins' folder to CONSORT_PLUGIN_PATH" : "");
  if (!found.error.empty()) out->add("plugins", "settings", State::kBad, found.error);
  for (const std::string &reason : refused) out->add("plugins", "not used", State::kNote, reason);
  for (const LogLine &l : found.log)
    if (l.level == 1 && std::find(refused.begin(), refused.end(), l.text) == refused.end()) out->add("plugins", "warning", State::kNote, l.text);
}

// "driver "cuda" did not start: …" of the log, and drivers that found nothing.
void look_at_devices(const Inventory &all, Findings *out) {
  if (!all.error.empty()) return out->add("devices", "runtime", State::kBad, "does not start: " + all.error, "`consort why-not NAME` explains one plugin");
  std::map<std::string, uint32_t> units;
  for (const Unit &u : all.units) ++units[u.klass];
  std::string text;
  for (const auto &[klass, n] : units) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + klass;
  out->add("devices", "units", units.empty() ? State::kBad : State::kGood, text.empty() ? "none" : text);
  for (const Space &s : all.spaces)
    out->add("devices", "space " + s.name, State::kGood, (s.capacity ? bytes(s.capacity) : "size unknown") + ", driver " + s.driver);
  for (const LogLine &l : all.log) {
    if (l.text.starts_with("units in use: ")) out->add("devices", "used by default", State::kGood, l.text.substr(14));
    if (l.text.find(": device ") != l.text.npos && l.text.find(" is not used: ") != l.text.npos) out->add("devices", "device", State::kNote, l.text);
    const std::string start = "driver \"";
    if (!l.text.starts_with(start)) continue;
    const size_t end = l.text.find('"', start.size()), why = l.text.find("did not start: "), left = l.text.find(" is not started: ");
    if (end == l.text.npos) continue;
    const std::string name = l.text.substr(start.size(), end - start.size());
    if (why != l.text.npos) out->add("devices", "driver " + name, State::kNote, "did not start: " + l.text.substr(why + 15));
    else if (left != l.text.npos) out->add("devices", "driver " + name, State::kNote, "not started: " + l.text.substr(left + 17));
    else if (l.text.find(" offers 0 devices") != l.text.npos) out->add("devices", "driver " + name, State::kNote, "found no device; consort why-not " + name + " says more");
  }
}

const char *mark_of(State s) { return s == State::kGood ? "ok" : s == State::kNote ? "--" : "!!"; }
const char *name_of(State s) { return s == State::kGood ? "good" : s == State::kNote ? "note" : "bad"; }

void print_page(const Findings &all) {
  std::string section;
  for (const Finding &f : all.list()) {
    if (f.section != section) std::printf("%s%s\n", section.empty() ? "" : "\n", bold(f.section).c_str()), section = f.section;
    const std::string mark = mark_of(f.state), painted = f.state == State::kGood ? green(mark) : f.state == State::kNote ? yellow(mark) : red(mark);
    std::printf("  %s  %-22s %s%s\n", painted.c_str(), printable(f.name).c_str(), printable(f.value).c_str(),
                f.advice.empty() ? "" : ("; " + printable(f.advice)).c_str());
  }
  if (const std::string line = all.install_line(); !line.empty()) std::printf("\n%s\n  %s\n", bold("to install what is missing").c_str(), line.c_str());
}

Json json_of_page(const Findings &all) {
  Json j = document("doctor");
  j["good"] = !all.any_bad();
  j["findings"] = Json::array();
  for (const Finding &f : all.list())
    j["findings"].push_back({{"section", f.section}, {"name", f.name}, {"state", name_of(f.state)}, {"value", f.value}, {"advice", f.advice}, {"package", f.package}});
  j["install"] = all.install_line();
  return j;
}

}  // namespace

void Findings::add(std::string section, std::string name, State state, std::string value, std::string advice, std::string package) {
  list_.push_back({std::move(section), std::move(name), std::move(value), std::move(advice), std::move(package), state});
}

bool Findings::any_bad() const {
  return std::any_of(list_.begin(), list_.end(), [](const Finding &f) { return f.state == State::kBad; });
}

std::string Findings::install_line() const {
  std::string line;
  std::set<std::string> seen;
  for (const Finding &f : list_)
    if (!f.package.empty() && seen.insert(f.package).second) line += " " + f.package;
  return line.empty() ? "" : "apt-get install" + line;
}

int run_doctor(Settings &settings, bool json) {
  Findings all;
  Examination examination;
  Progress progress("examining this machine");
  look_at_host(&all);
  look_at_limits(&all);
  look_at_plugins(settings, examination, &all);
  look_at_devices(take_inventory(settings, examination, {{"log", "debug"}}), &all);
  look_at_libraries(&all);
  progress.clear();
  if (json) print(json_of_page(all));
  else print_page(all);
  return all.any_bad() ? 1 : 0;
}

}  // namespace tool
