// uses.hpp — the number of pending uses of each datum, by tasks that were submitted and not popped.
//
// Owned by one instance and guarded by its lock. A hash table of ids, at most half full; data without uses are dropped
// when it grows. Without memory, new data are not recorded and the result is 0.
#pragma once
#include <vector>

#include "../per_worker.hpp"

namespace darts {

class Uses {
 public:
  // Both return the new count; take() of an unknown datum returns one.
  uint32_t add(uint64_t datum) noexcept {
    Entry *e = place(datum);
    return e ? ++e->left : 0;
  }
  uint32_t take(uint64_t datum) noexcept {
    Entry *e = find(datum);
    return e && e->left ? --e->left : 1;
  }
  uint32_t left(uint64_t datum) noexcept {
    const Entry *e = find(datum);
    return e ? e->left : 0;
  }
  void clear() noexcept {
    std::fill(table_.begin(), table_.end(), Entry{});
    count_ = 0;
  }

 private:
  struct Entry {
    uint64_t datum = 0;
    uint32_t left = 0;
    bool taken = false;
  };

  Entry *at(uint64_t datum) noexcept {  // its place, also if not present
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = policies::mix(datum) & mask;; i = (i + 1) & mask)
      if (!table_[i].taken || table_[i].datum == datum) return &table_[i];
  }
  Entry *find(uint64_t datum) noexcept {
    if (table_.empty()) return nullptr;
    Entry *e = at(datum);
    return e->taken ? e : nullptr;
  }
  Entry *place(uint64_t datum) noexcept {
    if (count_ * 2 >= table_.size() && !grow()) return find(datum);
    Entry *e = at(datum);
    if (!e->taken) *e = {datum, 0, true}, ++count_;
    return e;
  }
  bool grow() noexcept try {
    std::size_t alive = 0;
    for (const Entry &e : table_) alive += e.left > 0;
    std::size_t size = 256;
    while (size < alive * 4) size *= 2;
    std::vector<Entry> old(size);
    old.swap(table_);
    count_ = 0;
    for (const Entry &e : old)
      if (e.left) *at(e.datum) = e, ++count_;
    return true;
  } catch (...) {
    return false;
  }

  std::vector<Entry> table_;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace darts
