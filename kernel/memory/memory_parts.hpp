// memory_parts.hpp — the classes of the room memory, and how they are wired: each gets those that it uses in its constructor.
//
// Private to the room; made by Memory::open(), when the machine is known. From the top down: a class uses those above it
// alone. All of their state is guarded by `mutex` (memory_lock.hpp).
#pragma once
#include <mutex>

#include "memory/device_home.hpp"
#include "memory/memory_report.hpp"
#include "memory/partition_coherence.hpp"
#include "memory/policy_hints.hpp"
#include "memory/task_staging.hpp"

namespace consort {

class Memory;
struct DataManagement;

struct MemoryParts final : MoverOwner {
  MemoryParts(Memory &, DataManagement &);
  Result<void> open();
  void close() noexcept;

  // Something was released or has come: whatever waits for room, for a way or for its turn goes on as far as it can.
  void serve() noexcept;
  // Puts the questions to the policy, lets the mutex go, and lets the tasks that became ready go on. The one place where
  // tasks of this room are handed out.
  void release(ThreadState &, MemoryLock &) noexcept;
  // A hop is over, or taken back: what follows, and all of the above.
  void landed(ThreadState &, Transfer &, consort_status, MemoryLock &) noexcept;

  // -- of movers, without the mutex --
  void copied(ThreadState &, Transfer *, consort_status, const char *why) noexcept override;
  void stir() noexcept override { movers.stir(); }
  bool has_hints() const noexcept override { return hints.any(); }
  bool take_hints(ThreadState &) noexcept override;
  void lost(const Device &) noexcept override;
  ThreadState *this_thread() noexcept override;

  DataManagement &rt;
  std::mutex mutex;
  uint32_t save_ahead = 0;  // percent of a space that is kept ready (setting `save_ahead`)
  NextUse outlook;
  BlockCache cache;
  EvictionOrder order;
  ReplicaRecords records;
  PartitionAlias alias;
  MoverSet movers;
  Transfers transfers;
  TransferCost cost;
  EvictionPolicy policy;
  Eviction eviction;
  Stagings stagings;
  RequestQueue queue;
  PolicyHints hints;
  Fetches fetches;
  Admission admission;
  Requests requests;
  TaskStaging tasks;
  HostStaging host;
  PartitionCoherence partitions;
  DeviceHome homes;
  MemoryReport report;

 private:
  void consult_policy(const ThreadState &, MemoryLock &) noexcept;
  void go_on(ThreadState &, Staging &) noexcept;
};

}  // namespace consort
