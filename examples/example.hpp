// What every example needs and none is about: sizes from the command line, and saying whether the result is right.
// For main() alone, on its thread. It must never hide a step that a reader came to see.
#pragma once
#include <consort/consort.hpp>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <vector>

namespace example {

struct Size {
  const char *name;   // given as --NAME N, N > 0
  std::size_t value;  // unless it is given
  const char *help;
};

// The sizes of one run, and the runtime's settings: --workers N and --scheduler NAME are known to every example.
// --help ends the program, and so does what it does not know, with 2.
class Options {
 public:
  Options(int argc, char **argv, std::initializer_list<Size> sizes) : program_(argv[0]), sizes_(sizes) {
    if (const char *slash = std::strrchr(program_, '/')) program_ = slash + 1;
    for (int i = 1; i < argc; i += 2) {
      if (!std::strcmp(argv[i], "--help")) usage(0);
      if (i + 1 == argc || !take(argv[i], argv[i + 1])) usage(2);
    }
  }
  std::size_t operator[](const char *name) const {
    for (const Size &s : sizes_)
      if (!std::strcmp(s.name, name)) return s.value;
    std::fprintf(stderr, "%s has no size %s\n", program_, name);
    std::exit(2);
  }
  const consort::Settings &settings() const { return settings_; }

 private:
  bool take(const char *key, const char *text) {
    if (!std::strcmp(key, "--scheduler")) return settings_.set("scheduler", text), true;
    char *end = nullptr;
    const unsigned long long n = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n == 0 || n > 1u << 30) return false;
    if (!std::strcmp(key, "--workers")) return settings_.set("workers", n), true;
    for (Size &s : sizes_)
      if (!std::strncmp(key, "--", 2) && !std::strcmp(s.name, key + 2)) return s.value = n, true;
    return false;
  }
  [[noreturn]] void usage(int code) const {
    std::FILE *to = code ? stderr : stdout;
    std::fprintf(to, "usage: %s", program_);
    for (const Size &s : sizes_) std::fprintf(to, " [--%s N]", s.name);
    std::fprintf(to, " [--workers N] [--scheduler NAME]\n");
    for (const Size &s : sizes_) std::fprintf(to, "  --%-10s %s (%zu)\n", s.name, s.help, s.value);
    std::exit(code);
  }

  const char *program_;
  std::vector<Size> sizes_;
  consort::Settings settings_;
};

// The larger of the differences of two ranges, element by element; NaN where one of them is.
template <class A, class B>
double difference(const A &a, const B &b) {
  double worst = 0;
  auto other = b.begin();
  for (const auto &e : a) {
    const double d = std::abs(static_cast<double>(e) - static_cast<double>(*other++));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

// `consort sim` lets kernels take time and runs none of them, unless it is told to.
inline bool is_nothing_computed() {
  const char *execute = std::getenv("CONSORT_SIM__EXECUTE");
  return execute && !std::strcmp(execute, "false");
}

// The program's last line, and what main() returns: the words say what was computed. In a simulation without results
// there is nothing to be right or wrong.
[[gnu::format(printf, 2, 3)]] inline int end(bool right, const char *words, ...) {
  if (!right && is_nothing_computed()) {
    std::puts("simulated: no task was run, so no result is looked at (consort sim --execute runs them)");
    return 0;
  }
  std::FILE *to = right ? stdout : stderr;
  if (!right) std::fputs("WRONG: ", to);
  va_list list;
  va_start(list, words);
  std::vfprintf(to, words, list);
  va_end(list);
  std::fputc('\n', to);
  return right ? 0 : 1;
}

// For a catch clause of main(): consort::Error names the task, its worker and its data.
inline int failed(const std::exception &e) { return std::fprintf(stderr, "WRONG: %s\n", e.what()), 1; }

}  // namespace example
