// events.hpp — the events of one device: created in pools, reference-counted, reused.
//
// A command signals its event at its end; the device and the host wait for it. Unlike other vendors' events, it must stay alive while
// a command waits for it on the device. Therefore each event holds references to the events that its command waits for.
// Owned by the device; any thread.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "ze.hpp"

namespace level_zero {

struct Event {
  ze_event_handle_t handle = nullptr;
  std::atomic<uint32_t> refs{0};  // decrement is acq_rel: the last holder sees all writes
  std::vector<Event *> waits;  // events that its command waits for: filled by the issuing thread, then guarded by the device's mutex
};

class Events {
 public:
  Events(const Api &api, const ze_context_handle_t &context, ze_device_handle_t device) : api_(api), context_(context), device_(device) {}
  ~Events();  // requires: device idle or lost, all queues closed
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;

  // Returns an unsignalled event with one reference. Null: reason in `e`.
  Event *take(ze_result_t *e) noexcept;
  void keep(Event *e) const noexcept { e->refs.fetch_add(1, std::memory_order_relaxed); }
  void drop(Event *e) noexcept;
  // Returns an event that no command will signal; it has one reference.
  void put_back(Event *e) noexcept;
  // The event's command is complete: releases the events that it waited for. Under the device's mutex.
  void let_go(Event *e) noexcept {
    for (Event *w : e->waits) drop(w);
    e->waits.clear();
  }

 private:
  static constexpr uint32_t kPool = 64;
  ze_result_t grow() noexcept;

  const Api &api_;
  const ze_context_handle_t &context_;  // the device's: it has none while it sleeps
  const ze_device_handle_t device_;
  std::mutex mutex_;  // leaf
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<std::unique_ptr<Event>> all_;
  std::vector<Event *> free_;  // capacity for all events: returning one allocates nothing
};

}  // namespace level_zero
