// wait_condition.hpp — the condition of a wait, and the ways to wait for it.
//
// A value on the waiting thread's stack, used by that thread alone. The thread that fulfils the condition sees the
// announcement, or the waiting thread sees the condition: see announce().
#pragma once
#include "exec/own_holds.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "sched/context.hpp"
#include "task/waiters.hpp"

namespace consort {

inline constexpr int64_t kWaitNap = 1'000'000;  // ns: the longest sleep of a wait whose condition no thread announces

// A condition: whether it is reached, and where a waiting thread is announced.
struct WaitCondition {
  Execution &rt;
  Group *group = nullptr;
  TaskName task = 0;
  Task *hold = nullptr;
  ThreadState *records = nullptr;
  TagWait *tags = nullptr;
  const Context *context = nullptr;
  uint32_t generation = 0;   // of the context or the group: its record may be used for another one

  bool reached() const noexcept {
    if (hold) return hold->follow.load(std::memory_order_acquire) == hold::kGranted;  // pairs with hold_ready()
    if (task) return !rt.is_live(task);
    if (records) return records->nfree > records->floor || records->returned.load(std::memory_order_relaxed);
    if (tags) {  // evaluated again if a tag was reached since
      const uint64_t now = rt.tags.changes();
      if (!was_idle && now + 1 != seen) was_idle = rt.tags.is_over(*tags);
      seen = now + 1;
      return was_idle;
    }
    // Idleness is a moment, not a state, while other threads submit: seen once is enough.
    if (!was_idle)
      was_idle = context ? context->idle(generation)
                 : group ? rt.groups.idle(*group) || !group->is_of(generation)
                         : rt.groups.all_idle();
    return was_idle;
  }
  // For use before sleeping, when the condition is not evaluated again.
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
    // pairs with light() of threads that end tasks: they see the announcement, or this thread sees their end
    fence::heavy();
  }
  void withdraw() const noexcept {
    if (group) group->watchers.fetch_sub(1, std::memory_order_relaxed);
    if (records) records->wants_records.store(false, std::memory_order_relaxed);
  }
  // Returns whether a ready task is part of what this wait is for.
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
  // Whether the task itself is awaited, not a task before it.
  bool is_for(const Task &t) const noexcept {
    if (hold) return &t == hold;
    if (task) return t.pub.id == task;
    return !group || (t.kind != TaskKind::kGate && in_group(t, *group));
  }
  Group *group_of_task = nullptr;
  const char *call = nullptr;  // the waiting call; nullptr: do not check this thread's own holds
  mutable OwnHolds own_holds{};
  mutable bool was_idle = false;
  mutable uint64_t seen = 0;  // changes of tags plus one
};

// A wait for a full window, which helps for a while at a time.
struct RecordWait {
  bool in_vain = false;  // nothing changed any more; the worker's token was then given up, at rest

  static bool enough(const ThreadState &thread) noexcept {
    return thread.nfree + thread.returned_count.load(std::memory_order_relaxed) - thread.floor >=
           static_cast<int32_t>(std::max(1u, uint32_t{thread.rt.window} / 4));
  }
};

// Waits. Returns OK, TIMEOUT, or NOMEM if the calling thread has no record. Helps as flags and the thread's state
// allow.
consort_status wait_for(Execution &, const WaitCondition &, int64_t timeout_ns, uint32_t flags) noexcept;
// Sleeps until the condition is reached, the deadline has passed, or (longest >= 0) one sleep of that many ns has
// ended.
bool sleep_until(ThreadState &, const WaitCondition &, const Deadline &, int64_t longest) noexcept;
// Outside tasks: holds a worker's token until the condition is reached. Returns false if no token was available.
bool help(ThreadState &, const WaitCondition &, const Deadline &, RecordWait *) noexcept;
// Outside tasks: if this thread alone knows the task, as the last that it holds back (push_ready()), runs it here like a
// successor in place. Returns true if it ran it; a later part of the task may still be pending.
bool run_if_kept(ThreadState &, TaskName) noexcept;
// Inside a task.
consort_status wait_inside(ThreadState &, const WaitCondition &, const Deadline &, bool may_help) noexcept;
// Manual pump: the caller steps the workers.
consort_status wait_by_pumping(ThreadState &, const WaitCondition &, const Deadline &) noexcept;
bool pump_for_records(ThreadState &) noexcept;
// Virtual time: advances the clock by the cost of submissions since the last call. Called before a wait reads the
// clock.
void charge_submissions(Execution &) noexcept;
// Virtual time: a wait with a timeout of 0 found nothing. A loop of such waits would stop the clock: after a thousand
// by one thread, without a longer wait between, each advances by one event.
void step_for_polls(Execution &) noexcept;

}  // namespace consort
