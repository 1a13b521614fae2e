// fetches.hpp — fetches: copies of contents to replicas that tasks or requests wait for.
//
// A fetch is a transfer of one or more hops. If the space between two hops has no memory, the fetch waits in `wanted_`
// and is retried when something has ended. Owned by Memory; each function is called under Memory's mutex.
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

  // Fetches contents into an allocated replica, for a task (s) or for a request; exactly one of both is given. Joins a
  // transfer that already brings them. kDone: a copy is in flight. kPending: a space on the route is full; for a task
  // it is retried automatically. kRefused: there is no route; the task's staging holds the reason. After kDone and
  // kPending the task awaits one more thing (Staging::awaited).
  Outcome fetch(Replica &, Staging *, MemoryRequest *) noexcept;
  // A hop has ended. Sends the next one, or tells all waiters: they are complete, refused, or fetch missing contents
  // from elsewhere. The transfer is destroyed then.
  void landed(Transfer &, consort_status) noexcept;
  // Retries fetches that found no memory on their route. If nothing can ever free it (each waits for memory that
  // another holds), refuses the first, so that the others continue.
  void retry() noexcept;

 private:
  struct Want {  // contents whose route leads through a full space
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
