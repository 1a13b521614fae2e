// eviction_queue.hpp — a heap of the replicas of a space that may be evicted; each replica stores its position.
//
// Part of Memory, under its mutex. The caller computes the ranks. An outdated rank is corrected when its replica is on
// top, or when all are ranked again.
#pragma once
#include <vector>

#include "task/replica.hpp"

namespace consort {

class EvictionQueue {
 public:
  // Reserves one more entry than there are replicas, so that add() cannot fail. May throw.
  void expect(size_t replicas) {
    if (replicas > heap_.capacity()) heap_.reserve(2 * replicas);
  }
  Replica *first() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }
  size_t size() const noexcept { return heap_.size(); }
  void add(Replica &) noexcept;              // no effect if it is in the heap
  void remove(Replica &) noexcept;           // no effect if it is not in the heap
  void moved(Replica &) noexcept;            // its rank has changed
  template <class F>
  void rank_all(F rank) noexcept {
    for (Replica *r : heap_) rank(*r);
    for (size_t i = heap_.size() / 2; i-- > 0;) sink(i);
  }

 private:
  static bool goes_before(const Replica &a, const Replica &b) noexcept {
    return a.rank != b.rank ? a.rank < b.rank : a.age < b.age;
  }
  void put(Replica *r, size_t i) noexcept {
    heap_[i] = r;
    r->at = static_cast<uint32_t>(i);
  }
  void rise(size_t) noexcept;
  void sink(size_t) noexcept;

  std::vector<Replica *> heap_;
};

}  // namespace consort
