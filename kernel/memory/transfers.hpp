// transfers.hpp — the hops of copies: one send from a space to the next, and what its end leaves behind.
//
// Owned by Memory; each function is called under Memory's mutex, but for what says [any]. What a hop is for, and what
// follows it, is known above: fetches.hpp for contents that are wanted, eviction.hpp for contents that are saved.
#pragma once
#include <atomic>
#include <vector>

#include "base/relaxed_value.hpp"
#include "memory/eviction_order.hpp"
#include "memory/mover_set.hpp"
#include "graph/outcome.hpp"
#include "memory/statistics.hpp"
#include "memory/transfer.hpp"

namespace consort {

class Clock;
class Tracer;

class Transfers {
 public:
  Transfers(const Topology &, const Clock &, const std::unique_ptr<Tracer> &, MoverSet &, EvictionOrder &);

  // Sends the copies from t.from to t.to, which have memory, and pins both. kDone: they are under way, and land()
  // follows. kRefused: told in the error slot, with t.status; nothing is sent.
  Outcome send(Transfer &) noexcept;
  // The copies of the hop are over, or taken back: t.to is valid if they succeeded and the contents were not written
  // meanwhile. Unpins both ends. True: the contents were written meanwhile.
  bool land(Transfer &, consort_status) noexcept;
  // What land() led to is done. [any]
  void landed() noexcept { under_way_.fetch_sub(1, std::memory_order_release); }
  // A task waits for it, which is more urgent than what it was sent for.
  void hurry(Transfer &) noexcept;
  bool take_back(Transfer &) noexcept;  // true: no copy of it was begun, and none will be: land() is the caller's to call
  // The last hop is not to come.
  static void give_up(Transfer &) noexcept;
  static void announce(Replica &, Transfer &) noexcept;  // the last of several hops will end in this replica

  uint64_t under_way() const noexcept { return transfers_; }
  uint32_t leaving(uint32_t space) const noexcept { return leaving_[space]; }  // copies under way from there
  // [any] Is there a hop whose end not all that wait for it were told of? acquire pairs with the release of landed().
  bool busy() const noexcept { return under_way_.load(std::memory_order_acquire); }
  uint64_t queued(uint32_t from, uint32_t to) const noexcept { return links_[at(from, to)].queued; }  // [any] bytes
  const LinkStatistics &statistics(uint32_t from, uint32_t to) const noexcept { return links_[at(from, to)].statistics; }

 private:
  struct OneLink {
    RelaxedValue<uint64_t> queued;  // bytes of copies under way
    LinkStatistics statistics;
  };
  size_t at(uint32_t from, uint32_t to) const noexcept { return from * spaces_ + to; }
  OneLink &link_of(const Transfer &t) noexcept;
  int64_t order_of(const Transfer &) const noexcept;
  std::vector<consort_copy> copies_of(const Transfer &) const;
  void count_in(Transfer &);
  void count_out(Transfer &) noexcept;

  const Topology &topology_;
  const Clock &clock_;
  const std::unique_ptr<Tracer> &tracer_;
  MoverSet &movers_;
  EvictionOrder &order_;
  const size_t spaces_;
  std::vector<OneLink> links_;
  std::vector<uint32_t> leaving_;
  uint64_t transfers_ = 0;
  std::atomic<uint32_t> under_way_{0};  // see busy()
};

}  // namespace consort
