#include "quiet.hpp"

#include "complete.hpp"
#include "queue.hpp"
#include "submit.hpp"
#include "wait.hpp"

namespace consort {
namespace {

// A worker rests when it has shown itself asleep, has looked once more and found nothing, and was not woken since.
bool rests(const Runtime &rt, const Worker &w) noexcept {
  if (!(rt.sleepers[w.id / 64].load(std::memory_order_acquire) >> (w.id % 64) & 1)) return false;
  if (w.token.load(std::memory_order_acquire) != token::kFree && !w.resting.load(std::memory_order_acquire)) return false;
  return !w.mailbox.load(std::memory_order_acquire);
}

bool all_rest(const Runtime &rt) noexcept {
  if (rt.memory.busy()) return false;
  for (const auto &w : rt.workers)
    if (!rests(rt, *w)) return false;
  bool any = false;
  rt.for_each_hand([&](const Hand &h) { any |= h.away.load(std::memory_order_acquire); });
  return !any;
}

}  // namespace

// Seen at rest twice, and no task ended in between: so nobody ran one from the first look to the second, and what lay
// ready then would have woken a worker.
bool come_to_rest(Runtime &rt, Hand &h) noexcept {
  push_kept(rt, h);
  settle_down(rt, h);
  if (rt.manual) return !pump_all(rt, h, CONSORT_NEVER) && !rt.memory.busy();
  if (Worker *w = std::exchange(h.lease, nullptr); w && w->lease_to_held(h)) {
    w->push_kept();
    w->give_up();
  }
  fence::heavy();  // pairs with the light fences of those who push and wake
  const uint64_t before = rt.finished();
  return all_rest(rt) && all_rest(rt) && rt.finished() == before;
}

bool anything_held(const Runtime &rt) noexcept {
  bool any = false;
  rt.for_each_hand([&](Hand &h) {
    std::lock_guard lock(h.held_lock);
    any |= !h.held.empty();
  });
  return any;
}

}  // namespace consort
