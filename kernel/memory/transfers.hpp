// transfers.hpp — single hops of copies: a send from one space to the next, and its completion.
//
// Owned by Memory; each function is called under Memory's mutex, except those marked [any]. The purpose of a hop, and
// the action after it, are known above: fetches.hpp for fetched contents, eviction.hpp for saves.
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
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
struct Plugin;

class Transfers {
 public:
  Transfers(const Topology &, const Clock &, const std::unique_ptr<Tracer> &, MoverSet &, EvictionOrder &);

  // Sends the copies from t.from to t.to, which are allocated, and pins both. kDone: in flight, and land() follows.
  // kRefused: error text set, also t.status; nothing is sent.
  Outcome send(Transfer &) noexcept;
  // The copies of the hop have ended or were taken back: t.to is valid if they succeeded and the contents were not
  // overwritten meanwhile. Unpins both ends. Returns true if the contents were overwritten meanwhile.
  bool land(Transfer &, consort_status) noexcept;
  // The consequences of land() were handled. [any]
  void landed() noexcept { under_way_.fetch_sub(1, std::memory_order_release); }
  // A task waits for it, which is more urgent than its original purpose.
  void hurry(Transfer &) noexcept;
  bool take_back(Transfer &) noexcept;  // true: none of its copies was started; the caller calls land()
  // The last hop will not be sent.
  static void give_up(Transfer &) noexcept;
  static void announce(Replica &, Transfer &) noexcept;  // the last of several hops will end in this replica

  uint64_t under_way() const noexcept { return transfers_; }
  uint32_t leaving(uint32_t space) const noexcept { return leaving_[space]; }  // copies in flight from there
  // [any] Returns whether there is a hop whose waiters were not all told of its end. acquire pairs with the release of
  // landed().
  bool busy() const noexcept { return under_way_.load(std::memory_order_acquire); }
  uint64_t queued(uint32_t from, uint32_t to) const noexcept { return links_[at(from, to)].queued; }  // [any] bytes
  // [any] Time for a byte of one more copy, given what the link takes alone: the bus's links with copies in flight get equal
  // shares of it.
  float ns_per_byte(uint32_t from, uint32_t to, float alone) const noexcept {
    const OneLink &link = links_[at(from, to)];
    if (!link.bus) return alone;
    const int32_t others = int32_t{link.bus->busy} - (uint64_t{link.queued} != 0);
    return std::max(alone, link.bus->ns_per_byte * static_cast<float>(1 + others));
  }
  const LinkStatistics &statistics(uint32_t from, uint32_t to) const noexcept { return links_[at(from, to)].statistics; }

 private:
  struct Bus {  // bandwidth that several links share
    float ns_per_byte = 0;
    RelaxedValue<int32_t> busy;     // number of its links with copies in flight
  };
  struct OneLink {
    RelaxedValue<uint64_t> queued;  // bytes of copies in flight
    Bus *bus = nullptr;             // nullptr: it has its bandwidth for itself
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
  std::map<std::pair<const Plugin *, uint64_t>, Bus> buses_;  // by driver and number
  std::vector<OneLink> links_;
  std::vector<uint32_t> leaving_;
  uint64_t transfers_ = 0;
  std::atomic<uint32_t> under_way_{0};  // see busy()
};

}  // namespace consort
