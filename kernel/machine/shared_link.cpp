#include "machine/shared_link.hpp"

#include <algorithm>

namespace consort {

std::vector<Bus::Waiter>::const_iterator Bus::first() const noexcept {
  return std::min_element(waiters_.begin(), waiters_.end(),
                          [](const Waiter &a, const Waiter &b) { return a.order < b.order; });
}

Passenger *Bus::next() const noexcept {
  const auto w = first();
  return w != waiters_.end() && !full(w->order) ? w->who : nullptr;
}

void Bus::strike(const Passenger &who) noexcept {
  std::erase_if(waiters_, [&](const Waiter &w) { return w.who == &who; });
}

bool Bus::enter(Passenger &who, int64_t order, uint64_t bytes, uint64_t now) noexcept {
  Passenger *also;
  {
    const std::lock_guard lock(mutex_);
    strike(who);
    const auto before = first();
    if (full(order) || (before != waiters_.end() && before->order < order)) {
      waiters_.push_back({&who, order});  // there is room for each: join()
      return false;
    }
    flow_.sent(bytes, now);
    also = next();
  }
  if (also) also->nudge();
  return true;
}

void Bus::leave(uint64_t bytes, uint64_t now) noexcept {
  Passenger *following;
  {
    const std::lock_guard lock(mutex_);
    flow_.arrived(bytes, now);
    following = next();
  }
  if (following) following->nudge();
}

bool Bus::has_room_for(const Passenger &who) noexcept {
  const std::lock_guard lock(mutex_);
  return next() == &who;
}

void Bus::forget(const Passenger &who) noexcept {
  Passenger *following;
  {
    const std::lock_guard lock(mutex_);
    strike(who);
    following = next();
  }
  if (following) following->nudge();
}

}  // namespace consort
