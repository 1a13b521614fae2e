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
  uint32_t countdown = 0;           // pops until one that does not begin with the own newest
  uint32_t plain = CONSORT_NONE;    // how many tasks a push may have that goes the short way: 1, or none at all
  const std::atomic<int32_t> *urgency = nullptr;  // its class's: what Instance::publish() publishes
  uint32_t rotate = 1;              // where the next look round begins: xorshift
  uint32_t klass = 0, id = 0;
  bool list_first = false;          // ring and lists are served by turns
  bool oldest_first = false;        // so are the pools and the own oldest, when the countdown ends
  const Slot *watched = nullptr;    // a victim with one task only, which is left alone for a while
  int64_t watched_oldest = 0;
  uint32_t watched_rounds = 0;
  Deque deque;
};

class Group {
 public:
  struct Place {
    Slot *slot;                                 // nullptr: no member
    uint64_t others;                            // of the same class; first word of the candidates
    uint32_t near_begin, near_end, begin, end;  // ranges of the order: same NUMA node, same class
  };

  Group(const consort_topology &topology, const std::vector<Slot *> &slots, uint32_t nclasses)
      : places_(slots.size()),
        size_(static_cast<uint32_t>(slots.size())),
        words_((size_ + 63) / 64),
        candidates_(nclasses * words_),
        members_(nclasses) {
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
        for (uint32_t k = from; k < to; ++k) places_[order_[k]->id] = {order_[k], others(order_[k]), from, to, i, end};
        from = to;
      }
      i = end;
    }
  }

  const Place *find(uint32_t worker) const noexcept {  // nullptr: no member
    if (worker >= size_) [[unlikely]] return nullptr;
    const Place *p = &places_[worker];
    return p->slot ? p : nullptr;
  }
  Slot *ordered(uint32_t i) const noexcept { return order_[i]; }
  uint32_t members(uint32_t klass) const noexcept { return members_[klass]; }

  // n tasks that any worker of the class may run; `self` comes for them anyway.
  void announce(consort_wake *wake, const Place &self, uint32_t n) const noexcept {
    if (!wake) return;
    wake->k += n;
    if (words_ == 1) [[likely]] wake->bits[0] |= self.others;  // as wide as the topology: a word at least
    else candidates(wake, self.slot->klass, self.slot->id);
  }
  // Workers of the class, but for `self`.
  void candidates(consort_wake *wake, uint32_t klass, uint32_t self) const noexcept {
    const uint64_t *from = &candidates_[klass * words_];
    const uint32_t words = std::min(wake->nwords, words_);
    for (uint32_t i = 0; i < words; ++i) wake->bits[i] |= from[i];
    if (self / 64 < words) wake->bits[self / 64] &= ~(uint64_t{1} << self % 64);
  }

 private:
  uint64_t others(const Slot *s) const noexcept {
    return candidates_[s->klass * words_] & ~(s->id < 64 ? uint64_t{1} << s->id : 0);
  }

  std::vector<Place> places_;  // by worker
  uint32_t size_, words_;
  std::vector<Slot *> order_;  // by class, then node, then NUMA node
  std::vector<uint64_t> candidates_;  // [class][word]
  std::vector<uint32_t> members_;
};

}  // namespace lws
