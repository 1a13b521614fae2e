// kept_records.hpp — the latest records of a run in memory: as many of each kind, and of the runs of each worker, as a limit
// says. For reports, and for a trace that is written at the stop.
//
// One thread at a time.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "observe/trace_records.hpp"

namespace consort {

class KeptRecords {
 public:
  // tasks: the first submissions stay, others the last
  KeptRecords(uint64_t most, uint64_t most_tasks) : most_(most), most_tasks_(most_tasks) {}

  void take(const char *records, uint64_t bytes) noexcept;
  // Calls out(records, n): facts first, then submissions, then events, each kind with its oldest first.
  template <class F> void each(F out) const {
    if (!facts_.empty()) out(facts_.data(), facts_.size());
    if (!tasks_.empty()) out(tasks_.data(), tasks_.size());
    for (const auto &[kind, latest] : latest_) {
      const size_t next = latest.next * latest.size;
      if (next < latest.bytes.size()) out(latest.bytes.data() + next, latest.bytes.size() - next);
      if (next) out(latest.bytes.data(), next);
    }
  }
  uint64_t lost() const noexcept;                    // without submissions
  uint64_t lost_tasks() const noexcept { return lost_tasks_; }
  void clear() noexcept;

 private:
  struct Latest {                                    // records of one size
    std::vector<char> bytes;
    size_t size = 0, next = 0;                       // next: number of the oldest one
    uint64_t lost = 0;
  };
  void add(uint32_t worker, const char *record, size_t bytes);  // may throw

  const uint64_t most_, most_tasks_;
  std::map<std::pair<RecordType, uint32_t>, Latest> latest_;  // by type and, of runs, worker
  std::vector<char> facts_, tasks_;
  uint64_t ntasks_ = 0, lost_tasks_ = 0, lost_ = 0;
};

}  // namespace consort
