#include "exec/quiescence.hpp"

#include "exec/queue.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "graph/submit.hpp"

namespace consort {
namespace {

// A worker rests if its bit is set, it has looked once more and found nothing, and was not woken since. A full one has
// no bit: it rests until its parker is taken. A worker whose thread could not be created also counts as idle; tasks bound
// to it may never run.
bool rests(const Execution &rt, const Executor &w) noexcept {
  const bool asleep = rt.sleepers[w.id / 64].load(std::memory_order_acquire) >> (w.id % 64) & 1;
  const bool full = w.sleeping.load(std::memory_order_acquire) && w.full_asleep.load(std::memory_order_relaxed);
  if (!asleep && !full && !w.vacant()) return false;
  if (w.token.load(std::memory_order_acquire) != token::kFree && !w.resting.load(std::memory_order_acquire))
    return false;
  return !w.mailbox.load(std::memory_order_acquire) && !w.called.load(std::memory_order_acquire) && !(w.queue && w.queue->has_news());
}

// Whether waiting bodies count as resting while they sleep.
enum class Bodies { kRun, kRestAsleep };

bool all_rest(const Execution &rt, Bodies waiting_bodies) noexcept {
  if (rt.execution_memory->busy()) return false;
  for (const auto &w : rt.executors)
    if (!rests(rt, *w)) return false;
  bool any = false;
  rt.for_each_thread([&](const ThreadState &thread) {
    any |= thread.away.load(std::memory_order_acquire) && (waiting_bodies == Bodies::kRun || !thread.parker.asleep());
  });
  return !any;
}

}  // namespace

// Two scans found rest and no task ended in between. So none ran from the first scan to the second, and a ready task
// would have woken a worker.
bool come_to_rest(Execution &rt, ThreadState &thread) noexcept {
  push_kept(rt, thread);
  settle_down(rt, thread);
  if (rt.manual) return !pump_all(rt, thread, CONSORT_NEVER) && !rt.execution_memory->busy();
  end_lease(rt, thread);
  fence::heavy();  // pairs with the light fences of pushes and wakes
  const uint64_t before = rt.finished();
  return all_rest(rt, Bodies::kRun) && all_rest(rt, Bodies::kRun) && rt.finished() == before;
}

// Two scans, without a submission or an end of a task from before the first until after the second. So in between the
// tasks and their dependencies did not change, except by the application from outside, which may as well have come
// after.
// * A ready task: its push, post or offer either saw its worker asleep and woke it (the bit of `sleepers` is cleared
// before the push returns; a mailbox or an inbox is not empty), or saw it awake. Then the worker looks once more behind
// the heavy fence of show_asleep() before it frees its token, and finds the task. A worker woken like that does not
// rest again without a step.
// * A body that continues: a sleeping body is woken by a worker, which wakes before it rests (settle_down() comes
// before show_asleep(), the wake's exchange before the release of the token that rests() acquires), or by a body, to
// which the same applies. wake() changes the parker's word at once, long before the woken thread has a core.
// * Work that moved past the first scan (a body wakes, passes on a popped task of another wait, and sleeps) is at its
// destination at the second scan: the woken thread has ended something, has not rested since, or waits for its part.
// A sum may be off for a moment while counts move (task/group.hpp). Then the two sums differ, and the scans are
// repeated, as they are when another thread submits a task that cannot run yet. A body that waits with a timeout counts
// as asleep until the timeout has passed.
bool stands_still(const Execution &rt) noexcept {
  constexpr uint32_t kLooks = 8;
  fence::heavy();  // pairs with the light fences of pushes and wakes: earlier stores are seen from here on
  for (uint32_t i = 0; i < kLooks; ++i) {
    const uint64_t ended = rt.finished(), begun = rt.submitted();
    if (!all_rest(rt, Bodies::kRestAsleep) || !all_rest(rt, Bodies::kRestAsleep)) return false;
    if (rt.finished() == ended && rt.submitted() == begun) return true;
  }
  return false;
}

bool anything_held(const Execution &rt) noexcept {
  bool any = false;
  rt.for_each_thread([&](ThreadState &thread) {
    std::lock_guard lock(thread.held_lock);
    any |= !thread.held.empty();
  });
  return any;
}

}  // namespace consort
