#include "examine.hpp"

#include <sstream>

#include "isolated_run.hpp"
#include "conform/host.hpp"
#include "conform/plugin.hpp"

namespace tool {
namespace {

// Writes the name of each step before it, so that the last name is the step that ended the process.
void load(const Teller &teller, size_t number, const std::string &path) {
  const auto step = [&](const char *name) { teller.tell(std::to_string(number) + " " + name + "\n"); };
  step("constructor");
  const conform::Library library(path);
  if (library.error().empty()) {                   // else the kernel reports why it cannot be loaded
    step("entry");
    const conform::Host host;
    (void)library.entry()(host.table());
  }
  step("destructor");
}

// "ends the process (signal 6)" in a "constructor": "ends the process in its constructor (signal 6)".
std::string placed(const std::string &ending, const std::string &step) {
  const std::string place = step == "entry" ? "consort_plugin_entry()" : "its " + step;
  const size_t bracket = ending.find(" (");
  if (bracket != ending.npos) return ending.substr(0, bracket) + " in " + place + ending.substr(bracket);
  const size_t within = ending.find(" within ");
  return within == ending.npos ? ending + " in " + place : ending.substr(0, within) + " from " + place + ending.substr(within);
}

}  // namespace

// One child for all files. If it ends early, each file from the culprit on gets its own child: earlier files may be the cause.
void Examination::examine(const std::vector<std::string> &paths) {
  const Told told = ask_apart(kPluginSeconds, [&](const Teller &teller) {
    for (size_t i = 0; i < paths.size(); ++i) load(teller, i, paths[i]);
  });
  std::string step = "constructor";
  std::istringstream lines(told.text);
  size_t number = 0;
  for (std::string word; lines >> number >> word;) step = word;
  const bool several = paths.size() > 1;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (told.ending.empty() || (several && !told.returned && i < number)) reasons_[paths[i]] = "";
    else if (several) examine({paths[i]});
    else reasons_[paths[i]] = placed(told.ending, step);
  }
}

const std::string &Examination::reason(const std::string &path) {
  if (!reasons_.contains(path)) examine({path});
  return reasons_[path];
}

void Examination::admit_for(consort_settings *settings) {
  consort_settings quiet = *settings;              // errors are reported when the list is made
  quiet.log = [](void *, int32_t, const char *) {};
  quiet.admit = nullptr;
  std::vector<std::string> paths;
  (void)consort_list_plugins(&quiet, 0, [](void *user, const consort_plugin_row *row) {
    if (row->usable && *row->path) static_cast<std::vector<std::string> *>(user)->push_back(row->path);
  }, &paths);
  std::erase_if(paths, [this](const std::string &p) { return reasons_.contains(p); });
  if (!paths.empty()) examine(paths);
  settings->admit = [](void *user, const char *path) -> const char * {
    const std::string &why = static_cast<Examination *>(user)->reason(path);
    return why.empty() ? nullptr : why.c_str();
  };
  settings->admit_user = this;
}

}  // namespace tool
