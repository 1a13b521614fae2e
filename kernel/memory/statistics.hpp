// statistics.hpp — the counters of the memories and of the links between them.
//
// A counter is a field here with its meaning; the class that does what it counts increments it. Changes under Memory's
// mutex. A new one is told by describe() (memory/memory_report.cpp) and, if applications are to read it, by api/memory.cpp.
#pragma once
#include <cstdint>

namespace consort {

struct SpaceStatistics {
  uint64_t limit = 0, used = 0, spare = 0;  // bytes, as of now: filled where it is asked for
  uint64_t evictions = 0;                   // replicas that were dropped to make room, or asked to leave
  uint64_t saves = 0, saved_bytes = 0;      // copies of only valid replicas to another space, so that they can be dropped
  uint64_t needed_evictions = 0;            // of replicas that were pinned
  uint32_t waiting = 0, wishes = 0;         // tasks and requests that wait for room, as of now
};

struct LinkStatistics {
  uint64_t copies = 0, bytes = 0, failed = 0;
};

}  // namespace consort
