#include "waker.hpp"

namespace level_zero {

Waker::~Waker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    more_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool Waker::start() noexcept {
  try {
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (...) {
    return false;
  }
}

bool Waker::signal_for(Event *e, streams::WakeFd *wake) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    items_.push_back({e, wake});
  } catch (...) {
    return false;
  }
  events_.keep(e);
  more_.notify_all();
  return true;
}

void Waker::run() noexcept {
  // A single event is waited for with a long limit, to check for the end; several take turns with a short one.
  constexpr uint64_t kOne = 2'000'000, kSeveral = 100'000;
  size_t turn = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return stop_ || !items_.empty(); });
    std::erase_if(items_, [&](const Item &i) {
      if (!stop_ && api_.zeEventQueryStatus(i.event->handle) == ZE_RESULT_NOT_READY) return false;
      wake(i);  // also on errors: poll() reports them
      return true;
    });
    if (stop_) return;
    if (items_.empty()) continue;
    // Only this thread removes items, so the event stays alive.
    const ze_event_handle_t next = items_[turn++ % items_.size()].event->handle;
    const uint64_t patience = items_.size() == 1 ? kOne : kSeveral;
    lock.unlock();
    api_.zeEventHostSynchronize(next, patience);
    lock.lock();
  }
}

}  // namespace level_zero
