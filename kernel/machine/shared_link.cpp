#include "machine/shared_link.hpp"

#include <algorithm>

namespace consort {

std::vector<SharedLink::Waiter>::const_iterator SharedLink::first() const noexcept {
  return std::min_element(waiters_.begin(), waiters_.end(),
                          [](const Waiter &a, const Waiter &b) { return a.order < b.order; });
}

LinkTransfer *SharedLink::next() const noexcept {
  const auto w = first();
  return w != waiters_.end() && !full(w->order) ? w->sender : nullptr;
}

void SharedLink::strike(const LinkTransfer &sender) noexcept {
  std::erase_if(waiters_, [&](const Waiter &w) { return w.sender == &sender; });
}

bool SharedLink::enter(LinkTransfer &sender, int64_t order, uint64_t bytes, uint64_t now) noexcept {
  LinkTransfer *also;
  {
    const std::lock_guard lock(mutex_);
    strike(sender);
    const auto before = first();
    if (full(order) || (before != waiters_.end() && before->order < order)) {
      waiters_.push_back({&sender, order});  // join() has reserved the place
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

bool SharedLink::has_room_for(const LinkTransfer &sender) noexcept {
  const std::lock_guard lock(mutex_);
  return next() == &sender;
}

void SharedLink::forget(const LinkTransfer &sender) noexcept {
  LinkTransfer *following;
  {
    const std::lock_guard lock(mutex_);
    strike(sender);
    following = next();
  }
  if (following) following->nudge();
}

}  // namespace consort
