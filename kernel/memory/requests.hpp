// requests.hpp — requests of the application and of policies: prefetch, eviction, write-through.
//
// A request lives from wish() to its turn among the tasks that use its datum, or longer. No task waits for one. Owned
// by Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/admission.hpp"

namespace consort {

class Requests {
 public:
  Requests(const TaskArena &tasks, BlockCache &cache, ReplicaRecords &records, const MoverSet &movers,
           Transfers &transfers, Eviction &eviction, Fetches &fetches, const Admission &admission, RequestQueue &queue)
      : tasks_(tasks), cache_(cache), records_(records), movers_(movers), transfers_(transfers), eviction_(eviction),
        fetches_(fetches), admission_(admission), queue_(queue) {}

  // The turn of a request: carries it out, queues it, or drops it.
  void turn(MemoryRequest &) noexcept;
  // kDone: it ends without effect. kPending: it has ended, or is being carried out. kRefused: unknown name, error text
  // set. *taken_back: a transfer whose copies will not be made; the caller calls Fetches::landed().
  Outcome cancel(uint64_t id, Transfer **taken_back) noexcept;
  // Carries out the waiting requests of a space, the most urgent first, while there is memory. Tasks that wait for
  // memory go first.
  void pursue(uint32_t space) noexcept;
  // The datum was written: copies it to all spaces where the application wants each version.
  void write_through(Datum &) noexcept;

 private:
  void carry_out(MemoryRequest &);
  bool is_over(const MemoryRequest &, const Replicas &) const noexcept;
  Outcome try_to_carry_out(MemoryRequest &);

  const TaskArena &tasks_;
  BlockCache &cache_;
  ReplicaRecords &records_;
  const MoverSet &movers_;
  Transfers &transfers_;
  Eviction &eviction_;
  Fetches &fetches_;
  const Admission &admission_;
  RequestQueue &queue_;
};

}  // namespace consort
