// memory_report.hpp — the use of the memories, as text and as counters.
//
// Read-only. Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <string>

#include "memory/admission.hpp"

namespace consort {

struct TaskGraph;

class MemoryReport {
 public:
  MemoryReport(const TaskGraph &rt, const Topology &topology, const BlockCache &cache, const EvictionOrder &order,
               const Transfers &transfers, const Eviction &eviction, const Stagings &stagings,
               const Admission &admission, RequestQueue &requests)
      : rt_(rt), topology_(topology), cache_(cache), order_(order), transfers_(transfers), eviction_(eviction),
        stagings_(stagings), admission_(admission), requests_(requests) {}

  SpaceStatistics count(uint32_t space) const noexcept;
  std::string describe(TaskName) const;  // what a staged task waits for; "": nothing. May throw
  bool keeps_from(TaskName, TaskName waiting) const;  // whether it has memory in the space where the other waits
  std::string describe() const;          // memory in use and waiting requests, a line for each space and link. May throw

 private:
  std::string describe_space(uint32_t space) const;
  std::string describe_link(uint32_t from, uint32_t to) const;

  const TaskGraph &rt_;  // for names of tasks
  const Topology &topology_;
  const BlockCache &cache_;
  const EvictionOrder &order_;
  const Transfers &transfers_;
  const Eviction &eviction_;
  const Stagings &stagings_;
  const Admission &admission_;
  RequestQueue &requests_;
};

}  // namespace consort
