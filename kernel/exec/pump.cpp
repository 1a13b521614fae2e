#include <algorithm>

#include "base/last_error.hpp"
#include "exec/gang.hpp"
#include "exec/queue.hpp"
#include "exec/wait_condition.hpp"
#include "graph/failed_task.hpp"
#include "graph/submit.hpp"

namespace consort {
namespace {

// Runs step(w) once by the calling thread, with the worker's token.
template <class Step>
bool pump_with(Execution &rt, ThreadState &thread, Executor &w, Step step) noexcept {
  Executor *const outer = executor_of(thread.seat);
  // A worker in an outer frame of this stack, whose body waits, is stepped too: it may have to run the awaited task.
  // relaxed: only the thread that stored its own state there finds it.
  const bool nested = w.pumped_by.load(std::memory_order_relaxed) == &thread;
  if (!nested && !w.try_take()) return false;
  if (!nested) w.pumped_by.store(&thread, std::memory_order_relaxed);
  thread.seat = &w;
  bool did = step(w);
  // In virtual time most workers are idle at most times. Then the movers are too, unless stirred() says otherwise.
  if (rt.manual && (did || !rt.virtual_time || rt.execution_memory->stirred())) did |= rt.execution_memory->step(thread);
  if (did) rt.policies.review(rt, thread);
  settle_down(rt, thread);
  thread.seat = outer;
  if (!nested) {
    w.pumped_by.store(nullptr, std::memory_order_relaxed);
    w.token.store(token::kFree, std::memory_order_release);  // pairs with the acquire in try_take()
  }
  return did;
}

// A list of tasks taken out of the policy, linked by pub.sched[0], in the order of removal.
class Aside {
 public:
  void add(Task *t) noexcept {
    t->pub.sched[0] = nullptr;
    (last_ ? last_->pub.sched[0] : first_) = t;
    last_ = t;
  }
  Task *first() const noexcept { return static_cast<Task *>(first_); }
  void push_back(Executor &w) noexcept {
    constexpr uint32_t kBatch = 64;
    Task *batch[kBatch];
    for (Task *t = first(); t;) {
      uint32_t n = 0;
      for (; t && n < kBatch; t = static_cast<Task *>(t->pub.sched[0])) batch[n++] = t;
      w.rt.policy.push(w.rt, w.id, batch, n, CONSORT_PUSH_RETRIED);
    }
  }

 private:
  void *first_ = nullptr;
  Task *last_ = nullptr;
};

// Returns a task bound to the worker that the wait is for, or nullptr. The worker's list then has all other bound tasks
// in order; tasks that were only offered here go to the policy.
Task *bound_own(Executor &w, const WaitCondition &goal) noexcept {
  Aside all;
  Task *own = nullptr;
  while (w.bound || w.mailbox.load(std::memory_order_relaxed)) {  // relaxed: a hint; next_bound() acquires
    Task *t = w.next_bound();
    if (t->pub.sched[1]) w.rt.policy.push(w.rt, w.id, &t, 1, CONSORT_PUSH_NEW);
    else if (!own && goal.may_run(*t) && !(t->extra && w.rt.topology->team(t->extra->team))) own = t;
    else all.add(t);
  }
  w.bound = all.first();
  return own;
}

// Runs a ready task of the worker that the wait is for. Returns false if there is none; all other tasks are where they
// were.
bool step_own(Executor &w, ThreadState &thread, const WaitCondition &goal) noexcept {
  Aside others;
  Task *own = bound_own(w, goal);
  consort_pick pick{nullptr, CONSORT_NONE, CONSORT_NONE};
  while (!own && w.rt.policy.pop(w.id, &pick)) {
    Task *const t = reinterpret_cast<Task *>(pick.task);
    if (goal.may_run(*t) && !w.rt.topology->team(pick.team)) own = t;
    else others.add(t);
  }
  others.push_back(w);
  if (!own) return false;
  Frame frame(w);
  w.run(thread, frame, own, pick.impl);
  return true;
}

// Counts the nested waiting bodies on this thread's stack.
class Nested {
 public:
  explicit Nested(ThreadState &thread) noexcept : h_(thread), outer_(thread.depth), inside_(thread.task) {
    h_.depth += inside_;
  }
  ~Nested() { h_.depth = outer_; }  // mend_if_left() may have changed it
  Nested(const Nested &) = delete;
  Nested &operator=(const Nested &) = delete;

  // At a large depth a wait first runs its own tasks: others would put further waiting bodies on this stack.
  bool ran_own(const WaitCondition &goal) noexcept {
    if (!inside_ || h_.depth <= kDeepestWait) return false;
    const PumpTurn turn(goal.rt, h_);
    for (const auto &w : goal.rt.executors)
      if (pump_with(goal.rt, h_, *w, [&](Executor &its) {
            return its.queue ? its.queue->step(h_) : step_own(its, h_, goal);
          }))
        return true;
    return false;
  }
  // Returns whether the stack has no room for another body.
  bool is_full() noexcept { return inside_ && h_.stack.full(); }
  consort_status refuse() const noexcept {
    return set_errorf(CONSORT_E_BUSY,
                      "task '%s' waits inside %u others that wait on the stack of this thread, which has no room for "
                      "another body: let a task that comes after it do what follows the wait, or raise the limit of the "
                      "stack (ulimit -s)",
                      task_label(execution_of(h_.rt), *h_.task), h_.depth - 1);
  }

 private:
  ThreadState &h_;
  const uint32_t outer_;
  const bool inside_;
};

}  // namespace

bool pump_one(Execution &rt, ThreadState &thread, uint32_t worker) noexcept {
  return pump_with(rt, thread, *rt.executors[worker], [&](Executor &w) {
    if (w.queue) return w.queue->step(thread) > 0;  // a queue has frames of its own, one for each task in flight
    Frame frame(w);
    return w.step(thread, frame);
  });
}

bool pump_all(Execution &rt, ThreadState &thread, uint64_t latest) noexcept {
  const PumpTurn turn(rt, thread);
  rt.policy.flush(rt);  // the caller waits
  bool did = false;
  for (uint32_t i = 0; i < rt.executors.size(); ++i) did |= pump_one(rt, thread, i);
  OtherRanks *const others = rt.other_ranks.load(std::memory_order_acquire);
  if (others && others->step(thread)) {
    settle_down(rt, thread);
    did = true;
  }
  if (did || !rt.virtual_time || latest <= rt.clock.now()) return did;
  uint64_t next = std::min({latest, rt.policy.next_event(), rt.execution_memory->next_event()});
  for (const auto &w : rt.executors)
    if (w->queue) next = std::min(next, w->queue->next_event());
  // a driver that reports "now" without an event is asked again later
  if (next != CONSORT_NEVER) next = std::max(next, rt.clock.now() + 1);
  if (others) next = others->advance(next);
  if (next == CONSORT_NEVER) return false;
  rt.clock.advance_to(next);
  return true;
}

void charge_submissions(Execution &rt) noexcept {
  if (rt.drop_ns) rt.clock.advance(rt.dropped.exchange(0, std::memory_order_relaxed) * rt.drop_ns);
  if (!rt.submit_ns) return;
  const uint64_t all = rt.submitted();
  uint64_t before = rt.charged.load(std::memory_order_relaxed);  // only rises: another thread may have summed later
  while (before < all && !rt.charged.compare_exchange_weak(before, all, std::memory_order_relaxed)) {
  }
  if (before < all) rt.clock.advance((all - before) * rt.submit_ns);
}

void step_for_polls(Execution &rt) noexcept {
  constexpr uint32_t kPolls = 1000;
  ThreadState *const thread = rt.this_thread();
  if (!thread || thread->task || thread->in_callback || ++thread->polls <= kPolls) return;
  settle_down(rt, *thread);
  push_kept(rt, *thread);
  charge_submissions(rt);
  pump_all(rt, *thread, CONSORT_NEVER);
}

namespace {

class WaitByEvents final : public SubmitterTurns::Awaited {
 public:
  WaitByEvents(const WaitCondition &goal, const Deadline &deadline) noexcept : goal_(goal), deadline_(deadline) {}
  bool is_over() const noexcept override { return goal_.reached() || deadline_.passed(); }
  uint64_t deadline() const noexcept override { return deadline_.at(); }

 private:
  const WaitCondition &goal_;
  const Deadline &deadline_;
};

}  // namespace

static consort_status wait_by_events(ThreadState &thread, const WaitCondition &goal,
                                     const Deadline &deadline) noexcept {
  Nested nested(thread);
  const WaitByEvents awaited(goal, deadline);
  SubmitterTurns::Wait turn(goal.rt.submitter_turns, thread, awaited);
  while (!goal.reached()) {
    const bool late = deadline.passed();  // events at exactly that time still count
    if (nested.is_full()) return nested.refuse();
    if (nested.ran_own(goal)) continue;
    if (turn.passed_on()) continue;
    if (pump_all(goal.rt, thread, turn.deadline(deadline.at()))) continue;
    if (late) return CONSORT_E_TIMEOUT;
    sleep_until(thread, goal, Deadline(goal.rt.clock, -1), 50'000);  // only another thread can help now
  }
  thread.polls = 0;
  return CONSORT_OK;
}

consort_status wait_by_pumping(ThreadState &thread, const WaitCondition &goal, const Deadline &deadline) noexcept {
  if (goal.rt.virtual_time) return wait_by_events(thread, goal, deadline);
  Execution &rt = goal.rt;
  Nested nested(thread);
  uint32_t fruitless = 0;
  while (!goal.reached()) {
    if (deadline.passed()) return CONSORT_E_TIMEOUT;
    if (nested.is_full()) return nested.refuse();
    if (nested.ran_own(goal)) continue;
    PumpTurn turn(rt, thread);
    const auto n = static_cast<uint32_t>(rt.executors.size());
    if (pump_one(rt, thread, static_cast<uint32_t>(rt.clock.chance() % n))) {
      fruitless = 0;
      continue;
    }
    rt.clock.advance(1000);
    if (++fruitless == 8 * n) rt.policy.flush(rt);
    if (fruitless < 16 * n) continue;
    fruitless = 0;
    turn.give_up();
    sleep_until(thread, goal, Deadline(rt.clock, -1), 50'000);  // only another thread can help now
  }
  return CONSORT_OK;
}

// Manual pump: steps workers at random until several attempts in a row found nothing, then each in turn, since random
// choice may have missed one.
bool pump_for_records(ThreadState &thread) noexcept {
  Execution &rt = execution_of(thread.rt);
  const auto n = static_cast<uint32_t>(rt.executors.size());
  if (thread.task && thread.stack.full())
    return false;  // this stack has no room for another body: the window gives way
  const auto at_work = [](const auto &w) { return w->queue && w->queue->at_work(); };
  for (uint32_t fruitless = thread.gave_way ? 4 * n : 0; !RecordWait::enough(thread);) {
    PumpTurn turn(rt, thread);
    charge_submissions(rt);
    if (fruitless < 4 * n && !rt.virtual_time) {
      fruitless = pump_one(rt, thread, static_cast<uint32_t>(rt.clock.chance() % n)) ? 0 : fruitless + 1;
    } else if (pump_all(rt, thread, CONSORT_NEVER)) {
      fruitless = 0;
    } else {
      const bool by_itself = rt.execution_memory->busy() || std::any_of(rt.executors.begin(), rt.executors.end(), at_work);
      if (rt.virtual_time || !by_itself) return thread.drain_returned() && thread.nfree > thread.floor;
      rt.clock.advance(1000);
      turn.give_up();
      thread.parker.wait(20'000);  // a device works in real time
    }
    thread.drain_returned();
  }
  return true;
}

}  // namespace consort
