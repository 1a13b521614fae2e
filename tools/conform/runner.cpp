#include "runner.hpp"

#include <regex.h>

#include <algorithm>
#include <stdexcept>

#include "elf_file.hpp"
#include "rules.hpp"

namespace conform {
namespace {

constexpr double kUsualSeconds = 30, kShortSeconds = 3;

class Filter {
 public:
  explicit Filter(const std::string &text) : all_(text.empty()) {
    if (all_) return;
    const int wrong = regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (!wrong) return;
    char why[256];
    regerror(wrong, &regex_, why, sizeof why);
    throw std::runtime_error("--only \"" + text + "\" is no regular expression: " + why);
  }
  Filter(const Filter &) = delete;
  Filter &operator=(const Filter &) = delete;
  ~Filter() {
    if (!all_) regfree(&regex_);
  }
  bool wants(const Case &c) const {
    return all_ || regexec(&regex_, (c.full_name() + " " + c.group).c_str(), 0, nullptr, 0) == 0;
  }

 private:
  bool all_;
  regex_t regex_;
};

double limit_of(const Case &c, const Options &o) {
  if (o.seconds > 0) return o.seconds;
  const double usual = c.rule().seconds ? c.rule().seconds : kUsualSeconds;
  return CONSORT_SAN ? 4 * usual : usual;
}

Ending ending_of(Outcome outcome, bool expected) {
  if (outcome == Outcome::kSkipped) return Ending::kUnsupported;
  if (outcome == Outcome::kPassed) return expected ? Ending::kUnexpectedPass : Ending::kPassed;
  return expected ? Ending::kExpectedFailure : Ending::kFailed;
}

}  // namespace

const char *ending_name(Ending e) {
  constexpr const char *names[] = {"ok", "FAIL", "unsupported", "expected failure", "unexpected pass"};
  return names[static_cast<int>(e)];
}

uint32_t Tally::count(Ending e) const {
  return static_cast<uint32_t>(std::count_if(rows.begin(), rows.end(), [&](const Row &r) { return r.ending == e; }));
}

std::vector<Subject> subjects_of(const std::string &path) {
  std::vector<Subject> all;
  const ElfFile file(path);
  if (!file.error().empty()) throw std::runtime_error(file.error());
  for (const consort_note &note : file.notes()) {
    Subject s;
    s.path = path;
    s.note = note;
    s.note.name[sizeof s.note.name - 1] = s.note.version[sizeof s.note.version - 1] = 0;
    all.push_back(s);
  }
  if (all.empty()) all.emplace_back().path = path;
  return all;
}

Tally judge(const Subject &subject, const Options &o) {
  const Filter filter(o.only);
  Tally tally;
  tally.subject = subject;
  tally.subject.level = o.level;
  tally.subject.seed = o.seed;
  unsigned over = 0;                             // a plugin that hangs in every case is stopped after some
  for (const Case *c : cases_for(subject.note.kind)) {
    if (!subject.note.kind && c->rule_id != std::string("CONSORT-P-3")) continue;  // a file without a note is not loaded

    if (c->rule().level > o.level || !filter.wants(*c)) continue;
    Row row{c, Ending::kFailed, run_in_child(*c, tally.subject, over < 3 ? limit_of(*c, o) : kShortSeconds, o.in_process), {}};
    over += row.result.timed_out;
    const std::string *expected = o.expected.reason_for(*c);
    if (expected) row.reason = *expected;
    row.ending = ending_of(row.result.verdict.outcome, expected != nullptr);
    tally.rows.push_back(std::move(row));
    if (o.told) o.told(tally, tally.rows.back());
  }
  return tally;
}

}  // namespace conform
