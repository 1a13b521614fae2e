// eviction_order.hpp — for each space, the replicas that may be evicted, in the order of eviction.
//
// A replica is listed while it has memory, no task or copy uses it (it is not pinned), and nothing else keeps it
// (Replica::stays()). Listed replicas stand in the order of their last use. After the first shortage of memory they are
// also kept in the order of eviction: worthless contents, then by next use, then replicas that need no save, then the
// longest unused. Owned by Memory; each function is called under Memory's mutex, except those marked [any].
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

  // Reserves an entry for one more replica in that space; may throw. entered() and list() cannot fail afterwards.
  void expect(uint32_t space) { stores_[space].victims.expect(stores_[space].replicas + 1); }
  void entered(uint32_t space) noexcept { ++stores_[space].replicas; }  // a record of a replica was made
  void erase(Replica &r) noexcept {                                     // the record of a replica is destroyed
    unlist(r);
    --stores_[r.space].replicas;
  }

  // Lists the replica if it may go: as the newest, or as the oldest if it is unwanted.
  void list(Replica &) noexcept;
  void unlist(Replica &) noexcept;  // no effect if it is not listed
  void relist(Replica &r) noexcept {  // moves a listed replica to its new place
    if (!r.listed) return;
    unlist(r);
    list(r);
  }
  // Counts a task, hold or copy that uses it. A pinned replica stays, and so does the replica that owns its memory.
  void pin(Replica &) noexcept;
  void unpin(Replica &) noexcept;

  uint64_t evictable(uint32_t space) const noexcept { return stores_[space].evictable; }  // [any] bytes of listed replicas
  uint64_t pinned(uint32_t space) const noexcept { return stores_[space].pinned; }        // bytes of pinned replicas
  // Returns whether it has contents that exist nowhere else, so that they are saved before it goes.
  bool must_be_saved(const Replica &r) const noexcept { return is_only(r, home_); }
  Replica *oldest(uint32_t space) const noexcept { return stores_[space].oldest; }        // then by Replica::newer

  // Memory is short there: reads the announced uses of later tasks, and ranks all replicas again if that is due.
  void look_ahead(uint32_t space) noexcept;
  // Calls f(Replica &) for the listed replicas of a space in the order of eviction, each once, until f returns false. f
  // may drop the replica. Precondition: look_ahead() was called.
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
      if (!seen->listed) continue;  // dropped or in use since
      rank(*seen);
      store.victims.add(*seen);
    }
  }
  void evicted_one(uint32_t space) noexcept {  // after as many evictions as there are replicas, ranks are due
    Store &store = stores_[space];
    store.evictions_until_ranked -= store.evictions_until_ranked != 0;
  }

  // Before the policy chooses replicas to evict: invalidates its earlier answer and uses current ranks.
  void begin_choice(uint32_t space) noexcept;
  void choose(Replica &, uint64_t place) noexcept;  // it goes as number `place`, from 1, unless it is used first

 private:
  struct Store {
    RelaxedValue<uint64_t> evictable;
    uint64_t pinned = 0;
    Replica *oldest = nullptr, *newest = nullptr;
    EvictionQueue victims;
    bool tight = false;      // `victims` is kept
    uint64_t replicas = 0;   // number of replicas, with or without memory
    uint64_t uses = 0, evictions_until_ranked = 0;
    uint64_t choices = 0;    // choices of the policy so far; only the last counts
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
