// order.hpp — derives each task's predecessors and the versions of data that it reads, from the uses of data in order
// of submission. A datum may be a part of another: a use of one comes after changes of the other.
//
// Used by one thread.
#pragma once
#include <stdexcept>
#include <unordered_map>

#include "problem.hpp"

namespace bound {

class Order {
 public:
  void datum(uint64_t id, double bytes, uint32_t space, uint64_t whole) {
    Datum &d = data_[id];
    d.bytes = bytes, d.space = space, d.whole = whole;
  }

  // A task: begin, its uses, end.
  void begin(uint32_t task) {
    task_ = task;
    written_.clear();
  }
  // how: r shared read, c commuting change, u exclusive, w exclusive overwrite. False: no
  // such datum.
  bool use(uint64_t id, char how, Task *t) {
    const auto at = data_.find(id);
    if (at == data_.end()) return false;
    Datum &d = at->second;
    const bool alone = how == 'w' || how == 'u', changes = how != 'r';
    if (overwritten(d)) d.current = kOld;
    if ((how == 'r' || how == 'u') && d.current != kOld) {
      if (d.current == kFresh) fresh_.push_back({id, t->reads.size()});
      t->reads.push_back(d.current);
    }
    after(d.writer, t);
    if (alone)
      for (const uint32_t reader : d.readers) after(reader, t);
    for (const uint32_t writer : d.below_writers) after(writer, t);
    if (changes)
      for (const uint32_t reader : d.below_readers) after(reader, t);
    if (alone) d.writer = task_, d.readers.clear(), d.below_writers.clear(), d.below_readers.clear();
    else d.readers.push_back(task_);
    uint32_t depth = 0;
    for (auto up = data_.find(d.whole); up != data_.end() && depth < 64; up = data_.find(up->second.whole), ++depth) {
      Datum &whole = up->second;
      after(whole.writer, t);
      if (changes)
        for (const uint32_t reader : whole.readers) after(reader, t);
      (changes ? whole.below_writers : whole.below_readers).push_back(task_);
      if (changes) whole.current = kOld;  // no single task has written the contents; the other parts have not changed
    }
    if (changes) written_.push_back({id, alone});
    return true;
  }
  void end(Problem *p) {
    Task &t = p->tasks.back();
    for (const auto &[id, place] : fresh_) {
      Datum &d = data_[id];
      if (d.current == kFresh) {
        d.current = static_cast<uint32_t>(p->versions.size());
        p->versions.push_back({kNone, d.space, d.bytes});
      }
      t.reads[place] = d.current;
    }
    fresh_.clear();
    for (const auto &[id, alone] : written_) {
      Datum &d = data_[id];
      d.current = kOld;
      d.changed = d.known = task_;
      if (!alone) continue;  // several tasks may have written it
      d.current = static_cast<uint32_t>(p->versions.size());
      p->versions.push_back({task_, kNone, d.bytes});
    }
  }

 private:
  static constexpr uint64_t kMostOrders = 1 << 26;
  static constexpr uint32_t kFresh = ~0u - 1, kOld = ~0u;  // not used yet; without a single writer
  struct Datum {
    double bytes = 0;
    uint32_t space = kNone;
    uint64_t whole = 0;
    uint32_t current = kFresh;               // version
    uint32_t changed = kNone, known = kNone; // last task that changed it; task since which `current` is valid
    uint32_t writer = kNone;                 // last exclusive user
    std::vector<uint32_t> readers;           // shared users since
    std::vector<uint32_t> below_writers, below_readers;  // users of parts since its last exclusive use
  };
  struct Written { uint64_t id; bool alone; };
  struct Fresh { uint64_t id; size_t place; };

  // Whether its whole was changed since its own contents were known.
  bool overwritten(const Datum &d) const {
    uint32_t depth = 0;
    for (auto up = data_.find(d.whole); up != data_.end() && depth < 64; up = data_.find(up->second.whole), ++depth)
      if (up->second.changed != kNone && (d.known == kNone || up->second.changed > d.known)) return true;
    return false;
  }
  void after(uint32_t before, Task *t) {
    if (before == kNone || before == task_) return;
    if (++orders_ > kMostOrders) throw std::runtime_error("the record has more dependencies than can be stored");
    t->after.push_back(before);
  }

  std::unordered_map<uint64_t, Datum> data_;
  std::vector<Written> written_;
  std::vector<Fresh> fresh_;
  uint32_t task_ = 0;
  uint64_t orders_ = 0;
};

}  // namespace bound
