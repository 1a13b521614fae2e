// event.hpp — points on a stream's time line, reference-counted and reused: creating a vendor event costs more than recording it.
//
// Each holder of an Event has a reference; the last release returns it to the device's Events, which outlive it.
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
  const void *stream = nullptr;     // stream that it was recorded on
  std::atomic<uint32_t> holders{1}; // the acq_rel of the last drop sees the writes of the others
  // Known to be complete. Relaxed: the query of the device orders its writes, and one thread reports ops.
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

  // The context must be current. Null: *error is the vendor's error, or 0 without memory.
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
  // The context must be current. Called at the end, when all events are returned.
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
    free_[e->timed].push_back(e);  // cannot fail: reserve() made space
  }

 private:
  // Reserves space for every event ever created, so that returning one cannot fail.
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
