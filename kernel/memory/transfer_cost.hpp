// transfer_cost.hpp — estimated costs of transfers and available memory, for policies.
//
// All functions are [any] and take no lock. They read relaxed values of data that unfinished tasks name, so the results
// may be out of date. Owned by Memory.
#pragma once
#include <consort/scheduler.h>

#include <vector>

#include "memory/block_cache.hpp"
#include "memory/transfers.hpp"

namespace consort {

// The locations of the replicas of a datum with a record; nullptr: it has none. acquire: pairs with
// ReplicaRecords::of() and of_part().
inline const Placement *placement_of(const Datum &d) noexcept {
  return d.places.known.load(std::memory_order_acquire) ? &d.places : nullptr;
}
// The spaces where it is valid, with or without a record.
coherence::Spaces valid_spaces(const Datum &) noexcept;

class TransferCost {
 public:
  TransferCost(Topology &, const BlockCache &, const EvictionOrder &, const MoverSet &, const Transfers &);
  void open();  // sets the topology's costs of routes over several links; precondition: the movers are open

  // For each task and each space, in that order: the time until its data are valid there; NaN: no such space.
  void transfer_ns(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                   float *out) const noexcept;
  // Likewise, bit i of out: the datum of access i, of the first 64, is neither valid there nor in flight.
  void lacking(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
               uint64_t *out) const noexcept;
  consort_room room(uint32_t space) const noexcept;
  bool is_valid(const Datum &d, uint32_t space) const noexcept {
    return space < reach_.size() && (valid_spaces(d) & coherence::one(space));
  }
  // The spaces that all units of that space can access directly.
  coherence::Spaces reach(uint32_t space) const noexcept { return reach_[space]; }

 private:
  struct Cost { float own, queued; };  // ns, without the queue, and until the queue has drained
  struct Look {                        // at one datum
    uint64_t bytes;
    coherence::Spaces valid, arriving;
  };
  struct Looks {
    static constexpr uint32_t kAtOnce = 64;
    uint32_t n = 0;
    Look at[kAtOnce];
  };
  Cost cost(uint32_t from, uint32_t to, uint64_t bytes) const noexcept;
  Cost soonest(const Look &, uint32_t space) const noexcept;
  static void look(const consort_task &, uint32_t first, coherence::Spaces alone, Looks &) noexcept;
  static void fetch_early(const consort_task *const *, uint32_t nt) noexcept;
  void show_way(uint32_t from, uint32_t to);

  Topology &topology_;
  const BlockCache &cache_;
  const EvictionOrder &order_;
  const MoverSet &movers_;
  const Transfers &transfers_;
  std::vector<coherence::Spaces> reach_;  // by space
};

}  // namespace consort
