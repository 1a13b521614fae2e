// policy_hints.hpp — data hints of policies: prefetches for tasks, and replicas that may be evicted first.
//
// A policy may call under its own locks, so a hint is queued (hint_ring.hpp). The next caller of Memory handles it
// under the mutex, a mover at the latest. By then the task may have run, and the datum may be gone or in use by a
// writer. A name that is alive under the mutex stays alive until the mutex is released (Memory::forget()).
//
// Contents are fetched only for data with a record. All replicas in use of such data are granted, and a writer counts
// as a claim until it has ended. A datum in its first memory has no record, and its writers are unknown. It gets a
// record when a reader is submitted after its last writer has ended, once a policy prefetches. Owned by Memory.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "memory/hint_ring.hpp"
#include "memory/memory_lock.hpp"
#include "memory/replica_records.hpp"
#include "memory/request_queue.hpp"
#include "memory/transfer_cost.hpp"

namespace consort {

class PolicyHints {
 public:
  PolicyHints(const TaskArena &tasks, DataTable &data, EvictionOrder &order, ReplicaRecords &records,
              const MoverSet &movers, const TransferCost &cost, RequestQueue &requests)
      : tasks_(tasks), data_(data), order_(order), records_(records), movers_(movers), cost_(cost), requests_(requests) {}
  void open() {  // precondition: the movers are open; may throw
    if (movers_.any()) ring_ = std::make_unique<Hints>();
  }

  // [any], takes no lock. Precondition: `task` has not ended; the datum may be gone. Lost if the ring is full.
  void prefetch(const Task &task, uint32_t space, int32_t priority) noexcept;
  void unneeded(consort_data_id, uint32_t space) noexcept;
  bool any() const noexcept { return ring_ && !ring_->empty(); }  // [any]
  // [any] Returns whether a policy prefetches. relaxed: a thread that sees it late makes a record late
  bool prefetches() const noexcept { return prefetching_.load(std::memory_order_relaxed); }

  // Handles the queued hints: prefetches become waiting requests, others take effect at once.
  void take_up() noexcept;
  // Called without the mutex, which it takes for each record, for a task that is about to be submitted. Precondition:
  // the caller has the submission right.
  void keep_records(const Task &, std::mutex &) noexcept;

 private:
  void take_up(const Hints::Hint &);
  void take_up_prefetch(const Hints::Hint &, Datum &, Replicas &);
  bool may_have_record(const Datum &) const noexcept;

  const TaskArena &tasks_;
  DataTable &data_;
  EvictionOrder &order_;
  ReplicaRecords &records_;
  const MoverSet &movers_;
  const TransferCost &cost_;
  RequestQueue &requests_;
  std::unique_ptr<Hints> ring_;
  std::atomic<bool> prefetching_{false};  // see prefetches()
};

}  // namespace consort
