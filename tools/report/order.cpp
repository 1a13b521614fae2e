// order.cpp — the predecessors of each task: from the uses of data in the order of submission.
//
// A reader comes after the last writers; a writer after the readers since, or after the last writers. Commuting tasks
// have no order among themselves. A datum and its parts order each other.
#include <algorithm>
#include <unordered_map>

#include "history.hpp"

namespace tool {
namespace {

struct Past {                              // of a datum
  std::vector<uint32_t> writers, readers;  // the last writers; the readers since
  std::vector<uint32_t> base;              // what the commuting writers come after
  bool commuting = false;
  uint32_t whole = kNoIndex;
  std::vector<uint32_t> parts;
};

constexpr int kDepth = 64;                 // of parts of parts: deeper ones have no order with the whole

class OrderFinder {
 public:
  OrderFinder(const Trace &t, IndexLists *before, std::vector<uint32_t> *edge_datum) : t_(t), before_(before), edge_datum_(edge_datum) {
    pasts_.resize(t.data.size());
    for (uint32_t i = 0; i < t.data.size(); ++i) number_.emplace(t.data[i].id, i);
    for (uint32_t i = 0; i < t.data.size(); ++i)
      if (const auto whole = number_.find(t.data[i].whole); t.data[i].whole && whole != number_.end() && !is_within(whole->second, i)) {
        pasts_[i].whole = whole->second;
        pasts_[whole->second].parts.push_back(i);
      }
  }

  void find() {
    std::unordered_map<uint64_t, uint32_t> task;
    task.reserve(t_.tasks.size());
    before_->ends.reserve(t_.tasks.size());
    size_t use = 0, after = 0;
    for (uint32_t i = 0; i < t_.tasks.size(); ++i) {
      found_.clear();
      const size_t first = use;
      for (; use < t_.tasks[i].uses; ++use) follow(t_.uses[use]);
      for (size_t u = first; u < use; ++u) note(i, t_.uses[u]);
      for (; after < t_.tasks[i].afters; ++after)
        if (const auto at = task.find(t_.after[after]); at != task.end()) found_.push_back({at->second, kNoIndex});
      std::sort(found_.begin(), found_.end());
      for (size_t k = 0; k < found_.size(); ++k) {
        if (found_[k].first == i || (k && found_[k].first == found_[k - 1].first)) continue;
        before_->all.push_back(found_[k].first);
        edge_datum_->push_back(found_[k].second);
      }
      before_->ends.push_back(static_cast<uint32_t>(before_->all.size()));
      task.emplace(t_.tasks[i].id, i);
    }
  }

 private:
  bool is_within(uint32_t datum, uint32_t other) const {
    for (int depth = 0; datum != kNoIndex; datum = pasts_[datum].whole, ++depth)
      if (datum == other || depth == kDepth) return true;
    return false;
  }
  void add(const std::vector<uint32_t> &tasks, uint32_t datum) {
    for (const uint32_t one : tasks) found_.push_back({one, datum});
  }
  void come_after(const Past &p, uint32_t datum, bool reads) {
    if (!reads) add(p.readers, datum);
    if (reads || p.readers.empty()) add(p.writers, datum);
  }
  void follow_parts(const Past &p, bool reads, int depth) {
    for (const uint32_t part : p.parts) {
      come_after(pasts_[part], part, reads);
      if (depth) follow_parts(pasts_[part], reads, depth - 1);
    }
  }
  void follow(const Trace::Use &u) {
    const auto at = number_.find(u.datum);
    if (at == number_.end()) return;
    const Past &own = pasts_[at->second];
    const bool reads = u.how == 'r';
    if (u.how == 'c' && own.commuting && own.readers.empty()) add(own.base, at->second);
    else come_after(own, at->second, reads);
    int depth = 0;
    for (uint32_t whole = own.whole; whole != kNoIndex && depth < kDepth; whole = pasts_[whole].whole, ++depth)
      come_after(pasts_[whole], whole, reads);
    follow_parts(own, reads, kDepth);
  }
  void note(uint32_t task, const Trace::Use &u) {
    const auto at = number_.find(u.datum);
    if (at == number_.end()) return;
    Past &own = pasts_[at->second];
    if (u.how == 'r') {
      if (own.readers.empty() || own.readers.back() != task) own.readers.push_back(task);
      return;
    }
    if (u.how == 'c' && own.commuting && own.readers.empty()) {
      own.writers.push_back(task);
      return;
    }
    own.base = own.readers.empty() ? std::move(own.writers) : std::move(own.readers);
    own.writers.assign(1, task);
    own.readers.clear();
    own.commuting = u.how == 'c';
  }

  const Trace &t_;
  IndexLists *before_;
  std::vector<uint32_t> *edge_datum_;
  std::vector<Past> pasts_;
  std::unordered_map<uint64_t, uint32_t> number_;
  std::vector<std::pair<uint32_t, uint32_t>> found_;  // predecessor, datum
};

}  // namespace

void derive_order(const Trace &t, IndexLists *before, std::vector<uint32_t> *edge_datum) { OrderFinder(t, before, edge_datum).find(); }

}  // namespace tool
