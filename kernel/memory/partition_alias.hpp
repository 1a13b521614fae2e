// partition_alias.hpp — windows: replicas of parts inside the memory of their whole's replica in a space.
//
// While a window is pinned its base is pinned. When the base loses its memory its windows are closed, and a part that
// is needed there again gets memory of its own. While parts are written the whole has no valid replica
// (Replicas::shut). When it is read again, memory of the whole that is not entirely valid is left to the parts
// (Replicas::left_over). window.hpp defines what a window is. Owned by Memory; each function is called under Memory's
// mutex.
#pragma once
#include "memory/replica_records.hpp"

namespace consort {

struct PartitionPlan;

class PartitionAlias {
 public:
  PartitionAlias(const Topology &topology, EvictionOrder &order, ReplicaRecords &records)
      : topology_(topology), order_(order), records_(records) {}

  // Opens a window for each part in that memory of the whole. Returns false, with no window open, if the filter has no
  // layout there or a part's replica there is in use. May throw.
  bool open_windows(const PartitionPlan &, Replica &base);
  // Closes the plan's windows. Precondition: no task uses its parts any more; their contents elsewhere are discarded.
  void close_windows(const PartitionPlan &) noexcept;
  // The parts are written from now on: no replica of the whole is valid.
  void shut(Datum &whole) noexcept;
  // The whole is read again, valid in these spaces. In other spaces its parts keep the memory, and the whole gets new
  // memory when it is needed there.
  void unshut(Datum &whole, coherence::Spaces valid) noexcept;
  // Memory that was left to windows alone is freed with the last window, or returns to the whole if that has no other
  // memory in use.
  void take_back(Replicas &) noexcept;
  // The whole has no memory at home, so neither have its parts until they are opened again.
  void lose_place(const PartitionPlan &) noexcept;

 private:
  bool open_window(const PartitionPlan &, uint32_t part, Replica &home, Replica &base);
  void close_windows_of(const PartitionPlan &, Replica &base) noexcept;
  bool is_taken_back(Replicas &, std::unique_ptr<Replica> &) noexcept;

  const Topology &topology_;
  EvictionOrder &order_;
  ReplicaRecords &records_;
};

}  // namespace consort
