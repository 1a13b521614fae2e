// replica_records.hpp — the records of a datum's replicas, and the memory that a replica has.
//
// A datum gets its record (task/replica.hpp) when it is first to be in two spaces; from then on its state says "many".
// Owned by Memory; each function is called under Memory's mutex.
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
  // The datum's record: made where it has none, from the one space in which it lives. May throw.
  Replicas &of(Datum &);
  // The record of a part, whose memory at home is its whole's there. May throw.
  Replicas &of_part(Datum &, Replica &home);
  // The datum's replica in that space: made, without memory, where it has none. May throw.
  Replica &in(Replicas &, Datum &, uint32_t space);

  // Memory for a replica whose room was made. < 0: refused by the driver, told.
  consort_status allocate(Replica &) noexcept;
  // Its memory becomes spare. It is not pinned, and not the only valid one of its datum unless that has no contents.
  void release(Replica &) noexcept;
  // A part's replica at home, whose whole has no memory there: none can be had.
  bool has_no_place(const Replica &) const noexcept;
  // A replica without contents for one task, in no datum's record. May throw.
  static std::unique_ptr<Replica> scratch(Datum &, uint32_t space);

  void close_window(Replica &) noexcept;        // its base forgets it otherwise
  void close_windows(Replica &base) noexcept;   // the base loses its memory
  // All replicas of a datum that is removed go, with what they have. The record is empty then.
  void clear(Replicas &) noexcept;
  static void invalidate(Datum &) noexcept;     // it has no contents any more
  static uint32_t state_in(const Datum &, uint32_t space) noexcept;  // CONSORT_IN_*
  // A writer's turn: no task that does not know of the record is left. Its first memory may go from now on.
  void nobody_else(Replicas &) noexcept;

 private:
  Replica &add_first(Replicas &, Datum &, DatumExtra &, uint32_t state);
  consort_status take_blocks(Replica &, consort_addr *, uint32_t *n);

  const Topology &topology_;
  DataTable &data_;
  BlockCache &cache_;
  EvictionOrder &order_;
};

}  // namespace consort
