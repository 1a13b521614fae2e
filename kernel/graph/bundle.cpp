#include "graph/bundle.hpp"

#include "base/last_error.hpp"

namespace consort {

Result<consort_bundle_id> Bundles::create() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.reserve(all_.size() + 1);
    auto b = std::make_unique<Bundle>();
    b->number = static_cast<uint32_t>(all_.size());
    all_.push_back(std::move(b));
    free_.push_back(static_cast<uint32_t>(all_.size() - 1));
  }
  Bundle &b = *all_[free_.back()];
  free_.pop_back();
  b.open = true;
  b.worker.store(CONSORT_NONE, std::memory_order_relaxed);
  return consort_bundle_id{uint64_t{b.generation} << 32 | (b.number + 1)};
}

Bundle *Bundles::find(consort_bundle_id id) noexcept {
  const uint32_t number = static_cast<uint32_t>(id.v) - 1;
  return number < all_.size() && all_[number]->generation == id.v >> 32 ? all_[number].get() : nullptr;
}

void Bundles::free_if_over(Bundle &b) noexcept {
  if (b.open || b.tasks) return;
  ++b.generation;
  free_.push_back(b.number);
}

consort_status Bundles::close(consort_bundle_id id) noexcept {
  std::lock_guard lock(mutex_);
  Bundle *b = find(id);
  if (!b || !b->open) return set_error(CONSORT_E_STALE, "the bundle was closed before, or is none of this runtime");
  b->open = false;
  free_if_over(*b);
  return CONSORT_OK;
}

consort_status Bundles::enter(consort_bundle_id id, bool member, Bundle **out) noexcept {
  std::lock_guard lock(mutex_);
  Bundle *b = find(id);
  if (!b || !(b->open || member))
    return set_error(CONSORT_E_STALE, "the bundle was closed: no more tasks can be submitted to it");
  ++b->tasks;
  *out = b;
  return CONSORT_OK;
}

void Bundles::leave(Bundle &b) noexcept {
  std::lock_guard lock(mutex_);
  --b.tasks;
  free_if_over(b);
}

}  // namespace consort
