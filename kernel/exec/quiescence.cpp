#include "exec/quiescence.hpp"

#include "exec/queue.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "graph/submit.hpp"

namespace consort {
namespace {

// A worker rests when it has shown itself asleep, has looked once more and found nothing, and was not woken since. So
// does one that has nobody: where the system gave no thread for it, what is its alone may never run.
bool rests(const Execution &rt, const Executor &w) noexcept {
  const bool asleep = rt.sleepers[w.id / 64].load(std::memory_order_acquire) >> (w.id % 64) & 1;
  if (!asleep && !w.vacant()) return false;
  if (w.token.load(std::memory_order_acquire) != token::kFree && !w.resting.load(std::memory_order_acquire))
    return false;
  return !w.mailbox.load(std::memory_order_acquire) && !w.called.load(std::memory_order_acquire) && !(w.queue && w.queue->has_news());
}

// Bodies that wait: are they at rest, too, as long as they sleep?
enum class Bodies { kRun, kRestAsleep };

bool all_rest(const Execution &rt, Bodies those_that_wait) noexcept {
  if (rt.execution_memory->busy()) return false;
  for (const auto &w : rt.executors)
    if (!rests(rt, *w)) return false;
  bool any = false;
  rt.for_each_thread([&](const ThreadState &thread) {
    any |= thread.away.load(std::memory_order_acquire) && (those_that_wait == Bodies::kRun || !thread.parker.asleep());
  });
  return !any;
}

}  // namespace

// Seen at rest twice, and no task ended in between: so nobody ran one from the first look to the second, and what lay
// ready then would have woken a worker.
bool come_to_rest(Execution &rt, ThreadState &thread) noexcept {
  push_kept(rt, thread);
  settle_down(rt, thread);
  if (rt.manual) return !pump_all(rt, thread, CONSORT_NEVER) && !rt.execution_memory->busy();
  end_lease(rt, thread);
  fence::heavy();  // pairs with the light fences of those who push and wake
  const uint64_t before = rt.finished();
  return all_rest(rt, Bodies::kRun) && all_rest(rt, Bodies::kRun) && rt.finished() == before;
}

// Two looks, and nothing was submitted nor ended from before the first until after the second. In between, then, the
// tasks and what each waits for were the same, but for what the application did from outside; that may as well have
// come after.
// * Was something ready? Whoever pushed it, or posted or offered it, either saw its worker asleep and woke it (the bit
//   of `sleepers` is gone before the push is over; a mailbox or an inbox is not empty), or saw it awake: then the
//   worker looks once more behind the heavy fence of show_asleep() before it frees its token, and finds it. A worker
//   woken like that has not rested again without a step.
// * Did a body go on? One that sleeps goes on when somebody wakes it: a worker, which wakes before it rests
//   (settle_down() comes before show_asleep(), the wake's exchange before the release of the token that rests()
//   acquires), or a body, of which the same is asked. wake() changes the parker's word at once, long before the woken
//   has a core.
// * What went from one to the other past the first look (a body that wakes, hands on what it has popped and is a
//   stranger's, and sleeps) is at the second look where it went to: what it woke has ended something, or has not rested
//   since, or waits for its part.
// A sum may be off for a moment while counts move (task/group.hpp): then the two differ, and it is looked at again; so it is
// where another thread submits, like this one, what cannot run yet. A body that waits with a limit counts as asleep
// until its time is over.
bool stands_still(const Execution &rt) noexcept {
  constexpr uint32_t kLooks = 8;
  fence::heavy();  // pairs with the light fences of those who push and wake: what they did before is seen from here on
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
