// memory_parts.hpp — the classes of the room memory and their wiring: each gets the classes that it uses in its
// constructor.
//
// Private to the room; made by Memory::open(), when the machine is known. Ordered from the bottom up: a class uses only
// those above it in the file. `mutex` guards all their state (memory_lock.hpp).
#pragma once
#include <array>
#include <mutex>

#include "machine/topology.hpp"
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

  // Something was released or has arrived: continues all that waits for memory, a route or a turn.
  void serve() noexcept;
  // Asks the policy its questions, releases the mutex, and resumes tasks that became ready. The only place where this
  // room resumes tasks.
  void release(ThreadState &, MemoryLock &) noexcept;
  void trace_use() noexcept;  // if there is a tracer, tells it the memory in use where that has changed
  // A hop has ended or was taken back: handles it, then does all of the above.
  void landed(ThreadState &, Transfer &, consort_status, MemoryLock &) noexcept;

  // -- called by movers, without the mutex --
  void copied(ThreadState &, Transfer *, consort_status, const char *why) noexcept override;
  void stir() noexcept override { movers.stir(); }
  bool has_hints() const noexcept override { return hints.any(); }
  bool take_hints(ThreadState &) noexcept override;
  void lost(const Device &) noexcept override;
  ThreadState *this_thread() noexcept override;

  DataManagement &rt;
  std::mutex mutex;
  uint32_t save_ahead = 0;  // percent of a space kept ready by early saves (setting `save_ahead`)
  std::array<uint64_t, Topology::kMaxSpaces> traced{};  // bytes in use by space, as the tracer knows them
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
