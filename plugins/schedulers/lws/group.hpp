// group.hpp — the workers that an instance serves: a slot each, who is near whom, whom a push may have fed.
//
// A Group is immutable. workers() makes a new one and publishes it; the old ones live as long as the instance,
// so push and pop read theirs without a lock. Slots outlive groups: a worker that comes back finds its own.
#pragma once
#include <consort/scheduler.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "deque.hpp"

namespace lws {

// One worker's part. All but `inside` and the thieves' end of the deque belongs to the thread that owns the worker.
struct alignas(kLine) Slot {
  std::atomic<uint32_t> inside{0};  // odd: its owner is in push or pop; pairs with Instance::wait_outside()
  uint32_t tick = 0;                // counts pops, for fairness
  uint32_t rotate = 1;              // where the next look round begins: xorshift
  uint32_t klass = 0, id = 0;
  bool list_first = false;          // ring and lists are served by turns
  const Slot *watched = nullptr;    // a victim with one task only, which is left alone for a while
  int64_t watched_oldest = 0;
  uint32_t watched_rounds = 0;
  Deque deque;
};

class Group {
 public:
  struct Place { Slot *slot; uint32_t near_begin, near_end, begin, end; };  // ranges of order: same NUMA node, same class

  Group(const consort_topology &topology, const std::vector<Slot *> &slots, uint32_t nclasses)
      : places_(slots.size()), words_((slots.size() + 63) / 64), candidates_(nclasses * words_), members_(nclasses) {
    for (Slot *s : slots) {
      if (!s) continue;
      order_.push_back(s);
      candidates_[s->klass * words_ + s->id / 64] |= uint64_t{1} << s->id % 64;
      ++members_[s->klass];
    }
    const auto key = [&](const Slot *s) {
      const bool known = s->id < topology.nworkers;
      const uint32_t node = known ? topology.workers[s->id].node : 0;
      const int32_t numa = known ? topology.workers[s->id].numa : -1;
      return std::tuple(s->klass, node, numa);
    };
    std::sort(order_.begin(), order_.end(),
              [&](const Slot *a, const Slot *b) { return std::pair(key(a), a->id) < std::pair(key(b), b->id); });
    const uint32_t n = static_cast<uint32_t>(order_.size());
    for (uint32_t i = 0; i < n;) {
      uint32_t end = i;
      while (end < n && order_[end]->klass == order_[i]->klass) ++end;
      for (uint32_t from = i; from < end;) {
        uint32_t to = from;
        while (to < end && key(order_[to]) == key(order_[from])) ++to;
        for (uint32_t k = from; k < to; ++k) places_[order_[k]->id] = {order_[k], from, to, i, end};
        from = to;
      }
      i = end;
    }
  }

  const Place *find(uint32_t worker) const noexcept {  // nullptr: no member
    return worker < places_.size() && places_[worker].slot ? &places_[worker] : nullptr;
  }
  Slot *ordered(uint32_t i) const noexcept { return order_[i]; }
  uint32_t members(uint32_t klass) const noexcept { return members_[klass]; }

  // Workers of the class are candidates, but for `self`.
  void candidates(consort_wake *wake, uint32_t klass, uint32_t self) const noexcept {
    const uint64_t *from = &candidates_[klass * words_];
    const uint32_t words = std::min<uint32_t>(wake->nwords, static_cast<uint32_t>(words_));
    for (uint32_t i = 0; i < words; ++i) wake->bits[i] |= from[i];
    if (self / 64 < words) wake->bits[self / 64] &= ~(uint64_t{1} << self % 64);
  }

 private:
  std::vector<Place> places_;  // by worker
  std::vector<Slot *> order_;  // by class, then node, then NUMA node
  size_t words_;
  std::vector<uint64_t> candidates_;  // [class][word]
  std::vector<uint32_t> members_;
};

}  // namespace lws
