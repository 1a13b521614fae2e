#include "runner.hpp"

#include <regex.h>
#include <sched.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

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

unsigned jobs_of(const Options &o) {
  if (o.jobs) return o.jobs;
  cpu_set_t cores;
  const int n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return static_cast<unsigned>(std::clamp(n, 1, 4));
}

// Cases in progress. Each is told when it and all that were started before it have ended.
class Bench {
 public:
  using Told = std::function<void(const Case &, Result)>;
  Bench(const Options &o, const Subject &subject, Told told)
      : options_(o), subject_(subject), told_(std::move(told)), jobs_(jobs_of(o)) {}

  void run(const Case &c) {
    while (step() >= jobs_) Child::wait(children());
    const double limit = timed_out_ < kMostTimedOut ? limit_of(c, options_) : kShortSeconds;
    places_.push_back({&c, std::make_unique<CaseRun>(c, subject_, limit), false});
  }
  void finish() {
    while (step() > 0) Child::wait(children());
  }

 private:
  static constexpr unsigned kMostTimedOut = 3;   // a plugin that hangs in every case is stopped sooner after so many
  struct Place {
    const Case *the_case;
    std::unique_ptr<CaseRun> run;
    bool has_ended;
  };

  // Returns how many are still running.
  unsigned step() {
    unsigned running = 0;
    for (Place &p : places_) {
      if (!p.has_ended && p.run->has_ended()) p.has_ended = true, timed_out_ += p.run->result().timed_out;
      running += !p.has_ended;
    }
    for (; !places_.empty() && places_.front().has_ended; places_.pop_front())
      told_(*places_.front().the_case, std::move(places_.front().run->result()));
    return running;
  }

  std::vector<Child *> children() {
    std::vector<Child *> all;
    for (Place &p : places_)
      if (!p.has_ended) all.push_back(&p.run->child());
    return all;
  }

  const Options &options_;
  const Subject &subject_;
  const Told told_;
  const unsigned jobs_;
  unsigned timed_out_ = 0;
  std::deque<Place> places_;
};

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
  const auto told = [&](const Case &c, Result result) {
    Row row{&c, Ending::kFailed, std::move(result), {}};
    const std::string *expected = o.expected.reason_for(c);
    if (expected) row.reason = *expected;
    row.ending = ending_of(row.result.verdict.outcome, expected != nullptr);
    tally.rows.push_back(std::move(row));
    if (o.told) o.told(tally, tally.rows.back());
  };
  Bench bench(o, tally.subject, told);
  for (const Case *c : cases_for(subject.note.kind)) {
    if (!subject.note.kind && c->rule_id != std::string("CONSORT-P-3")) continue;  // a file without a note is not loaded
    if (c->rule().level > o.level || !filter.wants(*c)) continue;
    if (o.in_process) told(*c, run_in_process(*c, tally.subject));
    else bench.run(*c);
  }
  bench.finish();
  return tally;
}

}  // namespace conform
