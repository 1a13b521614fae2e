// eviction_order.hpp — of each space, the replicas that may go, and which of them goes first.
//
// A replica is listed here while it has memory, no task or copy uses it (it is not pinned), and nothing else keeps it
// (Replica::stays()). Listed replicas stand in the order of their last use; from the first time on that room was short,
// also in the order of eviction: worthless contents, then by next use, then by whether they have to be saved, then the
// longest unused. Owned by Memory; each function is called under Memory's mutex, but for what says [any].
#pragma once
#include <vector>

#include "base/relaxed_value.hpp"
#include "memory/eviction_queue.hpp"
#include "memory/next_use.hpp"
#include "memory/window.hpp"

namespace consort {

class Clock;
class Policy;

class EvictionOrder {
 public:
  EvictionOrder(size_t spaces, uint32_t home, NextUse &outlook, const Policy &policy, const Clock &clock)
      : home_(home), outlook_(outlook), policy_(policy), clock_(clock), stores_(spaces) {}

  // Room for the entry of one more replica in that space; may throw. entered() and list() do not fail after it.
  void expect(uint32_t space) { stores_[space].victims.expect(stores_[space].replicas + 1); }
  void entered(uint32_t space) noexcept { ++stores_[space].replicas; }  // a record of a replica was made
  void erase(Replica &r) noexcept {                                     // the record of a replica goes
    unlist(r);
    --stores_[r.space].replicas;
  }

  // Lists it, if it may go: as the newest, or, if it is unwanted, as the oldest.
  void list(Replica &) noexcept;
  void unlist(Replica &) noexcept;  // if it is listed
  void relist(Replica &r) noexcept {  // if it is listed: at its new place
    if (!r.listed) return;
    unlist(r);
    list(r);
  }
  // Counts a task, hold or copy that uses it. Pinned, it stays, and so does the replica whose memory it lies in.
  void pin(Replica &) noexcept;
  void unpin(Replica &) noexcept;

  uint64_t evictable(uint32_t space) const noexcept { return stores_[space].evictable; }  // [any] bytes that may go
  uint64_t pinned(uint32_t space) const noexcept { return stores_[space].pinned; }        // bytes that are pinned
  // Has it contents that are nowhere else? Then they are saved before it goes.
  bool must_be_saved(const Replica &r) const noexcept { return is_only(r, home_); }
  Replica *oldest(uint32_t space) const noexcept { return stores_[space].oldest; }        // then by Replica::newer

  // Room is short there: takes in what has become known of later tasks, and ranks all anew if that is due.
  void look_ahead(uint32_t space) noexcept;
  // Shows the listed replicas of a space, the first to go first, each once, until f(Replica &) says false. It may let
  // them go. look_ahead() was called.
  template <class F>
  void show(uint32_t space, F f) noexcept {
    Store &store = stores_[space];
    Replica *seen = nullptr;
    for (bool more = true; more;) {
      Replica *const r = next_victim(store);
      if (!r) break;
      store.victims.remove(*r);
      r->looked_at = true;
      r->next_looked_at = seen;
      seen = r;
      more = f(*r);
    }
    for (; seen; seen = seen->next_looked_at) {
      seen->looked_at = false;
      if (!seen->listed) continue;  // it has gone, or is in use
      rank(*seen);
      store.victims.add(*seen);
    }
  }
  void evicted_one(uint32_t space) noexcept {  // after as many as there are, ranks are due
    Store &store = stores_[space];
    store.evictions_until_ranked -= store.evictions_until_ranked != 0;
  }

  // The policy is asked which of them are to go. Ranks are those of now; an earlier answer counts no longer.
  void begin_choice(uint32_t space) noexcept;
  void choose(Replica &, uint64_t place) noexcept;  // it goes as number `place`, from 1, unless it is used meanwhile

 private:
  struct Store {
    RelaxedValue<uint64_t> evictable;
    uint64_t pinned = 0;
    Replica *oldest = nullptr, *newest = nullptr;
    EvictionQueue victims;
    bool tight = false;      // `victims` is kept
    uint64_t replicas = 0;   // that there are, with or without memory
    uint64_t uses = 0, evictions_until_ranked = 0;
    uint64_t choices = 0;    // of the policy; only the last counts
  };
  void rank(Replica &) noexcept;
  uint64_t next_use(const Replica &) noexcept;
  Replica *next_victim(Store &) noexcept;

  const uint32_t home_;
  NextUse &outlook_;
  const Policy &policy_;
  const Clock &clock_;
  std::vector<Store> stores_;
};

}  // namespace consort
