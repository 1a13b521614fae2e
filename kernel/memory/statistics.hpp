// statistics.hpp — counters of the memories and of the links between them.
//
// Each counter is a field with its meaning; the class that performs the counted action increments it. Changes under
// Memory's mutex. A new counter is printed by describe() (memory/memory_report.cpp) and, if applications read it,
// returned by api/memory.cpp.
#pragma once
#include <cstdint>

namespace consort {

struct SpaceStatistics {
  uint64_t limit = 0, used = 0, spare = 0;  // bytes, current: filled at the query
  uint64_t evictions = 0;                   // replicas dropped to free memory, or asked to leave
  uint64_t saves = 0, saved_bytes = 0;      // copies of owned replicas to another space, so that they can be dropped
  uint64_t needed_evictions = 0;            // of replicas that were pinned
  uint32_t waiting = 0, wishes = 0;         // tasks and requests that wait for memory, current
};

struct LinkStatistics {
  uint64_t copies = 0, bytes = 0, failed = 0;
};

}  // namespace consort
