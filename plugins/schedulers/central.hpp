// central.hpp — a policy with one container under one lock: construction, epoch, members, table.
//
// Any thread may push, a worker's owner pops. Both hold the lock during the container's operation, and call nothing else
// meanwhile. Nothing is allocated after create(). A Store is the container, guarded by the lock:
//   Store(nclasses)                       constructor; resize(nclasses) when the topology changes
//   append(task)                          links the task by its sched[]
//   take(classes) → task or nullptr       the next task that one of the classes can run
//   remove(task) → bool                   false: not in here; compares addresses only, the task may be unknown
//   changed()                             called under the lock after each operation, before it is released
//   kShare                                a pop may take several tasks, up to its share; else one at a time
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "doors.hpp"
#include "members.hpp"

namespace policies {

template <class Store>
struct Central {
  Central(const consort_host *h, const consort_topology &t, uint64_t e)
      : host(h), epoch(e), members(t), store(members.nclasses) {}

  alignas(kLine) SpinLock lock;      // guards all but host, waiting and visitors
  const consort_host *const host;
  uint64_t epoch;
  Members members;
  Store store;
  alignas(kLine) std::atomic<uint64_t> waiting{0};  // number of tasks; stored under the lock, read without it, so an empty pop takes no lock
  Doors visitors;

  void add_waiting(uint64_t n) noexcept {  // release: pairs with pop()
    waiting.store(waiting.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }

  static Central &of(void *s) noexcept { return *static_cast<Central *>(s); }

  static consort_status create(void *, const consort_host *host, const consort_topology *t, uint64_t epoch,
                               void **out) noexcept {
    try {
      *out = new Central(host, *t, epoch);
      return CONSORT_OK;
    } catch (...) {
      return consort::plugin::caught(host, "out of memory for the instance");
    }
  }
  static void destroy(void *s) noexcept { delete &of(s); }

  static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na,
                                const uint32_t *del, uint32_t nd) noexcept {
    Central &i = of(s);
    if (const consort_status bad = check_added(i.host, t, add, na); bad < 0) return bad;
    try {
      const std::lock_guard guard(i.lock);
      i.members.change(*t, add, na, del, nd);
      i.store.resize(i.members.nclasses);
      i.store.changed();
      return CONSORT_OK;
    } catch (...) {
      return consort::plugin::caught(i.host, "out of memory for the workers");
    }
  }

  static uint32_t push(void *s, const consort_push *p) noexcept {
    Central &i = of(s);
    const Visit visit(i.visitors.door(__builtin_frame_address(0)));
    const std::lock_guard guard(i.lock);
    if (i.epoch != p->epoch) return 0;
    for (uint32_t k = 0; k < p->n; ++k) {
      i.store.append(p->ready[k]);
      i.members.announce(p->wake, p->ready[k]->where, p->from);
    }
    i.store.changed();
    i.add_waiting(p->n);
    return p->n;
  }

  static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
    Central &i = of(s);
    const Visit visit(i.visitors.door(__builtin_frame_address(0)));
    if (max == 0 || i.waiting.load(std::memory_order_acquire) == 0) return 0;  // pairs with add_waiting()
    const std::lock_guard guard(i.lock);
    if (!i.members.has(worker)) return 0;
    const uint64_t waiting = i.waiting.load(std::memory_order_relaxed);
    // Tasks taken here cannot start on other workers.
    const uint64_t share = Store::kShare ? (waiting + i.members.count - 1) / i.members.count : 1;
    uint32_t n = 0;
    while (n < max && n < share) {
      consort_task *task = i.store.take(i.members.classes_of(worker));
      if (!task) break;
      out[n++] = {task, CONSORT_NONE, CONSORT_NONE};
    }
    i.store.changed();
    i.add_waiting(uint64_t{0} - n);
    return n;
  }

  static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
    Central &i = of(s);
    const std::lock_guard guard(i.lock);
    i.epoch = epoch;
    uint32_t n = 0;
    while (n < max && (out[n] = i.store.take(~uint64_t{0}))) ++n;
    i.store.changed();
    i.add_waiting(uint64_t{0} - n);
    return n;
  }

  static consort_status quiesce(void *s, uint64_t deadline) noexcept {
    return of(s).visitors.wait(of(s).host, deadline);
  }

  // Cancelled or poisoned tasks: queued ones are returned at once and not by pop.
  static uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
    Central &i = of(s);
    const Visit visit(i.visitors.door(__builtin_frame_address(0)));
    const std::lock_guard guard(i.lock);
    uint32_t nheld = 0;
    for (uint32_t k = 0; k < n; ++k)
      if (i.store.remove(tasks[k])) held[nheld++] = tasks[k];
    i.store.changed();
    i.add_waiting(uint64_t{0} - nheld);
    return nheld;
  }
};

}  // namespace policies
