#include "replay/recorded_graph.hpp"

#include <consort/consort.h>

#include <algorithm>

namespace consort {

void RecordedGraph::finish() {
  std::vector<bool> followed(n_);
  for (const Edge &e : edges_) followed[e.from] = true;
  std::vector<uint32_t> ends, next;
  for (uint32_t i = 0; i < n_; ++i)
    if (!followed[i]) ends.push_back(i);
  do {
    next.clear();
    for (size_t i = 0; i < std::max<size_t>(ends.size(), 1); i += kFan) {
      next.push_back(add());
      for (size_t k = i; k < std::min(i + kFan, ends.size()); ++k) edge(ends[k], next.back());
    }
    ends.swap(next);
  } while (ends.size() > 1);
}

void AccessChains::use(uint32_t task, uint32_t datum, uint32_t mode) {
  Chain &c = chains_[datum];
  const bool commutes = mode & CONSORT_M_COMMUTE;
  if ((mode & CONSORT_M_W) && !commutes) {
    if (c.sharers == RecordedGraph::kNone) graph_.edge(c.writer, task);
    close(c, task);
    return;
  }
  if (c.sharers != RecordedGraph::kNone && c.commuting != commutes) close(c, graph_.add());
  c.commuting = commutes;
  graph_.edge(c.writer, task);
  sharers_.push_back({task, c.sharers});
  c.sharers = static_cast<uint32_t>(sharers_.size() - 1);
}

void AccessChains::close(Chain &c, uint32_t by) {
  for (; c.sharers != RecordedGraph::kNone; c.sharers = sharers_[c.sharers].next) graph_.edge(sharers_[c.sharers].task, by);
  c.writer = by;
}

}  // namespace consort
