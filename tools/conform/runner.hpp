// runner.hpp — selects and runs the cases for a plugin, some of them at a time, with their results.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "case_run.hpp"
#include "xfail.hpp"

namespace conform {

enum class Ending { kPassed, kFailed, kUnsupported, kExpectedFailure, kUnexpectedPass, kNotRun };
const char *ending_name(Ending);               // "ok", "FAIL", "unsupported", "expected failure", "unexpected pass", "not run"

struct Row {
  const Case *the_case;
  Ending ending;
  Result result;
  std::string reason;                          // why that result was expected
};

struct Tally {
  Subject subject;
  std::vector<Row> rows;
  uint32_t count(Ending) const;
  bool conforms() const { return count(Ending::kFailed) == 0 && count(Ending::kNotRun) == 0; }
};

struct Options {
  int level = 1;
  uint64_t seed = 1;
  std::string only;                            // extended regular expression over "CONSORT-S-12/name group"; "": all
  bool in_process = false;
  unsigned jobs = 1;                           // cases at a time; 0: as many as this process has cores, at most 4
  double seconds = 0;                          // limit of a case; 0: its own
  double budget = 0;                           // of all cases of a plugin, in seconds; 0: by the level
  ExpectedFailures expected;
  std::function<void(const Tally &, const Row &)> told;  // called for each row, in the order of rules; may be empty
};

// Returns the plugins that a file announces in its notes. A file without any violates the rule that requires one.
// Throws std::runtime_error if it is no ELF file.
std::vector<Subject> subjects_of(const std::string &path);
// Throws std::runtime_error if `only` is no regular expression.
Tally judge(const Subject &, const Options &);

}  // namespace conform
