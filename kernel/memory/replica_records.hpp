// replica_records.hpp — records of a datum's replicas, and allocation of their memory.
//
// A datum gets its record (task/replica.hpp) when it is first needed in a second space; from then on its state says
// "many". Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <consort/driver.h>

#include "memory/block_cache.hpp"
#include "memory/eviction_order.hpp"
#include "memory/window.hpp"

namespace consort {

class ReplicaRecords {
 public:
  ReplicaRecords(const Topology &topology, DataTable &data, BlockCache &cache, EvictionOrder &order)
      : topology_(topology), data_(data), cache_(cache), order_(order) {}

  uint32_t home() const noexcept;
  // Returns the datum's record; makes it from the one space in which the datum lives. May throw.
  Replicas &of(Datum &);
  // Returns the record of a part, whose memory at home is inside its whole's. May throw.
  Replicas &of_part(Datum &, Replica &home);
  // Returns the datum's replica in that space; makes one without memory. May throw.
  Replica &in(Replicas &, Datum &, uint32_t space);

  // Allocates memory for a replica. Precondition: there is room. < 0: refused by the driver, error text set.
  consort_status allocate(Replica &) noexcept;
  // Makes its memory spare. Precondition: it is not pinned, and not the only valid replica of a datum with contents.
  void release(Replica &) noexcept;
  // Returns whether it is a part's replica at home whose whole has no memory there: it cannot be allocated.
  bool lacks_place(const Replica &) const noexcept;
  // Returns a replica without contents for one task, outside of any record. May throw.
  static std::unique_ptr<Replica> scratch(Datum &, uint32_t space);

  void close_window(Replica &) noexcept;        // also removes it from its base
  void close_windows(Replica &base) noexcept;   // the base loses its memory
  // Frees all replicas of a datum that is removed. The record is empty afterwards.
  void clear(Replicas &) noexcept;
  static void invalidate(Datum &) noexcept;     // discards its contents
  static uint32_t state_in(const Datum &, uint32_t space) noexcept;  // CONSORT_IN_*
  // A writer's turn: no task that ignores the record is left. The datum's first memory may be evicted from now on.
  void clear_unsure(Replicas &) noexcept;

 private:
  Replica &add_first(Replicas &, Datum &, DatumExtra &, uint32_t state);
  consort_status take_blocks(Replica &, consort_addr *, uint32_t *n);

  const Topology &topology_;
  DataTable &data_;
  BlockCache &cache_;
  EvictionOrder &order_;
};

}  // namespace consort
