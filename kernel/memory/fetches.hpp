// fetches.hpp — contents on their way to replicas that tasks or requests wait for.
//
// A fetch is a transfer of one or more hops. Where the space between two hops has no room it waits in `wanted_`, and is
// looked at again when something has ended. Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <deque>

#include "memory/eviction.hpp"
#include "memory/request_queue.hpp"
#include "memory/stagings.hpp"

namespace consort {

class Fetches {
 public:
  Fetches(const Topology &topology, const DataTable &data, BlockCache &cache, ReplicaRecords &records,
          Transfers &transfers, const MoverSet &movers, Eviction &eviction, EvictionPolicy &policy, Stagings &stagings,
          RequestQueue &requests)
      : topology_(topology), data_(data), cache_(cache), records_(records), transfers_(transfers), movers_(movers),
        eviction_(eviction), policy_(policy), stagings_(stagings), requests_(requests) {}

  // Brings contents into a replica that has memory, for a task (s) or for a request, one of which is given; or joins what
  // is on its way already. kDone: a copy is under way. kPending: there is no room on the way now; for a task it is tried
  // again by itself. kRefused: there is no way; a task's staging says why.
  // A task awaits one thing more (Staging::awaited) after kDone and kPending.
  Outcome fetch(Replica &, Staging *, MemoryRequest *) noexcept;
  // A hop is over. The next one is sent, or all that wait for the transfer are told: they are complete, refused, or
  // fetch what they lack from elsewhere. The transfer is gone then.
  void landed(Transfer &, consort_status) noexcept;
  // Fetches that found no room on their way look again. If nothing can ever make it (each waits for room that another
  // has), the first is refused, so that the others go on.
  void retry() noexcept;

 private:
  struct Want {  // contents whose way leads through a space that is full just now
    Replica *replica;
    Staging *staging;
  };
  bool is_source(const Replica &, uint32_t space) const noexcept;
  bool is_elsewhere(const Replica &, coherence::Spaces failed) const noexcept;
  Replica *source_for(const Replica &, coherence::Spaces failed) const noexcept;
  Outcome join(Replica &, Staging *);
  Outcome postpone(Replica &, Staging *);
  Outcome send(Replica &from, Replica &to, Replica &last, Staging *, MemoryRequest *);
  bool send_on(Transfer &) noexcept;
  void finish(Transfer &, consort_status) noexcept;
  void tell(Staging &, const Transfer &, consort_status, bool theirs) noexcept;
  void awaits_one_less(Staging &) noexcept;
  void retry_first(bool give_up) noexcept;

  const Topology &topology_;
  const DataTable &data_;
  BlockCache &cache_;
  ReplicaRecords &records_;
  Transfers &transfers_;
  const MoverSet &movers_;
  Eviction &eviction_;
  EvictionPolicy &policy_;
  Stagings &stagings_;
  RequestQueue &requests_;
  std::deque<Want> wanted_;
};

}  // namespace consort
