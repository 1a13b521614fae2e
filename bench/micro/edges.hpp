// The edges between the tasks of a plan, for runtimes that infer none: worked out before the clock starts.
// Read-only while tasks run, by any thread.
#pragma once
#include "patterns.hpp"

namespace bench {

class Edges {
public:
  void work_out(const Plan &p) {
    first_.assign(1, 0);
    predecessors_.clear();
    std::vector<int64_t> writer(p.data, -1);
    std::vector<std::vector<uint32_t>> readers(p.data);
    for (unsigned s = 0; s < p.submitters; ++s)
      each_task(p, s, [&](uint64_t i, const auto &uses) {
        const auto from = static_cast<ptrdiff_t>(predecessors_.size());
        for (unsigned k = 0; k < uses.count; ++k) {
          const uint32_t d = uses.id[k];
          if (k + 1 < uses.count) {
            if (writer[d] >= 0) predecessors_.push_back(static_cast<uint32_t>(writer[d]));
            readers[d].push_back(static_cast<uint32_t>(i));
          } else {
            if (readers[d].empty() && writer[d] >= 0) predecessors_.push_back(static_cast<uint32_t>(writer[d]));
            predecessors_.insert(predecessors_.end(), readers[d].begin(), readers[d].end());
            readers[d].clear();
            writer[d] = static_cast<int64_t>(i);
          }
        }
        std::sort(predecessors_.begin() + from, predecessors_.end());
        predecessors_.erase(std::unique(predecessors_.begin() + from, predecessors_.end()), predecessors_.end());
        first_.push_back(static_cast<uint32_t>(predecessors_.size()));
      });
  }

  // Those of task i, in ascending order.
  const uint32_t *begin(uint64_t i) const { return predecessors_.data() + first_[i]; }
  const uint32_t *end(uint64_t i) const { return predecessors_.data() + first_[i + 1]; }

private:
  std::vector<uint32_t> first_, predecessors_;
};

} // namespace bench
