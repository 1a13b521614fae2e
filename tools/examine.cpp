#include "examine.hpp"

#include <unistd.h>

#include <functional>
#include <sstream>

#include "isolated_run.hpp"
#include "conform/host.hpp"
#include "conform/plugin.hpp"

namespace tool {
namespace {

// How long a child remains after a plugin was loaded, in which a thread or a timer of the plugin may end it.
constexpr int kLookMs = 250;

using Step = std::function<void(const char *)>;

// Keeps the file loaded. Writes the name of each step before it, so that the last name is the step that ended the process.
void load(const std::string &path, const Step &step) {
  step("constructor");
  const conform::Library library(path);
  if (!library.error().empty()) return;            // the kernel reports why it cannot be loaded
  step("entry");
  const conform::Host host;
  (void)library.entry()(host.table());
}

constexpr char kMark = '\x1e';                    // before and after the text of `also`

// Loads all, waits if they have started threads, or always, and lets the process end.
void load_all(const std::vector<std::string> &paths, bool always, const Teller &teller, const Body &also = {}) {
  const size_t threads = conform::count_threads();
  size_t number = 0;
  const Step step = [&](const char *name) { teller.tell(std::to_string(number) + " " + name + "\n"); };
  for (; number < paths.size(); ++number) load(paths[number], step);
  number = paths.size() - 1;
  step("later");
  if (also) {
    teller.tell({&kMark, 1});
    also(teller);
    teller.tell({&kMark, 1});
  }
  if (always || conform::count_threads() > threads) usleep(kLookMs * 1000);
  step("destructor");
}

struct Last {                                      // step of a child that ended early
  size_t number = 0;
  std::string name = "constructor";
};
Last last_step(const std::string &text) {
  Last last;
  const size_t from = text.find(kMark), to = text.rfind(kMark);
  const bool after = from < to && to + 1 < text.size();
  std::istringstream lines(after ? text.substr(to + 1) : text.substr(0, from));
  size_t number;
  for (std::string word; lines >> number >> word;) last = {number, word};
  return last;
}

// "ends the process (signal 6)" in a "constructor": "ends the process in its constructor (signal 6)".
std::string placed(const std::string &ending, const std::string &step) {
  const std::string place = step == "entry" ? "consort_plugin_entry()" : "its " + step;
  const std::string when = step == "later" ? " after it is loaded" : " in " + place;
  const size_t bracket = ending.find(" (");
  if (bracket != ending.npos) return ending.substr(0, bracket) + when + ending.substr(bracket);
  const size_t within = ending.find(" within ");
  return within == ending.npos ? ending + when : ending.substr(0, within) + " from " + place + ending.substr(within);
}

}  // namespace

// One child for all files. Whatever ends it may be the work of any of them, also of one that was loaded long before: then each
// gets its own child. Where a step takes all the time, its plugin does not return.
std::string Examination::examine(std::vector<std::string> paths, const Body &also) {
  while (!paths.empty()) {
    const Told told = ask_apart(kPluginSeconds, [&](const Teller &teller) { load_all(paths, false, teller, also); }, Limit::kStep);
    const Last last = last_step(told.text);
    const bool all = told.ending.empty(), hangs = told.timed_out && (last.name == "constructor" || last.name == "entry");
    if (!all && !hangs && paths.size() > 1) {
      if (!examine_each(paths, false)) (void)examine_each(paths, true);
      return {};
    }
    if (all) {
      for (const std::string &path : paths) reasons_[path] = "";
      const size_t from = told.text.find(kMark), to = told.text.rfind(kMark);
      return from < to ? told.text.substr(from + 1, to - from - 1) : "";
    }
    const auto culprit = paths.begin() + static_cast<ptrdiff_t>(hangs ? last.number : 0);
    reasons_[*culprit] = placed(told.ending, last.name);
    paths.erase(culprit);
  }
  return {};
}

bool Examination::examine_each(const std::vector<std::string> &paths, bool longer) {
  std::vector<Body> bodies;
  for (const std::string &path : paths) bodies.push_back([&path, longer](const Teller &teller) { load_all({path}, longer, teller); });
  const std::vector<Told> told = ask_each_apart(kPluginSeconds, bodies, Limit::kStep);
  bool found = false;
  for (size_t i = 0; i < paths.size(); ++i) {
    const bool guilty = !told[i].ending.empty();
    reasons_[paths[i]] = guilty ? placed(told[i].ending, last_step(told[i].text).name) : "";
    found |= guilty;
  }
  return found;
}

bool Examination::look_longer() {
  std::vector<std::string> paths;
  for (const auto &[path, why] : reasons_)
    if (why.empty()) paths.push_back(path);
  return examine_each(paths, true);
}

const std::string &Examination::reason(const std::string &path) {
  if (!reasons_.contains(path)) (void)examine({path}, {});
  return reasons_[path];
}

std::string Examination::admit_for(consort_settings *settings, const Body &also) {
  consort_settings quiet = *settings;              // errors are reported when the list is made
  quiet.log = [](void *, int32_t, const char *) {};
  quiet.admit = nullptr;
  std::vector<std::string> paths;
  (void)consort_list_plugins(&quiet, 0, [](void *user, const consort_plugin_row *row) {
    if (row->usable && *row->path) static_cast<std::vector<std::string> *>(user)->push_back(row->path);
  }, &paths);
  std::erase_if(paths, [this](const std::string &p) { return reasons_.contains(p); });
  std::string text;
  if (!paths.empty()) text = examine(paths, reasons_.empty() ? also : Body());
  settings->admit = [](void *user, const char *path) -> const char * {
    const std::string &why = static_cast<Examination *>(user)->reason(path);
    return why.empty() ? nullptr : why.c_str();
  };
  settings->admit_user = this;
  return text;
}

}  // namespace tool
