#include "memory/eviction_queue.hpp"

#include <algorithm>

namespace consort {

void EvictionQueue::rise(size_t i) noexcept {
  Replica *const r = heap_[i];
  for (; i && goes_before(*r, *heap_[(i - 1) / 2]); i = (i - 1) / 2) put(heap_[(i - 1) / 2], i);
  put(r, i);
}

void EvictionQueue::sink(size_t i) noexcept {
  Replica *const r = heap_[i];
  for (size_t child; (child = 2 * i + 1) < heap_.size(); i = child) {
    if (child + 1 < heap_.size() && goes_before(*heap_[child + 1], *heap_[child])) ++child;
    if (!goes_before(*heap_[child], *r)) break;
    put(heap_[child], i);
  }
  put(r, i);
}

void EvictionQueue::add(Replica &r) noexcept {
  if (r.at != Replica::kNotIn) return;
  heap_.push_back(&r);
  rise(heap_.size() - 1);
}

void EvictionQueue::remove(Replica &r) noexcept {
  if (r.at == Replica::kNotIn) return;
  const size_t i = r.at;
  r.at = Replica::kNotIn;
  Replica *const last = heap_.back();
  heap_.pop_back();
  if (last == &r) return;
  put(last, i);
  moved(*last);
}

void EvictionQueue::moved(Replica &r) noexcept {
  rise(r.at);
  sink(r.at);
}

}  // namespace consort
