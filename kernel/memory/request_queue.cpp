#include "memory/request_queue.hpp"

#include <algorithm>

#include "memory/transfer.hpp"
#include "task/replica.hpp"

namespace consort {

MemoryRequest &RequestQueue::add(const MemoryRequest &wanted, Datum &d) {
  auto w = std::make_unique<MemoryRequest>(wanted);
  w->memory = &memory_;
  w->id = ++last_;
  w->datum = &d;
  return *all_.emplace(w->id, std::move(w)).first->second;
}

void RequestQueue::enlist(MemoryRequest &w) {
  auto &all = waiting_[w.space];
  const auto less_urgent = [](int32_t priority, const MemoryRequest *other) { return priority > other->priority; };
  all.insert(std::upper_bound(all.begin(), all.end(), w.priority, less_urgent), &w);
  w.begun = true;
  w.version = w.datum->extra()->replicas->version;
}

void RequestQueue::remove(MemoryRequest &w) noexcept {
  if (w.transfer) w.transfer->wish = nullptr;
  if (w.begun) std::erase(waiting_[w.space], &w);
  if (w.begun && w.task) w.datum->extra()->replicas->hinted &= ~coherence::one(w.space);
  all_.erase(w.id);
}

void RequestQueue::remove_all_of(const Datum &d) noexcept {
  for (auto w = all_.begin(); w != all_.end();) {
    MemoryRequest &request = *(w++)->second;
    if (request.begun && request.datum == &d) remove(request);
  }
}

MemoryRequest *RequestQueue::find(uint64_t id) const noexcept {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second.get();
}

}  // namespace consort
