#include "observe/watchdog.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "exec/execution.hpp"
#include "exec/executor.hpp"

namespace consort {
namespace {

struct Moves {                                       // of a runtime so far
  uint64_t finished, submitted, bodies;
  bool operator==(const Moves &) const = default;
};

Moves moves_of(Execution &rt) noexcept {
  Moves m{rt.finished(), 0, 0};                      // before the submissions: see task/group.hpp
  m.submitted = rt.submitted();
  for (const auto &w : rt.executors)
    m.bodies += w->ran.load(std::memory_order_relaxed) + w->extra_ran.load(std::memory_order_relaxed);
  return m;
}

}  // namespace

Result<void> Watchdog::begin(uint64_t seconds, std::function<std::string()> describe) {
  if (!seconds) return {};
  describe_ = std::move(describe);
  patience_ = seconds * 1'000'000'000;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error &e) {
    return error(CONSORT_E_NOMEM, std::string("the thread of the watchdog: ") + e.what());
  }
  return {};
}

void Watchdog::end() noexcept {
  if (!thread_.joinable()) return;
  ending_.store(true, std::memory_order_release);    // pairs with the acquire in run()
  parker_.wake();
  thread_.join();
}

void Watchdog::run() noexcept {
  name_this_thread("watchdog");
  Moves before = moves_of(rt_);
  uint64_t since = monotonic_ns(), next = patience_;  // next: how long nothing moves when it speaks
  while (!ending_.load(std::memory_order_acquire)) {  // pairs with the release in end()
    parker_.wait(static_cast<int64_t>(std::min<uint64_t>(patience_ / 4, 1'000'000'000)));
    const Moves now = moves_of(rt_);
    const uint64_t at = monotonic_ns();
    if (now != before || now.finished == now.submitted) {
      before = now;
      since = at;
      next = patience_;
      continue;
    }
    if (at - since < next || ending_.load(std::memory_order_acquire)) continue;  // as above
    next *= 2;                                       // the same standstill is told less and less often
    try {
      rt_.log(kLogWarn, "nothing has moved for " + std::to_string((at - since) / 1'000'000'000) + " s: " + describe_());
    } catch (const std::bad_alloc &) {
      rt_.log(kLogWarn, "nothing moves, and there is no memory to say why");
    }
  }
}

}  // namespace consort
