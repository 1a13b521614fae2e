// shared_link.hpp — what several links move over together: a root complex, a backplane. Who sends over such a link asks it.
//
// Copies that share a bus end together, and who waits for the first of them waits for all. So few are sent at a time,
// as over one link (link_credit.hpp), and those that wait for the bus go in the order of what waits for them, whichever device
// they are for. Wishes go when nobody else waits. [any]; the lock is a leaf, and nothing is called under it.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "machine/link_credit.hpp"

namespace consort {

// Who sends copies over buses.
class LinkTransfer {
 public:
  virtual void nudge() noexcept = 0;             // [any] look again

 protected:
  ~LinkTransfer() = default;
};

class SharedLink {
 public:
  static constexpr int64_t kWish = INT64_MAX;    // the order of one
  SharedLink(uint64_t bytes_per_s, bool prompt) noexcept : flow_(bytes_per_s, 0, 1, prompt) {}  // as in link_credit.hpp

  void join() { waiters_.reserve(++passengers_); }  // [control] one more. May throw
  // May it send this? No: it is nudged when it may. The least order goes first.
  bool enter(LinkTransfer &, int64_t order, uint64_t bytes, uint64_t now) noexcept;
  void leave(uint64_t bytes, uint64_t now) noexcept;
  bool has_room_for(const LinkTransfer &) noexcept;  // is it its turn, of those that wait?
  void forget(const LinkTransfer &) noexcept;        // it waits no longer

 private:
  struct Waiter {
    LinkTransfer *who;
    int64_t order;
  };
  bool full(int64_t order) const noexcept {
    return order == kWish ? !flow_.has_room_for_wishes() : flow_.has_enough();
  }
  void strike(const LinkTransfer &) noexcept;
  std::vector<Waiter>::const_iterator first() const noexcept;
  LinkTransfer *next() const noexcept;              // whose turn it is, if there is room

  std::mutex mutex_;                             // guards the two
  LinkCredit flow_;
  std::vector<Waiter> waiters_;                  // each once
  size_t passengers_ = 0;
};

}  // namespace consort
