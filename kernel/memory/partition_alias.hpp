// partition_alias.hpp — windows: parts in the memory that their whole has in a space.
//
// While a window is pinned so is its base; when the base loses its memory its windows go, and a part that is wanted there
// again gets memory like any datum. While parts are written a whole has no valid replica (Replicas::shut); when it is
// read again, memory where not all of it is valid is left to the parts (Replicas::left_over). What a window is stands in
// window.hpp. Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/replica_records.hpp"

namespace consort {

struct PartitionPlan;

class PartitionAlias {
 public:
  PartitionAlias(const Topology &topology, EvictionOrder &order, ReplicaRecords &records)
      : topology_(topology), order_(order), records_(records) {}

  // Opens a window for each part in that memory of the whole. False: the filter has no place there, or a part's replica
  // there is in use; then none is open. May throw.
  bool open_windows(const PartitionPlan &, Replica &base);
  // The plan is closed: no task uses its parts any more, and what they have elsewhere is worth nothing.
  void close_windows(const PartitionPlan &) noexcept;
  // The parts are written from now on: no replica of the whole is valid.
  void shut(Datum &whole) noexcept;
  // The whole is read again, valid in these spaces. Elsewhere its parts keep that memory, and it gets another if it is
  // wanted there.
  void unshut(Datum &whole, coherence::Spaces valid) noexcept;
  // Memory that was left to windows alone: it is freed with the last, or is the whole's again where that has no other
  // memory in use.
  void take_back(Replicas &) noexcept;
  // The whole has no memory at home: nor have the parts, until they are opened again.
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
