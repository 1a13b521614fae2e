#include "case.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>

#include "rules.hpp"

namespace conform {
namespace {

const Case *first_case;           // constant once main() runs
std::mutex verdict_mutex;         // serialises the reports of a case's threads
constexpr uint32_t kLinesKept = 6;

uint64_t hash(uint64_t seed, const char *text) {
  for (uint64_t h = seed ^ 0xcbf29ce484222325u;; h *= 0x100000001b3u) {
    if (!*text) return h;
    h ^= static_cast<unsigned char>(*text++);
  }
}

uint64_t steady_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Appends a line, as far as there is room.
void append_line(char *text, size_t room, const char *format, va_list arguments) {
  const size_t used = std::strlen(text);
  if (used + 2 >= room) return;
  std::vsnprintf(text + used, room - used - 1, format, arguments);
  std::strcat(text, "\n");
}

}  // namespace

Case::Case(const char *rule, const char *g, const char *n, void (*r)(Trial &))
    : rule_id(rule), group(g), name(n), run(r), next(first_case) {
  first_case = this;
}

std::string Case::full_name() const { return std::string(rule_id) + "/" + name; }

const Rule &Case::rule() const {
  static const Rule none{"", "this rule has no text: add it to sdk/rules", "", "", "", 1, 0};
  const Rule *found = find_rule(rule_id);
  return found ? *found : none;
}

std::vector<const Case *> cases_for(uint32_t kind) {
  constexpr const char letters[] = {0, 'D', 'I', 'S', 'T'};
  const char letter = kind < std::size(letters) ? letters[kind] : 0;
  std::vector<const Case *> found;
  for (const Case *c = first_case; c; c = c->next)
    if (c->kind_letter() == 'P' || c->kind_letter() == letter || !kind) found.push_back(c);
  const auto place = [](const Case *c) { return static_cast<size_t>(&c->rule() - rules().data()); };
  std::sort(found.begin(), found.end(), [&](const Case *a, const Case *b) {
    return place(a) != place(b) ? place(a) < place(b) : std::strcmp(a->name, b->name) < 0;
  });
  return found;
}

const char *kind_name(uint32_t kind) {
  constexpr const char *names[] = {"plugin", "driver", "interface", "scheduler", "transport", "report", "layer"};
  return kind < std::size(names) ? names[kind] : "plugin";
}

Trial::Trial(const Subject &s, const Case &c, Verdict &v)
    : subject_(s), verdict_(v), random_(hash(s.seed, c.full_name().c_str())), began_ns_(steady_ns()) {}

bool Trial::has_time() const { return steady_ns() - began_ns_ < scaled(3, 9) * 1'000'000'000u; }

uint64_t Trial::scaled(uint64_t quick, uint64_t full) const {
  const int level = std::clamp(subject_.level, 1, 10);
  return full < quick ? quick : quick + (full - quick) * static_cast<uint64_t>(level - 1) / 9;
}

void Trial::add_failure(const char *format, va_list arguments) {
  const std::lock_guard lock(verdict_mutex);
  verdict_.outcome = Outcome::kFailed;
  if (++verdict_.failures <= kLinesKept) append_line(verdict_.seen, sizeof verdict_.seen, format, arguments);
}

bool Trial::check(bool holds, const char *seen, ...) {
  if (holds) return true;
  va_list arguments;
  va_start(arguments, seen);
  add_failure(seen, arguments);
  va_end(arguments);
  return false;
}

void Trial::need(bool holds, const char *seen, ...) {
  if (holds) return;
  va_list arguments;
  va_start(arguments, seen);
  add_failure(seen, arguments);
  va_end(arguments);
  throw Stop{};
}

void Trial::skip(const char *why, ...) {
  if (!failed()) {
    va_list arguments;
    va_start(arguments, why);
    append_line(verdict_.seen, sizeof verdict_.seen, why, arguments);
    va_end(arguments);
    verdict_.outcome = Outcome::kSkipped;
  }
  throw Stop{};
}

void Trial::doing(const char *what, ...) {
  va_list arguments;
  va_start(arguments, what);
  const std::lock_guard lock(verdict_mutex);
  std::vsnprintf(verdict_.doing, sizeof verdict_.doing, what, arguments);
  va_end(arguments);
}

void Trial::figure(const char *measured, ...) {
  va_list arguments;
  va_start(arguments, measured);
  const std::lock_guard lock(verdict_mutex);
  append_line(verdict_.figures, sizeof verdict_.figures, measured, arguments);
  va_end(arguments);
}

void run_case(const Case &c, const Subject &subject, Verdict &v) {
  Trial t(subject, c, v);
  try {
    c.run(t);
  } catch (const Stop &) {
  } catch (const std::exception &e) {
    t.check(false, "the case ended with an exception: %s", e.what());
  }
  if (v.outcome == Outcome::kNone) v.outcome = Outcome::kPassed;
}

}  // namespace conform
