// policy_hints.hpp — what policies wish of data: to have them ahead of a task, and which replicas may go first.
//
// A policy may call under its own locks, so a hint is put aside (hint_ring.hpp), and taken up under the mutex by the next
// caller of Memory, a mover at the latest. By then the task may have run and the datum may be gone or in a writer's hands.
// A name that is alive under the mutex stays so until that is let go (Memory::forget()). Contents are brought only where a
// record says where they are, for every user of such a datum has its replica granted: a writer is a claim until it has
// ended. A datum in its first memory has no record, and its writers are not known; it gets one when a task that reads it
// is submitted after its last writer has ended, once there is a policy that prefetches. Owned by Memory.
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
  void open() {  // the movers are open; may throw
    if (movers_.any()) ring_ = std::make_unique<Hints>();
  }

  // [any], locks nothing. `task` is not over; the datum may be gone. Lost where many hints wait already.
  void prefetch(const Task &task, uint32_t space, int32_t priority) noexcept;
  void unneeded(consort_data_id, uint32_t space) noexcept;
  bool any() const noexcept { return ring_ && !ring_->empty(); }  // [any]
  // [any] Has a policy asked for prefetches? relaxed: a thread that sees it late keeps a record late
  bool prefetches() const noexcept { return prefetching_.load(std::memory_order_relaxed); }

  // Those that came are taken up: prefetches as requests that wait, the rest at once.
  void take_up() noexcept;
  // Without the mutex, which it takes for each record: of a task that is about to be submitted. The caller has the
  // submission right.
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
