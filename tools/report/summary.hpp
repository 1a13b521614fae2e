// summary.hpp — tables of a run: codelets with their distributions, links, memories.
#pragma once
#include <array>
#include <map>
#include <string>

#include "history.hpp"

namespace tool {

struct CodeletSummary {
  uint32_t codelet;
  std::string klass;                   // of workers
  uint64_t tasks = 0, failed = 0, estimated = 0;
  double sum = 0, least = 0, median = 0, p90 = 0, most = 0;  // ns
  double expected_sum = 0, measured_of_estimated = 0;        // ns: of the tasks with an estimate
  double off = 0;                      // median of measured / expected; 0: no estimates
  double low = 0, step = 0;            // of the histogram: ns of its first bar, factor from bar to bar
  std::array<uint32_t, 24> histogram{};
  std::map<uint32_t, double> median_on; // by worker, of those with enough runs
  std::map<uint32_t, double> sum_on;    // by worker
};

struct LinkSummary {
  uint32_t from, to;
  uint64_t copies = 0, bytes = 0, failed = 0;
  uint64_t demand = 0, prefetch = 0, save = 0;  // bytes, by reason
  double busy = 0;                     // ns: copies at the same time count once
  double nominal = 0, latency = 0;     // bytes per ns, ns; 0: unknown
};

struct MemorySummary {
  uint32_t space;
  uint64_t most = 0, limit = 0, evictions = 0, evicted_bytes = 0;
  uint64_t arrived_bytes = 0, again_bytes = 0;  // copied there; of data that had been evicted from there before
  std::map<uint64_t, uint32_t> evictions_of;    // by datum
};

struct Summary {
  explicit Summary(const History &);
  std::vector<CodeletSummary> codelets;  // longest sum first
  std::vector<LinkSummary> links;
  std::vector<MemorySummary> memories;   // that have a curve or evictions
  std::vector<double> busy;              // ns by worker
  std::vector<uint64_t> tasks;           // by worker
  double span = 0, work = 0;             // ns
};

}  // namespace tool
