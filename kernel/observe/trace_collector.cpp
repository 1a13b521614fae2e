#include "observe/trace_collector.hpp"

#include <time.h>

#include <new>
#include <system_error>

namespace consort {
namespace {

constexpr int64_t kTurn = 100'000'000;               // ns between two turns of the thread
constexpr uint64_t kPointEach = 1'000'000'000;       // ns between two points of the clock, after the first second
constexpr uint64_t kPointSoon = 50'000'000;
constexpr uint64_t kLongestWait = 1'000'000'000;     // ns, of a writer for room
constexpr long kNap = 100'000;                       // ns

}  // namespace

TraceCollector::TraceCollector(const Clock &clock, TickClock ticks, uint64_t ring_bytes, std::unique_ptr<TraceFile> file,
                               std::unique_ptr<KeptRecords> kept)
    : clock_(clock), ticks_(ticks), ring_bytes_(ring_bytes), file_(std::move(file)), kept_(std::move(kept)) {
  if (file_) file_->begin();
  note_time(true);
}

TraceCollector::~TraceCollector() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  parker_.wake();
  thread_.join();
}

TraceRing *TraceCollector::add_ring() noexcept try {
  const std::lock_guard lock(rings_mutex_);
  rings_.push_back(std::make_unique<TraceRing>(*this, static_cast<uint32_t>(rings_.size()), ring_bytes_));
  return rings_.back().get();
} catch (const std::bad_alloc &) {
  return nullptr;
}

void TraceCollector::add_lines(std::string_view text) noexcept try {
  if (!file_) return;
  const std::lock_guard lock(rings_mutex_);
  lines_ += text;
} catch (const std::bad_alloc &) {  // no memory: they are missing
}

Result<void> TraceCollector::start_thread() {
  if (!file_ || clock_.stepped()) return {};
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error &e) {
    return error(CONSORT_E_NOMEM, std::string("the thread that writes the trace: ") + e.what());
  }
  threaded_.store(true, std::memory_order_relaxed);
  return {};
}

void TraceCollector::run() noexcept {
  name_this_thread("consort-trace");
  while (!stopping_.load(std::memory_order_acquire)) {  // pairs with the release in stop()
    parker_.wait(kTurn);
    const std::lock_guard lock(draining_);
    drain_all();
  }
}

void TraceCollector::half_full() noexcept {
  if (threaded_.load(std::memory_order_relaxed)) parker_.wake();
}

bool TraceCollector::make_room(TraceRing &ring, uint64_t bytes) noexcept {
  if (!threaded_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(draining_);
    drain_all();
    return true;
  }
  if (stuck_.load(std::memory_order_relaxed)) return ring.room() >= bytes;
  for (const uint64_t until = monotonic_ns() + kLongestWait; monotonic_ns() < until;) {
    if (ring.room() >= bytes) return true;
    parker_.wake();
    const timespec nap{0, kNap};
    nanosleep(&nap, nullptr);
  }
  stuck_.store(true, std::memory_order_relaxed);
  return ring.room() >= bytes;
}

std::unique_lock<std::mutex> TraceCollector::drain_and_hold() noexcept {
  std::unique_lock lock(draining_);
  drain_all();
  note_time(true);
  return lock;
}

void TraceCollector::note_time(bool always) noexcept try {
  if (!ticks_.of_processor()) return;
  const TickClock::Point now = ticks_.point(clock_);
  if (!always && !points_.empty() && now.ns - points_.back().ns < (points_.size() < 20 ? kPointSoon : kPointEach)) return;
  points_.push_back(now);
  if (file_ && !ended_) file_->point(now);
} catch (const std::bad_alloc &) {  // no memory: times are less exact
}

void TraceCollector::drain_all() noexcept {
  std::string lines;
  {
    const std::lock_guard lock(rings_mutex_);
    lines.swap(lines_);
    try {
      for (size_t i = seen_.size(); i < rings_.size(); ++i) seen_.push_back(rings_[i].get());
    } catch (const std::bad_alloc &) {  // no memory: the next time
    }
  }
  const bool writes = file_ && !ended_;
  if (writes && !lines.empty()) file_->lines(lines);
  note_time(false);
  for (TraceRing *ring : seen_) {
    ring->take_all([&](const char *records, uint64_t bytes) {
      if (writes) file_->events(ring->number, records, bytes);
      if (kept_) kept_->take(records, bytes);
    });
    lost_ += ring->take_lost();
  }
  stuck_.store(false, std::memory_order_relaxed);
}

void TraceCollector::reset(std::string_view lines) noexcept {
  const std::lock_guard lock(draining_);
  drain_all();
  lost_ = 0;
  if (kept_) kept_->clear();
  if (!file_) return;
  file_->reset();
  file_->lines(lines);
}

void TraceCollector::stop(std::string_view lines, uint64_t more_lost) noexcept {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_release);  // pairs with the acquire in run()
    parker_.wake();
    thread_.join();
    threaded_.store(false, std::memory_order_relaxed);
  }
  const std::lock_guard lock(draining_);
  drain_all();
  note_time(true);
  if (!file_) return;
  file_->lines(lines);
  file_->end(lost_ + more_lost);
  ended_ = true;
}

}  // namespace consort
