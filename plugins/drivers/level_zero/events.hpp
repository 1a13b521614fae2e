// events.hpp — the events of one device: made in pools, counted, used again.
//
// An event that is signalled at the end of a command is what others wait for, on the device and on the host. Unlike other
// vendors' it does not live by itself: whoever waits for it on the device has to keep it until that is over, so each event
// holds those that its command waits for. Owned by the device; any thread.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "ze.hpp"

namespace level_zero {

struct Event {
  ze_event_handle_t handle = nullptr;
  std::atomic<uint32_t> refs{0};  // acq_rel where it falls: the last sees what all did
  std::vector<Event *> waits;  // what its command waits for: by whoever makes the command, then under the device's mutex
};

class Events {
 public:
  Events(const Api &api, ze_context_handle_t context, ze_device_handle_t device) : api_(api), context_(context), device_(device) {}
  ~Events();  // the device is idle or lost, all queues are closed
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;

  // One that is not signalled, with one reference. Null: `e` says why.
  Event *take(ze_result_t *e) noexcept;
  void keep(Event *e) const noexcept { e->refs.fetch_add(1, std::memory_order_relaxed); }
  void drop(Event *e) noexcept;
  // One that no command will signal: it has one reference.
  void put_back(Event *e) noexcept;
  // Its command is over, and what it waited for with it. Under the device's mutex.
  void let_go(Event *e) noexcept {
    for (Event *w : e->waits) drop(w);
    e->waits.clear();
  }

 private:
  static constexpr uint32_t kPool = 64;
  ze_result_t grow() noexcept;

  const Api &api_;
  const ze_context_handle_t context_;
  const ze_device_handle_t device_;
  std::mutex mutex_;  // leaf
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<std::unique_ptr<Event>> all_;
  std::vector<Event *> free_;  // room for all of them: giving one back needs no memory
};

}  // namespace level_zero
