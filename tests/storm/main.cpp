// main.cpp — the storm's command line: runs the cases of a range of seeds, or one case again; prints a failing case,
// made smaller.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "storm/determinism.hpp"
#include "storm/shrink.hpp"

namespace storm {
namespace {

constexpr char kHelp[] =
    "storm --seeds A..B [--jobs N] [--seconds S] [--coverage]   runs the cases of these seeds\n"
    "storm --seed N [--keep LIST] [--text] [--shrink]           runs one; LIST: steps that stay, as 0-3,7 (program 1: 1:0-3)\n"
    "storm --replay FILE [--shrink]                             runs the case that a text says\n"
    "  --policies A,B    of these alone               --no-faults   without faults\n"
    "  --faults A,B      of allocation, plugin, oom, copy, kernel, slow, lost, disk; all; none\n"
    "  --threads         with real threads            --plugins DIR where plugins are\n"
    "  --out DIR         where failing cases are kept (storm-failures)\n"
    "  --shrink-for S    seconds to make a failing case smaller (30; 0: not at all)\n"
    "  --failures N      after which to give up (3)   --limit S     of computing, or of doing nothing: a hang (20)\n"
    "  --events          with --seed or --replay: all calls, answers and bodies of the case, with their times\n"
    "  --here            with --seed or --replay: in this process, for a debugger; STORM_TRACE=1 in the environment tells each body\n"
    "storm --seeds A..B --check-determinism   runs each twice, after others and alone, and compares all that happened\n"
    "storm --check-texts  whether texts of cases are read back as they were\n"
    "The status is 0 where no case failed, 1 where one did, 2 where a word is not understood.\n";

struct Options {
  Plan plan;
  bool texts = false, here = false, range = false, one = false, text = false, coverage = false, shrink = false, twice = false, events = false;
  uint64_t seed = 0;
  std::string keep, replay, plugins, out = "storm-failures";
  double shrink_for = 30;
};

[[noreturn]] void wrong(const std::string &what) {
  std::fprintf(stderr, "storm: %s\n%s", what.c_str(), kHelp);
  std::exit(2);
}

std::vector<std::string> list_of(const std::string &text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) all.push_back(word);
  return all;
}

std::vector<std::string> faults_of(const std::string &text) {
  static const std::vector<std::string> known{"allocation", "plugin", "oom", "copy", "kernel", "slow", "lost", "disk"};
  if (text == "none") return {};
  if (text == "all") return known;
  const auto all = list_of(text);
  for (const std::string &kind : all)
    if (std::find(known.begin(), known.end(), kind) == known.end())
      wrong("--faults: \"" + kind + "\" is none of none, all, allocation, plugin, oom, copy, kernel, slow, lost, disk");
  return all;
}

Options read_options(int argc, char **argv) {
  Options o;
  o.plan.most_failures = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 >= argc) wrong(word + " needs a value");
      return std::string(argv[++i]);
    };
    if (word == "--seeds") {
      const std::string v = value();
      const size_t dots = v.find("..");
      if (dots == std::string::npos) wrong("--seeds wants A..B, not " + v);
      o.plan.from = std::strtoull(v.c_str(), nullptr, 10);
      o.plan.to = std::strtoull(v.c_str() + dots + 2, nullptr, 10);
      o.range = true;
    } else if (word == "--seed") o.seed = std::strtoull(value().c_str(), nullptr, 10), o.one = true;
    else if (word == "--jobs") o.plan.jobs = std::max(1, std::atoi(value().c_str()));
    else if (word == "--seconds") o.plan.seconds = std::atof(value().c_str());
    else if (word == "--limit") o.plan.limit_s = std::atoi(value().c_str());
    else if (word == "--failures") o.plan.most_failures = std::atoi(value().c_str());
    else if (word == "--keep") o.keep = value();
    else if (word == "--replay") o.replay = value();
    else if (word == "--plugins") o.plugins = value();
    else if (word == "--out") o.out = value();
    else if (word == "--shrink-for") o.shrink_for = std::atof(value().c_str());
    else if (word == "--coverage") o.coverage = true;
    else if (word == "--check-texts") o.texts = true;
    else if (word == "--check-determinism") o.twice = true;
    else if (word == "--events") o.events = o.here = true;
    else if (word == "--here") o.here = true;
    else if (word == "--shrink") o.shrink = true;
    else if (word == "--text") o.text = true;
    else if (word == "--no-faults") o.plan.wishes.faults.clear();
    else if (word == "--faults") o.plan.wishes.faults = faults_of(value());
    else if (word == "--threads") o.plan.wishes.threads = true;
    else if (word == "--policies") o.plan.wishes.policies = list_of(value());
    else if (word == "--help") std::printf("%s", kHelp), std::exit(0);
    else wrong("\"" + word + "\" is not understood");
  }
  if (o.range + o.one + o.texts + !o.replay.empty() != 1) wrong("one of --seeds, --seed and --replay is needed");
  return o;
}

// The folder beside the library that this program was built with.
std::string own_plugins() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.rfind('/')) + "/../../lib/consort/plugins";
}

void keep_only(Case &c, const std::string &list) {
  if (list.empty()) return;
  for (mixed::Program &p : c.programs) p.dropped.assign(p.steps.size(), 1);
  size_t program = 0;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (const size_t colon = part.find(':'); colon != std::string::npos) {
      program = std::strtoul(part.c_str(), nullptr, 10);
      part = part.substr(colon + 1);
    }
    const size_t dash = part.find('-');
    const size_t from = std::strtoul(part.c_str(), nullptr, 10);
    const size_t to = dash == std::string::npos ? from : std::strtoul(part.c_str() + dash + 1, nullptr, 10);
    if (program >= c.programs.size()) wrong("--keep: there is no program " + std::to_string(program));
    for (size_t s = from; s <= to && s < c.programs[program].dropped.size(); ++s) c.programs[program].dropped[s] = 0;
  }
}

void tell(const Options &o, const Case &c, const Failure &f) {
  std::printf("\nseed %llu FAILS: %s\n", static_cast<unsigned long long>(f.seed), f.complaint.c_str());
  std::fflush(stdout);
  Smaller s;
  if (o.shrink_for > 0) s = shrink(c, f, o.shrink_for);
  if (!s.repeats) {
    s.result = c;
    s.failure = f;
    if (o.shrink_for > 0) std::printf("it does not fail again alone; the whole case:\n");
  }
  mkdir(o.out.c_str(), 0777);
  const std::string path = o.out + "/" + std::to_string(f.seed) + ".storm";
  std::ofstream(path) << "# " << s.failure.complaint << "\n" << text_of(s.result);
  std::printf("%s%s\n%s", text_of(s.result).c_str(), s.failure.complaint.c_str(), s.failure.explained.c_str());
  std::printf("made smaller in %d tries; again: ./run storm --replay %s\n", s.tries, path.c_str());
  std::fflush(stdout);
}

Case the_case(const Options &o) {
  Case c;
  if (o.replay.empty()) {
    c = make_case(o.seed, o.plan.wishes);
    keep_only(c, o.keep);
    return c;
  }
  std::ifstream file(o.replay);
  if (!file) wrong("cannot read " + o.replay);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (const std::string bad = parse(text, &c); !bad.empty()) wrong(o.replay + ": " + bad);
  return c;
}

int run_one(const Options &o) {
  const Case c = the_case(o);
  if (o.text) std::printf("%s", text_of(compact(c)).c_str());
  if (o.here) {
    Seen seen;
    std::string events;
    const Verdict v = run(c, &seen, o.events ? &events : nullptr);
    std::printf("%s%s\n%s", events.c_str(), v.complaint.empty() ? "good" : v.complaint.c_str(), v.explained.c_str());
    std::fflush(stdout);
    std::_Exit(v.complaint.empty() ? 0 : 1);
  }
  const Failure f = try_in_child(c, o.plan.limit_s);
  if (f.complaint.empty()) return std::printf("good\n"), 0;
  if (o.shrink) return tell(o, c, f), 1;
  std::printf("FAILS: %s\n%s", f.complaint.c_str(), f.explained.c_str());
  return 1;
}

// A case's text says the whole case, and so does that of the compact case.
int check_texts() {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = make_case(seed, Wishes{});
    for (const Case &one : {c, compact(c)}) {
      Case back;
      const std::string text = text_of(one), bad = parse(text, &back);
      if (bad.empty() && text_of(back) == text) continue;
      std::printf("seed %llu: %s\n%s--\n%s", static_cast<unsigned long long>(seed), bad.c_str(), text.c_str(), text_of(back).c_str());
      return 1;
    }
  }
  return std::printf("1000 texts, each read back as it was\n"), 0;
}

int run_twice(const Options &o) {
  int failures = 0;
  const uint64_t cases = check_determinism(o.plan, [&](const Failure &f) {
    ++failures;
    std::printf("seed %llu FAILS: %s, %s", static_cast<unsigned long long>(f.seed), f.complaint.c_str(), f.explained.c_str());
    std::fflush(stdout);
  });
  std::printf("storm: %llu cases from seed %llu, each run twice, %d differ\n", static_cast<unsigned long long>(cases),
              static_cast<unsigned long long>(o.plan.from), failures);
  return failures ? 1 : 0;
}

int run_range(const Options &o) {
  const auto start = std::chrono::steady_clock::now();
  static Coverage coverage;
  int failures = 0;
  const uint64_t cases = run_all(
      o.plan, [&](const Failure &f) { ++failures, tell(o, make_case(f.seed, o.plan.wishes), f); }, &coverage);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (o.coverage) {
    std::printf("%s%s", table_of(coverage).c_str(), matrix_of(coverage).c_str());
    if (const std::string missing = missing_in(coverage); !missing.empty()) std::printf("never:\n%s", missing.c_str());
  }
  std::printf("storm: seeds %llu..%llu, %llu cases in %.1f s (%.0f a second), %d failed\n",
              static_cast<unsigned long long>(o.plan.from),
              static_cast<unsigned long long>(std::min(o.plan.to, o.plan.from + cases + static_cast<uint64_t>(failures))),
              static_cast<unsigned long long>(cases), seconds, static_cast<double>(cases) / seconds, failures);
  return failures ? 1 : 0;
}

}  // namespace
}  // namespace storm

int main(int argc, char **argv) {
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);  // cores are described here; hwloc's plugins took half the time of a case
  // The first error of a thread allocates its text: a case counts its own allocations alone.
  (void)consort_wait_all(nullptr, 0, 0);
  const storm::Options o = storm::read_options(argc, argv);
  storm::find_plugins(o.plugins.empty() ? storm::own_plugins() : o.plugins);
  if (storm::plugins().policies.empty()) storm::wrong("no scheduler was found in " + storm::plugins().folder);
  if (o.texts) return storm::check_texts();
  if (o.twice && !o.range) storm::wrong("--check-determinism needs --seeds");
  return o.twice ? storm::run_twice(o) : o.range ? storm::run_range(o) : storm::run_one(o);
}
