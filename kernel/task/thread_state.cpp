#include "task/thread_state.hpp"

#include <algorithm>

#include "task/core.hpp"

namespace consort {
namespace {
constexpr uint32_t kCarve = 64;
}

bool ThreadState::drain_returned() noexcept {
  if (!returned.load(std::memory_order_relaxed)) return false;
  // The count first: it is added after its batch, so the counted records are in the chain below. nfree never exceeds
  // the number of records. acquire and the release in flush_records() keep that order.
  nfree += returned_count.exchange(0, std::memory_order_acquire);
  Task *chain = returned.exchange(nullptr, std::memory_order_acquire);  // pairs with the release in flush_records()
  if (free) {
    Task *last = chain;
    while (last->extra) last = reinterpret_cast<Task *>(last->extra);
    last->extra = reinterpret_cast<Extra *>(free);
  }
  free = chain;
  return true;
}

bool ThreadState::carve(uint32_t n) noexcept {
  const uint32_t first = rt.tasks.carve(n);
  if (!first) return false;
  for (uint32_t i = n; i-- > 0;) {
    Task *t = rt.tasks.at(first + i);
    t->thread = id;
    t->word.store(uint64_t{1} << 32, std::memory_order_relaxed);  // generations begin at 1: the name 0 is invalid
    t->extra = reinterpret_cast<Extra *>(free);
    free = t;
  }
  nfree += static_cast<int32_t>(n);
  carved += n;
  if (const uint32_t window = rt.window; window && carved > window) floor = static_cast<int32_t>(carved - window);
  return true;
}

bool ThreadState::refill(bool may_wait) noexcept {
  drain_returned();
  const uint32_t window = rt.window;
  if (!window || !may_wait) return free || carve(kCarve);
  if (free && nfree > floor) return true;
  if (carved < window) return carve(std::min(kCarve, window - carved));
  gave_way = !rt.window_wait->wait(*this);
  drain_returned();
  return free || carve(1);
}

void ThreadState::give_foreign(Task *t) noexcept {
  if (t->thread != back_thread) {
    flush_records();
    back_thread = t->thread;
  }
  t->extra = reinterpret_cast<Extra *>(back_first);
  if (!back_first) back_last = t;
  back_first = t;
  if (++back_count >= return_batch) flush_records();
}

void ThreadState::flush_records() noexcept {
  if (!back_count) return;
  ThreadState &owner = *rt.threads.at(back_thread);
  Task *old = owner.returned.load(std::memory_order_relaxed);
  do {  // a head that was taken and came back meanwhile is a valid tail
    back_last->extra = reinterpret_cast<Extra *>(old);
  } while (
      !owner.returned.compare_exchange_weak(old, back_first, std::memory_order_release, std::memory_order_relaxed));
  owner.returned_count.fetch_add(static_cast<int32_t>(back_count), std::memory_order_release);
  back_first = back_last = nullptr;
  back_count = 0;
  fence::light(rt.asymmetric);  // pairs with the heavy fence of a wait at the window
  if (owner.wants_records.load(std::memory_order_relaxed)) owner.parker.wake();
}

}  // namespace consort
