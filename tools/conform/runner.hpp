// runner.hpp — which cases are run on a plugin, one after another, and what came of each.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "child.hpp"
#include "xfail.hpp"

namespace conform {

enum class Ending { kPassed, kFailed, kUnsupported, kExpectedFailure, kUnexpectedPass };
const char *ending_name(Ending);               // "ok", "FAIL", "unsupported", "expected failure", "unexpected pass"

struct Row {
  const Case *the_case;
  Ending ending;
  Result result;
  std::string reason;                          // of what was expected
};

struct Tally {
  Subject subject;
  std::vector<Row> rows;
  uint32_t count(Ending) const;
  bool conforms() const { return count(Ending::kFailed) == 0; }
};

struct Options {
  int level = 1;
  uint64_t seed = 1;
  std::string only;                            // extended regular expression over "CONSORT-S-12/name group"; "": all
  bool in_process = false;
  double seconds = 0;                          // limit of a case; 0: its own
  ExpectedFailures expected;
  std::function<void(const Tally &, const Row &)> told;  // of each row, at once; may be empty
};

// The plugins that a file announces in its notes. One without any breaks the rule that asks for one. Throws
// std::runtime_error where it is no ELF file.
std::vector<Subject> subjects_of(const std::string &path);
// Throws std::runtime_error where `only` is no regular expression.
Tally judge(const Subject &, const Options &);

}  // namespace conform
