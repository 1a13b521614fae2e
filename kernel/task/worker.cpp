#include "task/worker.hpp"

#include "base/fence.hpp"
#include "task/core.hpp"

namespace consort {

// -- the token ------------------------------------------------------------------------------------------------

bool Worker::try_take() noexcept {
  uint32_t free = token::kFree;
  // acquire pairs with the release of the former holder: the worker's own fields move with the token
  if (token.load(std::memory_order_relaxed) != free ||
      !token.compare_exchange_strong(free, token::kHeld, std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  return true;
}

void Worker::give_up() noexcept {
  token.store(token::kFree, std::memory_order_release);
  wake_duty();
}

bool Worker::try_lease(ThreadState &thread, bool for_now) noexcept {
  uint32_t free = token::kFree;
  if (leased_to(thread)) {
    thread.lease = this;
    return true;
  }
  // A worker that a gang has called is not leased: its own thread must join. A waiting thread may lease it, because that
  // thread may be the only one that steps the worker.
  const auto wanted = [&]() noexcept { return !for_now && called.load(std::memory_order_relaxed); };
  if (has_queue || wanted() || token.load(std::memory_order_relaxed) != free ||
      !token.compare_exchange_strong(free, token::lease(thread.id), std::memory_order_acquire,
                                     std::memory_order_relaxed))
    return false;
  if (wanted()) [[unlikely]] {
    give_up();
    return false;
  }
  // Set under the token, which this thread has acquired: it is seen if it was set before.
  if (!for_now && vacant()) [[unlikely]] {
    token.store(token::kFree, std::memory_order_release);
    return false;
  }
  thread.lease = this;
  show_awake();
  // Pairs with the heavy fence at the end of watch(). The exchange above is no fence: on a weakly ordered processor the
  // load of `watched` may come before the lease is visible.
  fence::light(core.asymmetric);
  if (!watched.load(std::memory_order_relaxed)) wake_duty();
  return true;
}

bool Worker::lease_to_held(ThreadState &thread) noexcept {
  uint32_t mine = token::lease(thread.id);
  return token.compare_exchange_strong(mine, token::kHeld, std::memory_order_acquire, std::memory_order_relaxed);
}

void Worker::held_to_lease(ThreadState &thread) noexcept {
  if (vacant()) [[unlikely]] {
    thread.lease = nullptr;
    return give_up();
  }
  token.store(token::lease(thread.id), std::memory_order_release);
  // A lease is always watched, or the worker would be unusable while its lessee does something else.
  fence::light(core.asymmetric);  // pairs with the heavy fence at the end of watch()
  if (!watched.load(std::memory_order_relaxed)) wake_duty();
}

void Worker::ask_for_lease(ThreadState &thread) noexcept {
  uint32_t none = 0;
  if (!has_queue && token.load(std::memory_order_relaxed) == token::kHeld)
    asked.compare_exchange_strong(none, token::lease(thread.id), std::memory_order_relaxed);
}

void Worker::wake_duty() noexcept {
  if (Parker *p = duty_.load(std::memory_order_acquire)) p->wake();
}

void Worker::unlist() noexcept {
  const uint64_t mine = uint64_t{1} << (id % 64);
  std::atomic<uint64_t> &bits = core.sleepers[id / 64];
  listed = false;
  // acq_rel as at each change of the bits; the relaxed load saves the exchange where a waker was faster
  if (!(bits.load(std::memory_order_relaxed) & mine) || !(bits.fetch_and(~mine, std::memory_order_acq_rel) & mine))
    owes_look = true;
}

void Worker::show_awake() noexcept {
  if (listed) unlist();
  sleeping.store(nullptr, std::memory_order_relaxed);
}

void Worker::post(Task *t, bool offered) noexcept {
  t->pub.sched[1] = offered ? t : nullptr;
  void *head = mailbox.load(std::memory_order_relaxed);
  do {
    t->pub.sched[0] = head;
  } while (!mailbox.compare_exchange_weak(reinterpret_cast<Task *&>(head), t, std::memory_order_release,
                                          std::memory_order_relaxed));
  rouse();
}

void Worker::rouse() noexcept {
  fence::light(core.asymmetric);  // pairs with the heavy fence of show_asleep()
  if (Parker *p = sleeping.exchange(nullptr, std::memory_order_acq_rel)) p->wake();
  else if (token.load(std::memory_order_relaxed) != token::kHeld && !watched.load(std::memory_order_relaxed))
    wake_duty();
}

}  // namespace consort
