// case.hpp — a case of the kit: what it may ask, what it may say, how it comes into the list.
//
// To add cases for a kind of plugin, put a file NOUN.cpp into the folder of that kind (plugin/: every kind; scheduler/,
// driver/, interface/, transport/) and write there
//
//   #include "conform/case.hpp"
//   #include "conform/plugin.hpp"
//   namespace conform {
//   CONFORM_CASE(S, 12, behaviour, pops_once) {         // kind's letter, number of the rule, its group, a name
//     Plugin p(t);                                      // loads and starts the subject with a host of its own
//     t.doing("push of %u tasks", n);                   // what a crash or a hang is reported with
//     t.check(n == 1, "task %u came out %u times", id, n);  // goes on; need() ends the case, skip() says "unsupported"
//   }
//   }
//
// CMake finds the file. The rule stands in sdk/rules/KIND.toml (P is plugin.toml, S scheduler.toml, …); sdk/rules/rules.py
// check says what is missing. A rule may have several cases. Each case runs in a process of its own, forked from one that
// has one thread and has loaded nothing; so it may leak, crash and hang. Chance comes from t.random() alone.
#pragma once
#include <consort/plugin.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace conform {

struct Rule;

// What is judged.
struct Subject {
  std::string path;
  consort_note note{};                 // of the plugin in it; kind 0: there is none
  std::vector<std::pair<std::string, std::string>> params;  // that were set; the rest have their defaults
  uint64_t seed = 1;
  int level = 1;                       // 1 quick … 10 all

  std::string name() const { return note.name; }
};

enum class Outcome : uint32_t { kNone, kPassed, kFailed, kSkipped };

// Lies in memory that the case's process shares with the one that waits for it.
struct Verdict {
  Outcome outcome;
  uint32_t failures;      // checks that did not hold
  char doing[256];        // the last that was begun
  char seen[3072];        // a line for each of the first failures
  char figures[1024];     // what was measured, a line each
};

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return n ? next() % n : 0; }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

struct Stop {};  // thrown by need() and skip(); the case is over, what was seen stands in the verdict

struct Case;

// The one face of the kit that a case sees. Any thread may check and say what it does.
class Trial {
 public:
  Trial(const Subject &, const Case &, Verdict &);

  const Subject &subject() const { return subject_; }
  int level() const { return subject_.level; }
  uint64_t scaled(uint64_t quick, uint64_t full) const;   // between the two, by level
  bool has_time() const;                                  // for another round? A busy machine does fewer, it fails for none
  Random &random() { return random_; }                    // the same for the same seed and case; one thread

  [[gnu::format(printf, 3, 4)]] bool check(bool holds, const char *seen, ...);  // answers holds; one line, no full stop
  [[gnu::format(printf, 3, 4)]] void need(bool holds, const char *seen, ...);
  [[gnu::format(printf, 2, 3), noreturn]] void skip(const char *why, ...);      // the subject does not claim this
  [[gnu::format(printf, 2, 3)]] void doing(const char *what, ...);
  [[gnu::format(printf, 2, 3)]] void figure(const char *measured, ...);
  bool failed() const { return verdict_.failures != 0; }

 private:
  void add_failure(const char *format, va_list);

  const Subject &subject_;
  Verdict &verdict_;
  Random random_;
  uint64_t began_ns_;
};

// In a list from the start of the program on; constant.
struct Case {
  Case(const char *rule, const char *group, const char *name, void (*run)(Trial &));
  const char *rule_id, *group, *name;
  void (*run)(Trial &);
  const Case *next;

  char kind_letter() const { return rule_id[8]; }         // P: of every kind
  std::string full_name() const;                          // "CONSORT-S-12/pops_once": what --only looks at
  const Rule &rule() const;
};

// In the order of their rules. Those for plugins of that kind (CONSORT_KIND_*), or all: 0.
std::vector<const Case *> cases_for(uint32_t kind);
const char *kind_name(uint32_t kind);

// Answers what came of it; what a case says is in the verdict.
void run_case(const Case &, const Subject &, Verdict &);

}  // namespace conform

#define CONFORM_CASE(letter, number, group, name)                                                              \
  static void conform_##letter##_##number##_##name([[maybe_unused]] ::conform::Trial &t);                      \
  static const ::conform::Case conform_case_##letter##_##number##_##name{"CONSORT-" #letter "-" #number, #group, #name, \
                                                                         conform_##letter##_##number##_##name}; \
  static void conform_##letter##_##number##_##name([[maybe_unused]] ::conform::Trial &t)
