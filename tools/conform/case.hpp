// case.hpp — a case of the kit: the functions available to a case, and its registration.
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
// CMake finds the file. The rule is in sdk/rules/KIND.toml (P is plugin.toml, S scheduler.toml, …); sdk/rules/rules.py
// check reports what is missing. A rule may have several cases. Each case runs in a process of its own, forked from one
// with one thread and no plugin loaded; so it may leak, crash and hang. Random numbers come from t.random() alone.
#pragma once
#include <consort/plugin.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace conform {

struct Rule;

// The plugin under test.
struct Subject {
  std::string path;
  consort_note note{};                 // of the plugin; kind 0: none
  std::vector<std::pair<std::string, std::string>> params;  // parameters given by the user; others have their defaults
  uint64_t seed = 1;
  int level = 1;                       // 1 quick … 10 all

  std::string name() const { return note.name; }
};

enum class Outcome : uint32_t { kNone, kPassed, kFailed, kSkipped };

// In memory that the case's process shares with its parent.
struct Verdict {
  Outcome outcome;
  uint32_t failures;      // number of failed checks
  char doing[256];        // the current step
  char seen[3072];        // a line for each of the first failures
  char figures[1024];     // measurements, a line each
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

struct Stop {};  // thrown by need() and skip(): ends the case; the result is in the verdict

struct Case;

// The kit's interface for a case. Any thread may check and report its step.
class Trial {
 public:
  Trial(const Subject &, const Case &, Verdict &);

  const Subject &subject() const { return subject_; }
  int level() const { return subject_.level; }
  uint64_t scaled(uint64_t quick, uint64_t full) const;   // interpolates by level
  bool has_time() const;  // whether there is time for another round; a busy machine runs fewer, and no check fails for that
  Random &random() { return random_; }                    // reproducible for the same seed and case; one thread

  [[gnu::format(printf, 3, 4)]] bool check(bool holds, const char *seen, ...);  // returns `holds`; one line, no full stop
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

inline unsigned long long big(uint64_t n) { return n; }  // for %llu

// Registered before main(); constant.
struct Case {
  Case(const char *rule, const char *group, const char *name, void (*run)(Trial &));
  const char *rule_id, *group, *name;
  void (*run)(Trial &);
  const Case *next;

  char kind_letter() const { return rule_id[8]; }         // P: for every kind
  std::string full_name() const;                          // "CONSORT-S-12/pops_once": matched by --only
  const Rule &rule() const;
};

// Returns the cases for plugins of that kind (CONSORT_KIND_*), or all for 0, in the order of their rules.
std::vector<const Case *> cases_for(uint32_t kind);
const char *kind_name(uint32_t kind);

// Runs the case and stores its result in the verdict.
void run_case(const Case &, const Subject &, Verdict &);

}  // namespace conform

#define CONFORM_CASE(letter, number, group, name)                                                              \
  static void conform_##letter##_##number##_##name([[maybe_unused]] ::conform::Trial &t);                      \
  static const ::conform::Case conform_case_##letter##_##number##_##name{"CONSORT-" #letter "-" #number, #group, #name, \
                                                                         conform_##letter##_##number##_##name}; \
  static void conform_##letter##_##number##_##name([[maybe_unused]] ::conform::Trial &t)
