// partition_coherence.hpp — coherence of a datum and its parts: effects of partition steps on replicas
// (graph/partition_order.hpp).
//
// At home parts are windows in their whole's memory. Elsewhere they are too, where the whole was when they were opened
// and the filter has a layout there (partition_alias.hpp). So mostly no bytes move: parts become valid where the whole
// is, the whole where all parts are. Other contents are copied home, where every part has memory. Owned by Memory; each
// function is called under Memory's mutex.
#pragma once
#include "memory/host_staging.hpp"
#include "memory/partition_alias.hpp"
#include "graph/partition_turn.hpp"

namespace consort {

class PartitionCoherence {
 public:
  PartitionCoherence(const Topology &topology, BlockCache &cache, EvictionOrder &order, ReplicaRecords &records,
                     PartitionAlias &alias, const Admission &admission, HostStaging &staging)
      : topology_(topology), cache_(cache), order_(order), records_(records), alias_(alias), admission_(admission),
        staging_(staging) {}

  // The turn of a step: brings its data to where the step needs them. kDone: settle() was called. kPending: its staging
  // becomes complete by itself; the caller then calls settle(). May throw bad_alloc with incomplete records: the
  // contents are then in doubt, and the caller calls settle().
  Outcome stage(Task *, const PartitionPlan &, PartitionTurn);
  // Precondition: the data are there. Updates the replicas of the whole and its parts.
  void settle(const PartitionPlan &, PartitionTurn) noexcept;
  void lose_place(const PartitionPlan &plan) noexcept { alias_.lose_place(plan); }

 private:
  struct Needs {  // needs of a step: data to fetch, and data whose transfers must end first
    uint32_t space;
    std::vector<Staging::Item> &items;
    Replicas *flying = nullptr;  // linked by next_flying
  };
  void before(const PartitionPlan &, PartitionTurn, Needs &);
  void before_down(const PartitionPlan &, bool to_write, Needs &);
  void before_up(const PartitionPlan &, bool gather, Needs &);
  void before_end(const PartitionPlan &, Needs &) const noexcept;
  static void stand_still(Datum &, Needs &) noexcept;
  uint64_t lacking_at_home(const PartitionPlan &, bool gather, Needs &, bool *used_at_home) const noexcept;
  void choose_space(const PartitionPlan &, uint64_t least, Needs &) const noexcept;
  void need_parts(const PartitionPlan &, Needs &) const;
  coherence::Spaces in_place(const Datum &part) const noexcept;
  coherence::Spaces common(const PartitionPlan &) const noexcept;
  static uint64_t lacking(const PartitionPlan &, const Replica &base) noexcept;
  void settle_down(const PartitionPlan &, const Replicas *all, const Replica *own) noexcept;
  void settle_up(const PartitionPlan &, bool gather, bool placed) noexcept;

  const Topology &topology_;
  BlockCache &cache_;
  EvictionOrder &order_;
  ReplicaRecords &records_;
  PartitionAlias &alias_;
  const Admission &admission_;
  HostStaging &staging_;
};

}  // namespace consort
