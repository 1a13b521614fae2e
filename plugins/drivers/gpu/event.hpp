// event.hpp — points on a stream's time line, counted and used again: a vendor's event costs more to make than to record.
//
// An Event belongs to whoever has counted itself in; the last one gives it back to the device's Events, which outlive it.
// Any thread.
#pragma once
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

namespace gpu {

template <class V>
struct Event {
  typename V::Event native{};
  const bool timed;
  const void *stream = nullptr;     // that it was recorded on
  std::atomic<uint32_t> holders{1}; // the last one's acq_rel drop sees what the others did
  // Seen over. Relaxed: what the device wrote is seen by whoever asked the device, and ops are reported by one thread.
  std::atomic<bool> over{false};

  explicit Event(bool t) noexcept : timed(t) {}
};

template <class V>
class Events {
 public:
  explicit Events(const V &api) : api_(api) {}
  ~Events() {
    for (auto &list : free_)
      for (Event<V> *e : list) delete e;
  }
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;

  // With the context current. Null: `error` says why; 0 of it: no memory.
  Event<V> *take(bool timed, int *error) noexcept {
    *error = 0;
    {
      const std::lock_guard lock(mutex_);
      auto &list = free_[timed];
      if (!list.empty()) {
        Event<V> *e = list.back();
        list.pop_back();
        e->holders.store(1, std::memory_order_relaxed);
        e->over.store(false, std::memory_order_relaxed);
        return e;
      }
    }
    auto *e = new (std::nothrow) Event<V>(timed);
    if (!e) return nullptr;
    *error = api_.event_create(&e->native, timed);
    if (!*error && reserve(timed)) return e;
    if (!*error) api_.event_destroy(e->native);
    delete e;
    return nullptr;
  }
  // With the context current, before the end: all have been given back.
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    for (auto &list : free_) {
      for (Event<V> *e : list) {
        api_.event_destroy(e->native);
        delete e;
      }
      list.clear();
    }
  }
  void keep(Event<V> *e) noexcept { e->holders.fetch_add(1, std::memory_order_relaxed); }
  void drop(Event<V> *e) noexcept {
    if (e->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard lock(mutex_);
    free_[e->timed].push_back(e);  // there is room: reserve()
  }

 private:
  // Room for each that was ever made, so that giving one back cannot fail.
  bool reserve(bool timed) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      free_[timed].reserve(++made_[timed]);
      return true;
    } catch (const std::bad_alloc &) {
      return --made_[timed], false;
    }
  }
  const V &api_;
  std::mutex mutex_;  // leaf
  std::vector<Event<V> *> free_[2];
  size_t made_[2] = {0, 0};
};

}  // namespace gpu
