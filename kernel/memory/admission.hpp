// admission.hpp — reserves memory for working sets: each whole or not at all, in each space in the order of arrival.
//
// A granted staging has memory for all its data, and its replicas are pinned; missing contents are being fetched. Owned
// by Memory; each function is called under Memory's mutex. It never ends a task: complete stagings are in
// Stagings::take_ready().
#pragma once
#include <vector>

#include "memory/fetches.hpp"

namespace consort {

class Admission {
 public:
  Admission(const Topology &, const DataTable &, BlockCache &, EvictionOrder &, ReplicaRecords &, Transfers &, Eviction &,
            EvictionPolicy &, Fetches &, Stagings &);

  // Admits a new staging. kDone: it is granted and all contents are valid, or it was refused (see status); it counts as
  // complete. kPending: it waits for memory, behind stagings that already wait, or for contents, and becomes complete
  // by itself.
  Outcome admit(Staging &) noexcept;
  // Admits a request that has no worker. It goes first if it has its memory already, or if the others may wait for
  // memory that its thread holds.
  Outcome admit_first(Staging &) noexcept;
  // Grants the waiting stagings of each space in order, as far as there is memory. Called after each release.
  void serve() noexcept;
  // Ends a staging: unpins its replicas and frees its scratch memory.
  void release(Staging &) noexcept;

  // stagings that wait for memory there
  const StagingQueue &waiting(uint32_t space) const noexcept { return waiting_[space]; }

 private:
  struct Needs {       // bytes in its space
    uint64_t missing;  // not allocated yet
    uint64_t whole;    // at the same time, without memory of the application
  };
  Outcome enqueue(Staging &, bool first) noexcept;
  bool has_its_memory(Staging &) noexcept;
  void choose(Staging &);
  Needs needs_of(const Staging &) const noexcept;
  Outcome grant(Staging &) noexcept;
  Outcome try_to_grant(Staging &, bool *again);
  Outcome refuse_no_place(Staging &) noexcept;
  Outcome fit_into_limit(Staging &, const Needs &, bool *again) noexcept;
  Outcome find_room(Staging &, uint64_t missing) noexcept;
  Outcome take_memory(Staging &, bool *again) noexcept;
  Outcome short_of(Staging &, consort_status, bool *again) noexcept;
  Outcome leave_windows(Staging &, bool *again) noexcept;
  void pin(Staging &) noexcept;
  void fetch_contents(Staging &);
  void give_back_scratch(Staging &) noexcept;

  const Topology &topology_;
  const DataTable &data_;
  BlockCache &cache_;
  EvictionOrder &order_;
  ReplicaRecords &records_;
  Transfers &transfers_;
  Eviction &eviction_;
  EvictionPolicy &policy_;
  Fetches &fetches_;
  Stagings &stagings_;
  std::vector<StagingQueue> waiting_;  // by space
};

}  // namespace consort
