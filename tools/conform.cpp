// conform.cpp — `consort conform`: checks plugins against the rules.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "commands.hpp"
#include "json.hpp"
#include "plain_file.hpp"
#include "terminal.hpp"
#include "conform/declared.hpp"
#include "conform/param_text.hpp"
#include "conform/report.hpp"
#include "conform/rules.hpp"
#include "conform/thread_caches.hpp"

namespace tool {
namespace {

// --json or --junit: opened before the first case runs, so that an unwritable file is reported at once.
class Output {
 public:
  explicit Output(const std::string &path) : path_(path) {
    if (path.empty() || path == "-") return;
    file_.open(path, std::ios::binary);
    if (!file_) throw std::runtime_error(path + " cannot be written: " + std::strerror(errno));
  }
  void write(const std::string &text) {
    if (path_ == "-") {
      std::fputs(text.c_str(), stdout);
    } else if (!path_.empty()) {
      file_ << text;
      if (!file_.flush()) throw std::runtime_error(path_ + " cannot be written");
    }
  }

 private:
  std::string path_;
  std::ofstream file_;
};

int list_cases(const std::string &json) {
  Output to(json);
  Json all = document("conform"), &cases = all["cases"] = Json::array();
  for (const conform::Case *c : conform::cases_for(0)) {
    const conform::Rule &r = c->rule();
    cases.push_back({{"case", c->full_name()}, {"group", c->group}, {"level", r.level}, {"rule", r.rule}});
    if (json != "-") std::printf("%-40s %-10s level %2d  %s\n", c->full_name().c_str(), c->group, r.level, r.rule);
  }
  to.write(text_of(all) + "\n");
  return 0;
}

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", " : "") + names[i];
  return names.size() > 20 ? text + ", …" : text;
}

// "depth=64" of "lws.depth=64"; wrong: the start of an error text.
void give_param(const std::string &wrong, const std::string &key, std::string value, conform::Subject *s) {
  if (const auto known = conform::declared_params(*s)) {
    std::vector<std::string> keys;
    for (const conform::Param &p : *known) keys.push_back(p.key);
    const auto p = std::find_if(known->begin(), known->end(), [&](const conform::Param &k) { return k.key == key; });
    if (p == known->end())
      throw std::runtime_error(wrong + conform::kind_name(s->note.kind) + " \"" + s->name() + "\" has no parameter \"" +
                               key + "\"" + did_you_mean(key, keys) + "; it has " + (keys.empty() ? "none" : listed(keys)));
    value = conform::as_told(p->type, value);
    if (const std::string fault = conform::fault_of_value(p->type, p->range, value); !fault.empty())
      throw std::runtime_error(wrong + "\"" + key + "\" " + fault);
  }
  s->params.emplace_back(key, value);
}

// "lws.depth=64", for the plugin lws. Refuses an assignment that fits no plugin.
void give_params(const std::vector<std::string> &assignments, std::vector<conform::Subject> *all) {
  std::vector<std::string> names;
  for (const conform::Subject &s : *all) names.push_back(s.name());
  for (const std::string &a : assignments) {
    const size_t equals = a.find('='), dot = a.find('.');
    const std::string wrong = "--set \"" + a + "\": ";
    if (equals == a.npos || dot == a.npos || dot > equals || dot == 0 || dot + 1 == equals)
      throw std::runtime_error(wrong + "not of the form NAME.KEY=VALUE, NAME being a checked plugin");
    const std::string name = a.substr(0, dot);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw std::runtime_error(wrong + "no plugin \"" + name + "\" is checked" + did_you_mean(name, names) + ", but " +
                               listed(names));
    for (conform::Subject &s : *all)
      if (s.name() == name) give_param(wrong, a.substr(dot + 1, equals - dot - 1), a.substr(equals + 1), &s);
  }
}

std::vector<conform::Subject> subjects_of(const std::vector<std::string> &files) {
  std::vector<conform::Subject> all;
  for (const std::string &file : files) {
    if (std::error_code none; std::filesystem::is_directory(file, none))
      throw std::runtime_error(file + " is a folder: give the plugin's file in it");
    (void)tool::read_plain(file, uint64_t{4} << 30);  // throws if the file cannot be checked
    for (conform::Subject &s : conform::subjects_of(file)) all.push_back(std::move(s));
  }
  return all;
}

bool fits(const conform::Subject &s) {
  if (!s.note.kind || s.note.sanitizer == CONSORT_SAN) return true;
  constexpr const char *names[] = {"no sanitizer", "the address sanitizer", "the thread sanitizer", "the memory sanitizer"};
  const auto name = [&](uint32_t n) { return n < std::size(names) ? names[n] : "an unknown sanitizer"; };
  complain(s.path + " is built with " + name(s.note.sanitizer) + ", this command with " + name(CONSORT_SAN) +
           ": use the consort command of the plugin's build");
  return false;
}

// Throws on wrong usage.
int judge_all(const Settings &settings, const ConformOptions &asked) {
  conform::Options o;
  o.level = asked.level;
  o.seed = asked.seed ? asked.seed : static_cast<uint64_t>(std::time(nullptr));
  o.only = asked.only;
  o.in_process = asked.in_process;
  o.jobs = asked.jobs;
  o.seconds = asked.seconds;
  o.budget = asked.budget;
  if (!settings.file.empty())
    throw std::runtime_error("--config is for runtimes, and none runs here: --set NAME.KEY=VALUE sets a plugin's parameter");
  if (asked.json == "-" && asked.junit == "-")
    throw std::runtime_error("--json and --junit - would share standard output: --json=FILE writes into a file");
  if (!asked.xfail.empty())
    if (const std::string wrong = o.expected.read(asked.xfail); !wrong.empty()) throw std::runtime_error(wrong);
  std::vector<conform::Subject> subjects = subjects_of(asked.files);
  for (const conform::Subject &s : subjects)
    if (!fits(s)) return 2;
  give_params(settings.assignments, &subjects);
  Output json(asked.json), junit(asked.junit);
  const bool quiet = asked.json == "-" || asked.junit == "-";
  Progress progress("judging");
  if (!quiet)
    o.told = [&](const conform::Tally &t, const conform::Row &r) {
      const bool calm = r.ending == conform::Ending::kPassed || r.ending == conform::Ending::kUnsupported;
      if (asked.verbose || !calm) progress.clear(), std::fputs(printable(conform::text_of(t, r), Newlines::kKeep).c_str(), stdout), std::fflush(stdout);
      progress.now("judging " + t.subject.name() + ", case " + std::to_string(t.rows.size() + 1));
    };
  std::vector<conform::Tally> all;
  bool good = true;
  for (const conform::Subject &s : subjects) {
    all.push_back(conform::judge(s, o));
    if (all.back().rows.empty())
      throw std::runtime_error("no case of level " + std::to_string(o.level) + " matches --only \"" + o.only +
                               "\"; consort conform --list names them");
    good = good && all.back().conforms();
    const std::string badge = printable(conform::badge_of(all.back()));
    progress.clear();
    if (!quiet) std::puts((all.back().conforms() ? green(badge) : red(badge)).c_str());
  }
  json.write(conform::json_of(all));
  junit.write(conform::junit_of(all));
  return good ? 0 : 1;
}

}  // namespace

int run_conform(const Settings &settings, const ConformOptions &asked) try {
  if (asked.list) return list_cases(asked.json);
  if (!asked.in_process) conform::run_without_thread_caches();  // a debugger would lose its place
  return judge_all(settings, asked);
} catch (const std::exception &e) {  // 1 is for plugins that violate a rule
  return complain(e.what(), 2);
}

}  // namespace tool
