// group.hpp — the workers that an instance serves: a slot each, neighbours, and the workers that a push may have fed.
//
// A Group is immutable. workers() creates and publishes a new one; old ones live as long as the instance,
// so push and pop read a group without a lock. Slots outlive groups: a returning worker gets its slot back.
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

// State of one worker. Only the worker's owner accesses it, except `inside` and the thieves' end of the deque.
struct alignas(kLine) Slot {
  std::atomic<uint32_t> inside{0};  // odd: its owner is in push or pop; pairs with Instance::wait_outside()
  uint32_t countdown = 0;           // pops until the next one that does not begin with the own newest task
  // Number of tasks of a push on the fast path: 1, or no such path. Relaxed; workers() stores "no such path" for a worker that
  // leaves before it calls wait_outside(), which waits for the end of each push that has read 1.
  std::atomic<uint32_t> plain{CONSORT_NONE};
  const std::atomic<int32_t> *urgency = nullptr;  // of its class: written by Instance::publish()
  uint32_t rotate = 1;              // start of the next search round: xorshift
  uint32_t klass = 0, id = 0;
  bool list_first = false;          // ring and lists alternate
  bool oldest_first = false;        // pools and the own oldest task alternate when the countdown ends
  const Slot *watched = nullptr;    // a victim whose only task is not stolen yet
  int64_t watched_oldest = 0;
  uint32_t watched_rounds = 0;
  Deque deque;
};

class Group {
 public:
  struct Place {
    Slot *slot;                                 // nullptr: not a member
    uint64_t others;                            // other workers of the class; first word of the candidates
    uint32_t near_begin, near_end, begin, end;  // ranges of order_: same NUMA node, same class
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

  const Place *find(uint32_t worker) const noexcept {  // nullptr: not a member
    if (worker >= size_) [[unlikely]] return nullptr;
    const Place *p = &places_[worker];
    return p->slot ? p : nullptr;
  }
  Slot *ordered(uint32_t i) const noexcept { return order_[i]; }
  uint32_t members(uint32_t klass) const noexcept { return members_[klass]; }

  // Announces n tasks that any worker of the class may run; `self` pops them anyway.
  void announce(consort_wake *wake, const Place &self, uint32_t n) const noexcept {
    if (!wake) return;
    wake->k += n;
    if (words_ == 1) [[likely]] wake->bits[0] |= self.others;  // at least one word
    else candidates(wake, self.slot->klass, self.slot->id);
  }
  // Adds the workers of the class, without `self`.
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
