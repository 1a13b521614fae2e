#include "terminal.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tool {
namespace {

enum class Color { kAuto, kAlways, kNever };
Color chosen = Color::kAuto;
constexpr char kClear[] = "\r\x1b[K";

bool colored(int fd) {
  if (chosen != Color::kAuto) return chosen == Color::kAlways;
  const char *no = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  return isatty(fd) && !(no && *no) && term && std::strcmp(term, "dumb") != 0;
}

std::string painted(const char *code, const std::string &text, int fd = STDOUT_FILENO) {
  return text.empty() || !colored(fd) ? text : "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

}  // namespace

void choose_color(const std::string &when) {
  chosen = when == "always" ? Color::kAlways : when == "never" ? Color::kNever : Color::kAuto;
}

std::string bold(const std::string &text) { return painted("1", text); }
std::string dim(const std::string &text) { return painted("2", text); }
std::string green(const std::string &text) { return painted("32", text); }
std::string yellow(const std::string &text) { return painted("33", text); }
std::string red(const std::string &text) { return painted("31", text); }

int complain(const std::string &text, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s %s\n", painted("1;31", "consort:", STDERR_FILENO).c_str(), printable(text, Newlines::kKeep).c_str());
  return status;
}

void warn(const std::string &text) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s %s\n", painted("1;33", "consort: warning:", STDERR_FILENO).c_str(), printable(text, Newlines::kKeep).c_str());
}

Progress::Progress(std::string doing) : doing_(std::move(doing)) {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::now(std::string doing) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(doing);
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(shown_, false)) [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kClear, sizeof kClear - 1);
}

// write() instead of stdio: a child forked meanwhile must not inherit a held stdio lock.
void Progress::run() {
  const auto say = [](const std::string &text) { return ::write(STDERR_FILENO, text.data(), text.size()) >= 0; };
  std::unique_lock lock(mutex_);
  for (int seconds = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; }); ++seconds)
    shown_ |= say(kClear + ("consort: " + printable(doing_) + " (" + std::to_string(seconds) + " s)"));
  if (shown_) (void)say(kClear);
}

}  // namespace tool
