#include "runner.hpp"

#include <regex.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "elf_file.hpp"
#include "rules.hpp"

namespace conform {
namespace {

constexpr double kUsualSeconds = 30, kShortSeconds = 3;
constexpr double kLeastBudget = 60, kMostBudget = 3600;    // of level 1, of level 10

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

double budget_of(const Options &o) {
  if (o.budget > 0) return o.budget;
  const double usual = kLeastBudget + (kMostBudget - kLeastBudget) * (std::clamp(o.level, 1, 10) - 1) / 9;
  return CONSORT_SAN ? 4 * usual : usual;
}

std::string out_of_time(const Options &o) {
  char text[100];
  std::snprintf(text, sizeof text, "out of time: the %.3g s that all cases may take together are spent (--budget)", budget_of(o));
  return text;
}

unsigned jobs_of(const Options &o) {
  if (o.jobs) return o.jobs;
  cpu_set_t cores;
  const int n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return static_cast<unsigned>(std::clamp(n, 1, 4));
}

// Cases in progress. Each is told when it and all that were started before it have ended. Once the budget is spent
// those in progress are stopped, and told without a result, as are all that come later.
class Bench {
 public:
  using Told = std::function<void(const Case &, std::optional<Result>)>;
  Bench(const Options &o, const Subject &subject, Told told)
      : options_(o), subject_(subject), told_(std::move(told)), jobs_(jobs_of(o)), budget_(budget_of(o)) {}

  void run(const Case &c) {
    while (step() >= jobs_) Child::wait(children());
    if (is_spent_) return told_(c, {});
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
    double spent = spent_;
    for (Place &p : places_) {
      if (!p.has_ended && p.run->has_ended()) {
        p.has_ended = true;
        timed_out_ += p.run->result().timed_out;
        spent_ += p.run->child().spent();
      }
      if (p.has_ended) continue;
      ++running;
      spent += p.run->child().spent();
    }
    if (spent >= budget_) stop(), running = 0;
    for (; !places_.empty() && (places_.front().has_ended || is_spent_); places_.pop_front()) {
      Place &p = places_.front();
      if (p.has_ended) told_(*p.the_case, std::move(p.run->result()));
      else told_(*p.the_case, {});
    }
    return running;
  }
  void stop() {
    is_spent_ = true;
    for (Place &p : places_)
      if (!p.has_ended) p.run.reset();           // kills it
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
  const double budget_;
  double spent_ = 0;                             // by cases that have ended
  bool is_spent_ = false;
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
  constexpr const char *names[] = {"ok", "FAIL", "unsupported", "expected failure", "unexpected pass", "not run"};
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
  const auto told = [&](const Case &c, std::optional<Result> result) {
    Row row{&c, Ending::kNotRun, std::move(result).value_or(Result{}), {}};
    const std::string *expected = o.expected.reason_for(c);
    if (!result) row.reason = out_of_time(o);
    else if (expected) row.reason = *expected;
    if (result) row.ending = ending_of(row.result.verdict.outcome, expected != nullptr);
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
