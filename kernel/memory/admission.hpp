// admission.hpp — memory for working sets: granted whole or not at all, in each space in the order of arrival.
//
// A granted staging has memory for all its data and pins their replicas; contents that are missing are being fetched.
// Owned by Memory; each function is called under Memory's mutex. It never ends a task: what became complete is in
// Stagings::take_ready().
#pragma once
#include <vector>

#include "memory/fetches.hpp"

namespace consort {

class Admission {
 public:
  Admission(const Topology &, const DataTable &, BlockCache &, EvictionOrder &, ReplicaRecords &, Transfers &, Eviction &,
            EvictionPolicy &, Fetches &, Stagings &);

  // A staging that has just been made. kDone: it is granted and all its contents are there, or it was refused (status); it
  // counts as complete. kPending: it waits for room, behind those that wait already, or for contents, and becomes
  // complete by itself.
  Outcome admit(Staging &) noexcept;
  // The same for one without a worker: where it waits for what its thread holds, or has its room already, it goes first.
  Outcome admit_first(Staging &) noexcept;
  // In each space, in order, as far as there is room. Called whenever something was released.
  void serve() noexcept;
  // It ends: nothing of it is pinned any more, and its scratch memory is free.
  void release(Staging &) noexcept;

  const StagingQueue &waiting(uint32_t space) const noexcept { return waiting_[space]; }  // for room there

 private:
  struct Needs {       // bytes in its space
    uint64_t missing;  // that it has not yet
    uint64_t whole;    // at once, but for memory of the application
  };
  Outcome enqueue(Staging &, bool first) noexcept;
  bool has_its_room(Staging &) noexcept;
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
