// shared_link.hpp — a bandwidth shared by several links: a root complex, a backplane. Each sender over such a link asks
// it first.
//
// Copies that share a link complete together, so the first of them is as late as the last. Few are sent at a time, as
// over one link (link_credit.hpp). Waiting senders are served by priority, whichever device they send to; prefetches
// are served when no other sender waits. [any]; the lock is a leaf, and nothing is called under it.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "machine/link_credit.hpp"

namespace consort {

// A sender of copies over shared links.
class LinkTransfer {
 public:
  virtual void nudge() noexcept = 0;             // [any] the sender may try again

 protected:
  ~LinkTransfer() = default;
};

class SharedLink {
 public:
  static constexpr int64_t kWish = INT64_MAX;    // the order of a prefetch
  SharedLink(uint64_t bytes_per_s, bool prompt) noexcept : flow_(bytes_per_s, 0, 1, prompt) {}  // as in link_credit.hpp

  // [control] adds a sender, so that its place in the list is allocated. May throw
  void join() { waiters_.reserve(++passengers_); }
  // Returns whether the sender may send now. If not, it is nudged when it may. The smallest order is served first.
  bool enter(LinkTransfer &, int64_t order, uint64_t bytes, uint64_t now) noexcept;
  void leave(uint64_t bytes, uint64_t now) noexcept;
  bool has_room_for(const LinkTransfer &) noexcept;  // whether this sender is next and there is credit
  void forget(const LinkTransfer &) noexcept;        // removes a waiting sender

 private:
  struct Waiter {
    LinkTransfer *sender;
    int64_t order;
  };
  bool full(int64_t order) const noexcept {
    return order == kWish ? !flow_.has_room_for_wishes() : flow_.has_enough();
  }
  void strike(const LinkTransfer &) noexcept;
  std::vector<Waiter>::const_iterator first() const noexcept;
  LinkTransfer *next() const noexcept;              // the sender that is next, if there is credit

  std::mutex mutex_;                             // guards the two
  LinkCredit flow_;
  std::vector<Waiter> waiters_;                  // each sender at most once
  size_t passengers_ = 0;
};

}  // namespace consort
