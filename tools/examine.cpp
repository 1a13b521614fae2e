#include "examine.hpp"

#include <unistd.h>

#include <functional>
#include <utility>

#include "examined_text.hpp"
#include "isolated_run.hpp"
#include "conform/host.hpp"
#include "conform/plugin.hpp"

namespace tool {
namespace {

// How long a child remains after a plugin was loaded, in which a thread or a timer of the plugin may end it.
constexpr int kLookMs = 250;

using Begin = std::function<void(Phase)>;

// Keeps the file loaded. Writes each step before it, so that the last one is the step that ended the process.
void load(const std::string &path, const Begin &begin) {
  begin(Phase::kConstructor);
  const conform::Library library(path);
  if (!library.error().empty()) return;            // the kernel reports why it cannot be loaded
  begin(Phase::kEntry);
  const conform::Host host;
  (void)library.entry()(host.table());
}

// Loads all, waits if they have started threads, or always, and lets the process end.
void load_all(const std::vector<std::string> &paths, bool always, const Teller &teller, const Body &also = {}) {
  const size_t threads = conform::count_threads();
  size_t number = 0;
  const Begin begin = [&](Phase phase) { teller.tell(written(Step{number, phase})); };
  for (; number < paths.size(); ++number) load(paths[number], begin);
  number = paths.size() - 1;
  begin(Phase::kLater);
  if (also) {
    teller.tell({&kBodyMark, 1});
    also(teller);
    teller.tell({&kBodyMark, 1});
  }
  if (always || conform::count_threads() > threads) usleep(kLookMs * 1000);
  begin(Phase::kDestructor);
}

std::string place_of(Phase phase) {
  switch (phase) {
    case Phase::kConstructor: return "its constructor";
    case Phase::kEntry: return "consort_plugin_entry()";
    case Phase::kDestructor: return "its destructor";
    case Phase::kLater: break;
  }
  return {};
}

// "ends the process (signal 6)" in a constructor: "ends the process in its constructor (signal 6)".
std::string placed(const std::string &ending, Phase phase) {
  const std::string place = place_of(phase);
  const std::string when = phase == Phase::kLater ? " after it is loaded" : " in " + place;
  const size_t bracket = ending.find(" (");
  if (bracket != ending.npos) return ending.substr(0, bracket) + when + ending.substr(bracket);
  const size_t within = ending.find(" within ");
  return within == ending.npos || place.empty() ? ending + when : ending.substr(0, within) + " from " + place + ending.substr(within);
}

}  // namespace

// One child for all files. Whatever ends it may be the work of any of them, also of one that was loaded long before: then each
// gets its own child. Where a step takes all the time, its plugin does not return.
std::string Examination::examine(std::vector<std::string> paths, const Body &also) {
  while (!paths.empty()) {
    const Told told = ask_apart(kPluginSeconds, [&](const Teller &teller) { load_all(paths, false, teller, also); }, Limit::kStep);
    ExaminedText text = examined_text(told.text, paths.size());
    const Step last = text.last;
    const bool all = told.ending.empty(), hangs = told.timed_out && (last.phase == Phase::kConstructor || last.phase == Phase::kEntry);
    if (!all && !hangs && paths.size() > 1) {
      if (!examine_each(paths, false)) (void)examine_each(paths, true);
      return {};
    }
    if (all) {
      for (const std::string &path : paths) reasons_[path] = "";
      return std::move(text.body);
    }
    const auto culprit = paths.begin() + static_cast<ptrdiff_t>(hangs ? last.file : 0);
    reasons_[*culprit] = placed(told.ending, last.phase);
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
    reasons_[paths[i]] = guilty ? placed(told[i].ending, examined_text(told[i].text, 1).last.phase) : "";
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
