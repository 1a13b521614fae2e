#include "machine/shared_link.hpp"

#include <algorithm>

namespace consort {

std::vector<SharedLink::Waiter>::const_iterator SharedLink::first() const noexcept {
  return std::min_element(waiters_.begin(), waiters_.end(),
                          [](const Waiter &a, const Waiter &b) { return a.order < b.order; });
}

LinkTransfer *SharedLink::next() const noexcept {
  const auto w = first();
  return w != waiters_.end() && !full(w->order) ? w->who : nullptr;
}

void SharedLink::strike(const LinkTransfer &who) noexcept {
  std::erase_if(waiters_, [&](const Waiter &w) { return w.who == &who; });
}

bool SharedLink::enter(LinkTransfer &who, int64_t order, uint64_t bytes, uint64_t now) noexcept {
  LinkTransfer *also;
  {
    const std::lock_guard lock(mutex_);
    strike(who);
    const auto before = first();
    if (full(order) || (before != waiters_.end() && before->order < order)) {
      waiters_.push_back({&who, order});  // join() has reserved the place
      return false;
    }
    flow_.sent(bytes, now);
    also = next();
  }
  if (also) also->nudge();
  return true;
}

void SharedLink::leave(uint64_t bytes, uint64_t now) noexcept {
  LinkTransfer *following;
  {
    const std::lock_guard lock(mutex_);
    flow_.arrived(bytes, now);
    following = next();
  }
  if (following) following->nudge();
}

bool SharedLink::has_room_for(const LinkTransfer &who) noexcept {
  const std::lock_guard lock(mutex_);
  return next() == &who;
}

void SharedLink::forget(const LinkTransfer &who) noexcept {
  LinkTransfer *following;
  {
    const std::lock_guard lock(mutex_);
    strike(who);
    following = next();
  }
  if (following) following->nudge();
}

}  // namespace consort
