#include "events.hpp"

#include <new>

namespace level_zero {

Events::~Events() {
  for (auto &e : all_) api_.zeEventDestroy(e->handle);
  for (ze_event_pool_handle_t p : pools_) api_.zeEventPoolDestroy(p);
}

ze_result_t Events::grow() noexcept {
  try {
    pools_.reserve(pools_.size() + 1);
    all_.reserve(all_.size() + kPool);
    free_.reserve(all_.size() + kPool);
    auto pool_desc = typed<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    pool_desc.count = kPool;
    ze_event_pool_handle_t pool = nullptr;
    ze_device_handle_t device = device_;
    if (const ze_result_t e = api_.zeEventPoolCreate(context_, &pool_desc, 1, &device, &pool); e != ZE_RESULT_SUCCESS) return e;
    pools_.push_back(pool);
    for (uint32_t i = 0; i < kPool; ++i) {
      auto made = std::make_unique<Event>();
      auto desc = typed<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
      desc.index = i;
      desc.signal = desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      const ze_result_t e = api_.zeEventCreate(pool, &desc, &made->handle);
      if (e != ZE_RESULT_SUCCESS) return free_.empty() ? e : ZE_RESULT_SUCCESS;
      free_.push_back(made.get());
      all_.push_back(std::move(made));
    }
    return ZE_RESULT_SUCCESS;
  } catch (const std::bad_alloc &) {
    return free_.empty() ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_SUCCESS;
  }
}

Event *Events::take(ze_result_t *e) noexcept {
  const std::lock_guard lock(mutex_);
  *e = free_.empty() ? grow() : ZE_RESULT_SUCCESS;
  if (*e != ZE_RESULT_SUCCESS) return nullptr;
  Event *taken = free_.back();
  free_.pop_back();
  taken->refs.store(1, std::memory_order_relaxed);
  return taken;
}

void Events::put_back(Event *e) noexcept {
  let_go(e);
  const std::lock_guard lock(mutex_);
  free_.push_back(e);
}

// An event returned here releases the events that it waited for. Iterative, because a chain is as long as a queue is deep.
void Events::drop(Event *e) noexcept {
  // The acq_rel of the last release sees all others' writes to the event, `waits` in particular.
  if (e->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Event *head = e;
  while (head) {
    Event *const over = head;
    head = nullptr;
    // On a lost device an unexecuted command may still read the events it waits for: neither they nor its own event are reused.
    if (api_.zeEventQueryStatus(over->handle) != ZE_RESULT_SUCCESS) continue;
    std::vector<Event *> waits;
    waits.swap(over->waits);
    if (api_.zeEventHostReset(over->handle) == ZE_RESULT_SUCCESS) {
      const std::lock_guard lock(mutex_);
      free_.push_back(over);
    }
    for (Event *w : waits) {
      if (w->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (!head) head = w;
      else w->refs.store(1, std::memory_order_relaxed), drop(w);
    }
  }
}

}  // namespace level_zero
