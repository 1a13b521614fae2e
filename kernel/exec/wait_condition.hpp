// wait_condition.hpp — what a thread waits for, and the ways to wait for it.
//
// A value on the waiting thread's stack; only that thread asks it. Whoever ends what is waited for sees it announced, or the
// waiting thread sees the end: see announce().
#pragma once
#include "exec/own_holds.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "sched/context.hpp"
#include "task/waiters.hpp"

namespace consort {

inline constexpr int64_t kWaitNap = 1'000'000;  // ns: the longest sleep of a wait whose end no thread announces

// What is waited for: is it over, and who is to be told that somebody waits.
struct WaitCondition {
  Execution &rt;
  Group *group = nullptr;
  TaskName task = 0;
  Task *hold = nullptr;
  ThreadState *records = nullptr;
  const uint64_t *tags = nullptr;
  uint32_t ntags = 0;
  const Context *context = nullptr;
  uint32_t generation = 0;   // of the context

  bool reached() const noexcept {
    if (hold) return hold->follow.load(std::memory_order_acquire) == hold::kGranted;  // pairs with hold_ready()
    if (task) return !rt.is_live(task);
    if (records) return records->nfree > records->floor || records->returned.load(std::memory_order_relaxed);
    if (tags) {  // looked at again where some tag was reached since
      const uint64_t now = rt.tags.changes();
      if (!was_idle && now + 1 != seen) was_idle = rt.tags.waits_given_up() || rt.tags.all_reached(tags, ntags);
      seen = now + 1;
      return was_idle;
    }
    // Idle is a moment, not a state, where other threads go on submitting: one sight of it is enough.
    if (!was_idle)
      was_idle = context ? rt.policy.contexts().idle(*context, generation) : group ? rt.groups.idle(*group) : rt.groups.all_idle();
    return was_idle;
  }
  // Before going to sleep, and where nobody will look again.
  bool surely_reached() const noexcept {
    return reached() || (group && !(task || hold || records) && !rt.groups.busy(*group));
  }
  void announce() const noexcept {
    if (group) group->watchers.fetch_add(1, std::memory_order_relaxed);
    if (records) records->wants_records.store(true, std::memory_order_relaxed);
    if (task) {
      std::atomic<uint64_t> &word = rt.task_at(task)->word;
      uint64_t w = word.load(std::memory_order_relaxed);
      while (word::generation(w) == task >> 32 && !(w & word::kWaited) &&
             !word.compare_exchange_weak(w, w | word::kWaited, std::memory_order_relaxed)) {
      }
    }
    fence::heavy();  // pairs with light() of those who end tasks: they see the announcement, or we their end
  }
  void withdraw() const noexcept {
    if (group) group->watchers.fetch_sub(1, std::memory_order_relaxed);
    if (records) records->wants_records.store(false, std::memory_order_relaxed);
  }
  // A ready task that only comes after what this wait is for.
  bool may_run(const Task &t) const noexcept {
    if (t.recorded()) [[unlikely]]
      if (const Task *whole = task ? rt.kinds.of(t).submitted_as(rt, t) : nullptr; whole && whole->pub.id == task)
        return true;
    if (task) return t.pub.id == task || (group_of_task && in_group(t, *group_of_task));
    return group && in_group(t, *group);
  }
  static bool in_group(const Task &t, const Group &g) noexcept {
    for (const Group *up = t.group; up; up = up->parent.load(std::memory_order_relaxed))
      if (up == &g) return true;
    return false;
  }
  // Of the task itself, not of what it comes after.
  bool is_for(const Task &t) const noexcept {
    if (hold) return &t == hold;
    if (task) return t.pub.id == task;
    return !group || (t.kind != TaskKind::kGate && in_group(t, *group));
  }
  Group *group_of_task = nullptr;
  const char *call = nullptr;  // that waits; nullptr: nobody asks what this thread holds
  mutable OwnHolds own_holds{};
  mutable bool was_idle = false;
  mutable uint64_t seen = 0;  // changes of tags, and one
};

// A wait at the window, which helps for a while at a time.
struct RecordWait {
  bool in_vain = false;  // nothing moved any more; then the worker's turn was given up, at rest

  static bool enough(const ThreadState &thread) noexcept {
    return thread.nfree + thread.returned_count.load(std::memory_order_relaxed) - thread.floor >=
           static_cast<int32_t>(std::max(1u, thread.rt.window / 4));
  }
};

// Waits: OK, TIMEOUT, or NOMEM where the calling thread has no record. Helps as flags and the thread's state allow.
consort_status wait_for(Execution &, const WaitCondition &, int64_t timeout_ns, uint32_t flags) noexcept;
// Asleep until the goal is reached, the deadline has passed, or (longest >= 0) one sleep of that many ns is over.
bool sleep_until(ThreadState &, const WaitCondition &, const Deadline &, int64_t longest) noexcept;
// Outside tasks: the caller takes a worker's turn until the goal is reached. False: no turn was to be had.
bool help(ThreadState &, const WaitCondition &, const Deadline &, RecordWait *) noexcept;
// Inside a task.
consort_status wait_inside(ThreadState &, const WaitCondition &, const Deadline &, bool may_help) noexcept;
// With a manual pump: the caller steps the workers.
consort_status wait_by_pumping(ThreadState &, const WaitCondition &, const Deadline &) noexcept;
bool pump_for_records(ThreadState &) noexcept;
// In virtual time: what was submitted since the last call took its submitter so long. Before a wait looks at the clock.
void charge_submissions(Execution &) noexcept;
// A wait with a timeout of 0 found nothing, in virtual time. A loop of such waits lets no time pass: after a thousand of
// one thread that no longer wait interrupts, each takes one event.
void step_for_polls(Execution &) noexcept;

}  // namespace consort
