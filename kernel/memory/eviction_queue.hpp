// eviction_queue.hpp — those replicas of a space that may go, the first to go on top: a heap that knows where each stands.
//
// Memory's, under its mutex. Ranks are the caller's; one that has become wrong is corrected when its replica is on top,
// or when all are ranked anew.
#pragma once
#include <vector>

#include "task/replica.hpp"

namespace consort {

class EvictionQueue {
 public:
  // So that add() never fails: room for one more than there are places for. May throw.
  void expect(size_t replicas) {
    if (replicas > heap_.capacity()) heap_.reserve(2 * replicas);
  }
  Replica *first() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }
  size_t size() const noexcept { return heap_.size(); }
  void add(Replica &) noexcept;              // if it is not in
  void remove(Replica &) noexcept;           // if it is in
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
