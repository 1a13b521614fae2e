#include "observe/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "exec/execution.hpp"
#include "exec/executor.hpp"

namespace consort {
namespace {

constexpr uint64_t kWindow = 20'000'000'000, kStep = 100'000'000;  // ns, of what EndRate remembers
constexpr int64_t kLineEach = 500'000'000;           // ns

std::string with_commas(uint64_t n) {
  std::string s = std::to_string(n);
  for (size_t at = s.size(); at > 3;) s.insert(at -= 3, ",");
  return s;
}

std::string about(uint64_t ns) {
  const uint64_t s = (ns + 999'999'999) / 1'000'000'000;
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7200) return std::to_string((s + 30) / 60) + " min";
  return std::to_string((s + 1800) / 3600) + " h";
}

}  // namespace

uint64_t EndRate::left(uint64_t now, uint64_t done, uint64_t pending) {
  if (seen_.empty() || now - std::min(now, seen_.back().at) >= kStep) seen_.push_back({now, done});
  while (seen_.size() > 2 && now - seen_.front().at > kWindow) seen_.pop_front();
  const Seen &first = seen_.front();
  if (now - std::min(now, first.at) < kStep || done <= first.done) return pending ? UINT64_MAX : 0;
  const double each = static_cast<double>(now - first.at) / static_cast<double>(done - first.done);
  return static_cast<uint64_t>(std::min(each * static_cast<double>(pending), 1e18));
}

std::string progress_line(const consort_progress &p) {
  std::string s = with_commas(p.done) + " of " + with_commas(p.submitted) + " tasks, " + std::to_string(p.running) + " running";
  return p.left_ns == UINT64_MAX || p.done == p.submitted ? s : s + ", about " + about(p.left_ns) + " left";
}

consort_progress Progress::now() {
  consort_progress p = CONSORT_PROGRESS_INIT;
  p.done = rt_.finished();                           // before the submissions: see task/group.hpp
  p.submitted = rt_.submitted();
  const uint64_t pending = p.submitted - p.done;
  for (const auto &w : rt_.executors) p.running += w->token.load(std::memory_order_relaxed) == token::kHeld;
  p.running = static_cast<uint32_t>(std::min<uint64_t>(p.running, pending));
  const std::lock_guard lock(mutex_);
  p.left_ns = rate_.left(rt_.clock.now(), p.done, pending);
  return p;
}

Result<void> Progress::begin(bool line) {
  if (!line || !::isatty(STDERR_FILENO)) return {};
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error &e) {
    return error(CONSORT_E_NOMEM, std::string("the thread of the progress line: ") + e.what());
  }
  return {};
}

void Progress::end() noexcept {
  if (!thread_.joinable()) return;
  ending_.store(true, std::memory_order_release);    // pairs with the acquire in run()
  parker_.wake();
  thread_.join();
}

// One write, so that it is not mixed with what others print.
void Progress::show(const std::string &text) noexcept {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nothing can be said about that
}

void Progress::run() noexcept {
  name_this_thread("progress");
  bool shown = false;
  while (!ending_.load(std::memory_order_acquire)) {  // pairs with the release in end()
    parker_.wait(kLineEach);
    try {
      const consort_progress p = now();
      const bool idle = p.done == p.submitted;
      if (idle && !shown) continue;
      show(idle ? "\r\x1b[K" : "\r\x1b[Kconsort: " + progress_line(p));
      shown = !idle;
    } catch (const std::bad_alloc &) {  // the next time
    }
  }
  if (shown) show("\r\x1b[K");
}

}  // namespace consort
