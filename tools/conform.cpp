// conform.cpp — `consort conform`: does a plugin keep what it owes its host?
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>

#include "commands.hpp"
#include "conform/report.hpp"
#include "conform/rules.hpp"

namespace tool {
namespace {

int list_cases() {
  for (const conform::Case *c : conform::cases_for(0))
    std::printf("%-40s %-10s level %2d  %s\n", c->full_name().c_str(), c->group, c->rule().level, c->rule().rule);
  return 0;
}

void write_file(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error(path + " cannot be written");
}

// "lws.depth=64", for the plugin lws
void give_params(const Settings &settings, conform::Subject *s) {
  for (const std::string &a : settings.assignments) {
    const size_t equals = a.find('=');
    if (equals == a.npos) throw std::runtime_error("--set \"" + a + "\" is not of the form key=value");
    const std::string mine = s->name() + ".";
    if (a.starts_with(mine)) s->params.emplace_back(a.substr(mine.size(), equals - mine.size()), a.substr(equals + 1));
  }
}

bool fits(const conform::Subject &s) {
  if (!s.note.kind || s.note.sanitizer == CONSORT_SAN) return true;
  constexpr const char *names[] = {"no sanitizer", "the address sanitizer", "the thread sanitizer", "the memory sanitizer"};
  const auto name = [&](uint32_t n) { return n < std::size(names) ? names[n] : "a sanitizer unknown here"; };
  std::fprintf(stderr, "consort: %s is built with %s, this command with %s: take the consort of the plugin's build\n",
               s.path.c_str(), name(s.note.sanitizer), name(CONSORT_SAN));
  return false;
}

}  // namespace

int run_conform(const Settings &settings, const ConformOptions &asked) {
  if (asked.list) return list_cases();
  conform::Options o;
  o.level = asked.level;
  o.seed = asked.seed ? asked.seed : static_cast<uint64_t>(std::time(nullptr));
  o.only = asked.only;
  o.in_process = asked.in_process;
  o.seconds = asked.seconds;
  if (!asked.xfail.empty())
    if (const std::string wrong = o.expected.read(asked.xfail); !wrong.empty()) {
      std::fprintf(stderr, "consort: %s\n", wrong.c_str());
      return 2;
    }
  const bool quiet = asked.json == "-" || asked.junit == "-";
  if (!quiet)
    o.told = [&](const conform::Tally &t, const conform::Row &r) {
      const bool calm = r.ending == conform::Ending::kPassed || r.ending == conform::Ending::kUnsupported;
      if (asked.verbose || !calm) std::fputs(conform::text_of(t, r).c_str(), stdout), std::fflush(stdout);
    };
  std::vector<conform::Tally> all;
  bool good = true;
  for (const std::string &file : asked.files) {
    if (std::ifstream in(file); !in) {
      std::fprintf(stderr, "consort: %s cannot be read\n", file.c_str());
      return 2;
    }
    for (conform::Subject &s : conform::subjects_of(file)) {
      if (!fits(s)) return 2;
      give_params(settings, &s);
      all.push_back(conform::judge(s, o));
      if (all.back().rows.empty()) {
        std::fprintf(stderr, "consort: no case of level %d matches --only \"%s\"; consort conform --list names them\n", o.level,
                     o.only.c_str());
        return 2;
      }
      good = good && all.back().conforms();
      if (!quiet) std::puts(conform::badge_of(all.back()).c_str());
    }
  }
  if (!asked.json.empty()) write_file(asked.json, conform::json_of(all));
  if (!asked.junit.empty()) write_file(asked.junit, conform::junit_of(all));
  return good ? 0 : 1;
}

}  // namespace tool
