// requests.hpp — what the application and policies want of replicas: data ahead of time, room given back, write-through.
//
// A request lives from wish() to its turn among the tasks that use its datum, or longer. No task waits for one. Owned by
// Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/admission.hpp"

namespace consort {

class Requests {
 public:
  Requests(const TaskArena &tasks, BlockCache &cache, ReplicaRecords &records, const MoverSet &movers,
           Transfers &transfers, Eviction &eviction, Fetches &fetches, const Admission &admission, RequestQueue &queue)
      : tasks_(tasks), cache_(cache), records_(records), movers_(movers), transfers_(transfers), eviction_(eviction),
        fetches_(fetches), admission_(admission), queue_(queue) {}

  // Its turn has come: it is carried out, or waits in the queue, or is dropped.
  void turn(MemoryRequest &) noexcept;
  // kDone: it ends without effect. kPending: it is over, or being carried out. kRefused: there never was one of that
  // name, told. *taken_back: a transfer whose copies will not be made: Fetches::landed() is the caller's to call.
  Outcome cancel(uint64_t id, Transfer **taken_back) noexcept;
  // The requests of a space, the most urgent first, as far as there is room. Tasks that wait for room go first.
  void pursue(uint32_t space) noexcept;
  // The datum was written: it is copied to where the application wants each version.
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
